// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "tidy.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <string_view>

// How the project writes: no phrase of the list below, and no sentence of more than `words_max`
// words. Both are found in pages and in `///` comments, which are read as Markdown, and in help.
//
// A word is what stands between blanks and has a letter or a digit. Code in backquotes is one word,
// and so is a number with its unit. A link's target and HTML are none. A sentence ends at `.`, `?`
// or `!` before a blank, and where its block ends: a paragraph, a list item, a table's cell.
namespace tidy {
namespace {

constexpr std::size_t words_max = 25;
constexpr std::size_t words_shown = 6;
constexpr const char* unchecked_list = "tests/tidy/prose_unchecked.txt";
constexpr const char* help_page = "docs/commands.md";  // its fences hold help texts, not code
constexpr std::size_t help_column_min = 10;

struct Phrase {
  std::string_view words;  ///< separated by one blank; `|` separates alternatives for a word
  std::string_view instead;
};

// Names of the interface, such as `let_go`, stand between backquotes and are never found.
constexpr std::array phrases = {
    Phrase{"so many", "the number, or \"this many\""},
    Phrase{"so long", "the time, or \"this long\""},
    Phrase{"so much", "the amount, or \"this much\""},
    Phrase{"how-manieth", "\"index\""},
    Phrase{"is|are|was|were|be|been told", "\"receives\", or name who says it: \"X tells Y\""},
    Phrase{"let|lets|letting go",
           "leave (a stream), skip (the rest of an epoch), release (a batch) or pause (between "
           "epochs)"},
    Phrase{"let|lets|letting it|them go",
           "leave (a stream), skip (the rest of an epoch), release (a batch) or pause (between "
           "epochs)"},
    Phrase{"to be had", "\"available\""},
    Phrase{"anew", "\"again\""},
    Phrase{"of its|their|one's|his|her own", "\"private\", or name whose it is"},
    Phrase{"whatever", "\"any\" or \"every\", with a noun"},
    Phrase{"in vain", "what was tried, and that it failed"},
    Phrase{"for want of", "\"because … is missing\""},
    Phrase{"nothing:", "a sentence: \"empty if …\""},
    Phrase{"behind which|whose|whom", "\"after\", or a sentence that begins with its subject"},
    Phrase{"whom", "a sentence that begins with its subject"},
    Phrase{"whoever", "\"the process that\", \"the trainer that\""},
    Phrase{"whomever", "\"the process that\", \"the trainer that\""},
    Phrase{"somebody", "who it is: \"another process\", \"a trainer\""},
    Phrase{"nobody", "who it is: \"no process\", \"no trainer\""},
    Phrase{"passes|passed|passing over", "\"skip\""},
};

constexpr std::string_view units =
    " B kB KB MB GB TB KiB MiB GiB TiB bytes ns µs us ms s min h Hz MHz GHz MP million billion ";

constexpr std::string_view abbreviations = " e.g. i.e. cf. vs. ";

/// What holds whole sentences: a paragraph, a list item, a cell, a heading.
struct Block {
  std::size_t line = 0;  ///< of its first character, from 1
  std::string text;      ///< its lines, each but the last with its line feed
  bool heading = false;
};
using Blocks = std::vector<Block>;

struct Word {
  std::string text;   ///< without punctuation around it
  std::string shown;  ///< as it stands there
  std::size_t line;
  bool colon;  ///< a colon follows
};
using Sentence = std::vector<Word>;

bool is_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

bool is_one_of(char c, std::string_view set) { return set.find(c) != std::string_view::npos; }

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }

/// Whether a word stands in a list, which has a blank before and behind each.
bool is_listed(std::string_view word, std::string_view list) {
  return list.find(" " + std::string(word) + " ") != std::string_view::npos;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

/// How long the marker is that begins a list item; 0: the line begins none.
std::size_t marker_length(std::string_view line) {
  std::size_t at = 0;
  while (at < line.size() && is_digit(line[at])) ++at;
  const bool number = at > 0 && at < line.size() && (line[at] == '.' || line[at] == ')');
  const bool bullet = at == 0 && !line.empty() && is_one_of(line[0], "-*+");
  const bool marker = (number || bullet) && at + 1 < line.size() && line[at + 1] == ' ';
  return marker ? at + 2 : 0;
}

/// Cuts Markdown into blocks, line by line. Fences and HTML comments are left out.
class BlockReader {
 public:
  explicit BlockReader(Blocks& blocks) : blocks_(blocks) {}

  void read(std::size_t number, std::string_view line) {
    line = trimmed(line);
    if (line.starts_with("```")) {
      fenced_ = !fenced_;
      end();
      return;
    }
    if (fenced_ || in_html_comment(line)) return;
    if (line.empty()) return end();
    if (line.starts_with("|")) return read_row(number, line);
    if (line.starts_with("#")) {
      end();
      blocks_.push_back({number, std::string(line), true});
      return;
    }
    const std::size_t marker = marker_length(line);
    if (marker > 0) end();
    if (block_.text.empty()) block_.line = number;
    if (!block_.text.empty()) block_.text += '\n';
    block_.text += line.substr(marker);
  }

  /// Ends the block that is being read.
  void end() {
    if (!block_.text.empty()) blocks_.push_back(block_);
    block_ = {};
  }

  /// Ends the page, or the comment, and a fence that it left open.
  void end_all() {
    end();
    fenced_ = commented_ = false;
  }

 private:
  bool in_html_comment(std::string_view line) {
    const bool inside = commented_ || line.starts_with("<!--");
    if (inside) commented_ = line.find("-->") == std::string_view::npos;
    return inside;
  }

  void read_row(std::size_t number, std::string_view line) {
    end();
    bool code = false;
    std::size_t begin = 1;
    for (std::size_t i = 1; i <= line.size(); ++i) {
      if (i < line.size() && line[i] == '`') code = !code;
      const bool border = i < line.size() && line[i] == '|' && !code && line[i - 1] != '\\';
      if (i < line.size() && !border) continue;
      const std::string_view cell = trimmed(line.substr(begin, i - begin));
      if (!cell.empty()) blocks_.push_back({number, std::string(cell)});
      begin = i + 1;
    }
  }

  Blocks& blocks_;
  Block block_;
  bool fenced_ = false;
  bool commented_ = false;
};

/// Reads a line of help. A name stands two blanks from the margin. Its text follows more blanks, or
/// in the lines below, far from the margin. What begins at the margin is a paragraph.
void read_help(BlockReader& reader, std::size_t number, std::string_view line) {
  const std::size_t margin = std::min(line.find_first_not_of(' '), line.size());
  if (margin > 0 && margin < help_column_min) {
    reader.end();
    const std::size_t gap = line.find("  ", margin);
    line = line.substr(std::min(gap, line.size()));
  }
  reader.read(number, line);
}

Blocks blocks_of_help(const File& page) {
  Blocks blocks;
  BlockReader reader(blocks);
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    const bool title = line.starts_with("```") || line.starts_with("Usage:");
    if (title) reader.end();
    if (!title) read_help(reader, i + 1, line);
  }
  reader.end_all();
  return blocks;
}

Blocks blocks_of_page(const File& page) {
  if (page.path == help_page) return blocks_of_help(page);
  Blocks blocks;
  BlockReader reader(blocks);
  for (std::size_t i = 0; i < page.lines.size(); ++i) reader.read(i + 1, page.lines[i]);
  reader.end_all();
  return blocks;
}

/// Where a `///` comment begins in a line; npos: nowhere.
std::size_t comment_begin(const File& file, std::size_t index) {
  const std::size_t at = file.lines[index].find("///");
  const bool comment = at != std::string::npos && file.code[index][at] == ' ';
  return comment ? at : std::string::npos;
}

Blocks blocks_of_comments(const File& file) {
  Blocks blocks;
  BlockReader reader(blocks);
  bool behind_code = false;  // the comment that is being read began behind code
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::size_t at = comment_begin(file, i);
    if (at == std::string::npos) {
      reader.end_all();
      continue;
    }
    std::string_view text = std::string_view(file.lines[i]).substr(at + 3);
    const bool of_member = text.starts_with("<");
    if (of_member) text.remove_prefix(1);
    const bool after_code = !trimmed(std::string_view(file.lines[i]).substr(0, at)).empty();
    if (after_code || of_member != behind_code) reader.end_all();
    behind_code = of_member;
    reader.read(i + 1, text);
  }
  reader.end_all();
  return blocks;
}

void fill(std::string& text, std::size_t begin, std::size_t end, char c) {
  std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
            text.begin() + static_cast<std::ptrdiff_t>(end), c);
}

/// The text with code, targets of links and HTML filled, so that they hold no blanks and no words:
/// what is left are words at their places.
std::string plain(std::string text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool target = text[i] == '(' && i > 0 && text[i - 1] == ']';
    const bool tag = text[i] == '<' && i + 1 < text.size() &&
                     (is_letter(text[i + 1]) || text[i + 1] == '/' || text[i + 1] == '!');
    if (text[i] != '`' && !target && !tag) continue;
    const std::size_t end = text.find(target ? ')' : tag ? '>' : '`', i + 1);
    if (end == std::string::npos) continue;
    if (target) fill(text, i, end + 1, ']');
    if (tag) fill(text, i, end + 1, ' ');
    if (text[i] == '`') fill(text, i + 1, end, 'x');
    i = end;
  }
  return text;
}

bool ends_sentence(std::string_view token) {
  while (!token.empty() && is_one_of(token.back(), ")]}\"'*_")) token.remove_suffix(1);
  if (token.empty() || !is_one_of(token.back(), ".?!")) return false;
  while (!token.empty() && is_one_of(token.front(), "([*_\"")) token.remove_prefix(1);
  return !token.ends_with("..") && !is_listed(token, abbreviations);
}

/// A word without the punctuation around it; empty if nothing is left.
Word word_of(std::string_view token, std::string_view shown, std::size_t line) {
  while (!token.empty() && !is_letter(token.front())) token.remove_prefix(1);
  std::size_t end = token.size();
  while (end > 0 && !is_letter(token[end - 1])) --end;
  const bool colon = end < token.size() && token[end] == ':';
  return {std::string(token.substr(0, end)), std::string(shown), line, colon};
}

bool is_unit_of(const Word& number, const Word& unit) {
  if (unit.text.empty() || !is_digit(number.text.back())) return false;
  return unit.text.find("/s") != std::string::npos || is_listed(unit.text, units);
}

std::vector<Sentence> sentences_of(const Block& block) {
  std::vector<Sentence> sentences(1);
  const std::string text = plain(block.text);
  std::size_t line = block.line;
  for (std::size_t at = 0; at < text.size();) {
    if (is_blank(text[at])) {
      line += text[at] == '\n' ? 1 : 0;
      ++at;
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && !is_blank(text[end])) ++end;
    const std::string_view token = std::string_view(text).substr(at, end - at);
    const std::string_view shown = std::string_view(block.text).substr(at, end - at);
    Word word = word_of(token, shown, line);
    Sentence& sentence = sentences.back();
    if (!sentence.empty() && is_unit_of(sentence.back(), word)) {
      sentence.back().shown += " " + word.shown;
    } else if (!word.text.empty()) {
      sentence.push_back(std::move(word));
    }
    if (ends_sentence(token)) sentences.emplace_back();
    line += static_cast<std::size_t>(std::count(shown.begin(), shown.end(), '\n'));  // in code
    at = end;
  }
  return sentences;
}

std::string lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// Whether one of `alternatives`, which `|` separates, is this word.
bool matches(std::string_view alternatives, const Word& word, const std::string& text) {
  for (std::size_t at = 0; at <= alternatives.size();) {
    const std::size_t end = std::min(alternatives.find('|', at), alternatives.size());
    std::string_view wanted = alternatives.substr(at, end - at);
    const bool colon = wanted.ends_with(':');
    if (colon) wanted.remove_suffix(1);
    const bool same =
        wanted == text || (text.ends_with("'s") && wanted == text.substr(0, text.size() - 2));
    if (same && (!colon || word.colon)) return true;
    at = end + 1;
  }
  return false;
}

/// How many words from `index` on are the phrase; 0: it does not begin there.
std::size_t length_at(std::string_view phrase, const Sentence& sentence,
                      const std::vector<std::string>& texts, std::size_t index) {
  std::size_t length = 0;
  for (std::size_t at = 0; at <= phrase.size(); ++length) {
    const std::size_t end = std::min(phrase.find(' ', at), phrase.size());
    const std::size_t i = index + length;
    if (i >= sentence.size()) return 0;
    if (!matches(phrase.substr(at, end - at), sentence[i], texts[i])) return 0;
    at = end + 1;
  }
  return length;
}

std::string quoted(const Sentence& sentence, std::size_t begin, std::size_t count) {
  std::string text = "\"";
  for (std::size_t i = begin; i < begin + count; ++i)
    text += (i > begin ? " " : "") + sentence[i].shown;
  return text + "\"";
}

void find_phrases(const File& file, const Sentence& sentence, Violations& found) {
  std::vector<std::string> texts;
  for (const Word& word : sentence) texts.push_back(lowered(word.text));
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    for (const Phrase& phrase : phrases) {
      const std::size_t length = length_at(phrase.words, sentence, texts, i);
      if (length == 0) continue;
      found.push_back({file.path, sentence[i].line, "phrase",
                       quoted(sentence, i, length) + ": write " + std::string(phrase.instead)});
    }
  }
}

void find_length(const File& file, const Sentence& sentence, Violations& found) {
  if (sentence.size() <= words_max) return;
  found.push_back({file.path, sentence[0].line, "sentence",
                   std::to_string(sentence.size()) + " words, at most " +
                       std::to_string(words_max) +
                       " are allowed: " + quoted(sentence, 0, words_shown) + " …"});
}

void find_in(const File& file, Violations& found) {
  const bool page = file.path.ends_with(".md");
  const bool code = (is_below(file, "include/") || is_below(file, "src/")) && is_source(file);
  if (!page && !code) return;
  for (const Block& block : page ? blocks_of_page(file) : blocks_of_comments(file)) {
    for (const Sentence& sentence : sentences_of(block)) {
      find_phrases(file, sentence, found);
      if (!block.heading) find_length(file, sentence, found);
    }
  }
}

/// Files, and folders with their slash, that are not gone over yet: one a line.
std::vector<std::string> unchecked(const std::string& root) {
  std::vector<std::string> paths;
  std::ifstream in(std::filesystem::path(root) / unchecked_list);
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && !line.starts_with("#")) paths.push_back(line);
  }
  return paths;
}

}  // namespace

Violations prose_violations(const Files& files) {
  Violations found;
  for (const File& file : files) find_in(file, found);
  return found;
}

void check_prose(const std::string& root, const Files& files, Violations& found) {
  const std::vector<std::string> listed = unchecked(root);
  for (Violation& v : prose_violations(files)) {
    const bool checked = std::none_of(listed.begin(), listed.end(), [&](const std::string& path) {
      return v.path == path || (path.ends_with('/') && v.path.starts_with(path));
    });
    if (checked) found.push_back(std::move(v));
  }
}

Violations clean_but_unchecked(const std::string& root, const Files& files) {
  const Violations all = prose_violations(files);
  Violations found;
  for (const std::string& path : unchecked(root)) {
    const bool needed = std::any_of(all.begin(), all.end(),
                                    [&](const Violation& v) { return v.path.starts_with(path); });
    if (!needed) found.push_back({unchecked_list, 1, "unchecked", path + " need not be listed"});
  }
  return found;
}

}  // namespace tidy
