// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "options/option.hpp"

#include "options/table.hpp"

#include <batchcast/core/bytes_in.hpp>
#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

namespace batchcast::inline v0_1::options {
namespace {

constexpr std::uint64_t no_most = std::numeric_limits<std::uint64_t>::max();

[[nodiscard]] std::string with(std::string text, char from, char to) {
  std::replace(text.begin(), text.end(), from, to);
  return text;
}

/// `a, b and c`, each between `mark`s.
[[nodiscard]] std::string listed(const std::vector<std::string>& names, const char* mark) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) text += i + 1 == names.size() ? " and " : ", ";
    text += mark + names[i] + mark;
  }
  return text;
}

[[nodiscard]] std::string joined(const std::vector<std::string>& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

[[nodiscard]] std::string number_text(double number) {
  std::array<char, 32> text{};
  char* const end = text.data() + text.size();
  constexpr double digits_max = 1e15;
  if (std::trunc(number) == number && std::fabs(number) < digits_max) {
    return {text.data(), std::to_chars(text.data(), end, number, std::chars_format::fixed).ptr};
  }
  return {text.data(), std::to_chars(text.data(), end, number).ptr};
}

[[nodiscard]] std::string size_text(std::uint64_t bytes) {
  const std::string text = memory_argument(bytes);  // which may be a little more
  return bytes_in(text) == bytes ? text : std::to_string(bytes);
}

// ---- what a word says

[[noreturn]] void refuse_count(const Option& option, const std::string& given) {
  const std::string what =
      option.word.empty() ? "a whole number," : text("{} or a number", option.word);
  // A number that is too large learns what the largest is.
  constexpr std::size_t digits_that_fit = 19;
  const bool is_too_large =
      given.size() > digits_that_fit && given.find_first_not_of("0123456789") == std::string::npos;
  if (option.most == no_most && !is_too_large) {
    throw Refused(text("`{}` must be {} {} or more", printable(given), what, option.least));
  }
  throw Refused(
      text("`{}` must be {} from {} to {}", printable(given), what, option.least, option.most));
}

[[nodiscard]] std::uint64_t count_in(const Option& option, const std::string& text) {
  if (!option.word.empty() && text == option.word) return 0;
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) refuse_count(option, text);
  if (count == 0 && !option.word.empty()) refuse_count(option, text);
  check(option, count);
  return count;
}

[[noreturn]] void refuse_seconds(const Option& option, const std::string& given) {
  const std::string most = number_text(limits::waiting_seconds_max);
  std::string what = "seconds, 0 or more";
  if (option.is_above_zero) {
    what = text("a number of seconds above 0, and at most {}", most);
  } else if (!option.is_clamped) {
    what = text("seconds, a number from 0 to {}", most);
  }
  throw Refused(text("`{}` must be {}{}", printable(given), what,
                     option.has_end ? "" : ", or -1 for no end"));
}

[[noreturn]] void refuse_share(const std::string& given) {
  throw Refused(text("`{}` must be a share, a number from 0 to below 1", printable(given)));
}

/// Seconds or a share.
[[nodiscard]] double number_in(const Option& option, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  const bool is_whole = !text.empty() && end == text.c_str() + text.size();
  if (!is_whole || !std::isfinite(number)) {
    if (option.kind == Kind::share) refuse_share(text);
    refuse_seconds(option, text);
  }
  check(option, number);
  return number;
}

/// Each word may be several, with commas between them.
[[nodiscard]] Value list_in(const Option& option, const std::vector<std::string>& words) {
  std::vector<std::string> texts;
  for (const std::string& word : words) {
    for (std::size_t begin = 0; begin <= word.size();) {
      const std::size_t end = std::min(word.find(',', begin), word.size());
      texts.push_back(word.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  if (option.kind != Kind::counts) return texts;
  std::vector<std::uint64_t> counts;
  for (const std::string& text : texts) counts.push_back(count_in(option, text));
  return counts;
}

// ---- texts

/// The sentence with each `name` between backticks as `named` has it.
template <class Named>
[[nodiscard]] std::string with_names(const std::string& sentence, const Named& named) {
  std::string text;
  for (std::size_t at = 0; at < sentence.size();) {
    const std::size_t begin = sentence.find('`', at);
    const std::size_t end = begin == sentence.npos ? begin : sentence.find('`', begin + 1);
    if (end == sentence.npos) return text + sentence.substr(at);
    text += sentence.substr(at, begin - at) + "`";
    text += named(sentence.substr(begin + 1, end - begin - 1)) + "`";
    at = end + 1;
  }
  return text;
}

[[nodiscard]] std::string first_command_name(const Option& option) {
  if (option.command_name.empty()) return with(option.name, '_', '-');
  return option.command_name.substr(0, option.command_name.find(','));
}

[[nodiscard]] std::string quoted(const std::string& text) { return '"' + text + '"'; }

[[nodiscard]] std::string python_default(const Option& option) {
  if (const auto* count = std::get_if<std::uint64_t>(&option.initial)) {
    if (*count == 0 && !option.word.empty()) return quoted(option.word);
    if (option.kind != Kind::bytes) return std::to_string(*count);
    return *count == 0 ? "None" : quoted(size_text(*count));
  }
  if (const auto* seconds = std::get_if<double>(&option.initial)) {
    if (*seconds < 0) return "None";
    const std::string text = number_text(*seconds);
    return text.find_first_of(".e") == text.npos ? text + ".0" : text;
  }
  if (const auto* flag = std::get_if<bool>(&option.initial)) return *flag ? "True" : "False";
  if (option.kind == Kind::rows) return "None";
  if (option.is_list()) return option.initial.index() == 0 ? "None" : "()";
  const std::string text = text_of(option.initial);
  return text.empty() ? "None" : quoted(text);
}

/// Broken into lines that are no longer than a docstring's; those after the first are indented.
[[nodiscard]] std::string filled(const std::string& text) {
  constexpr std::size_t columns = 96;
  constexpr std::size_t indent = 4;
  std::string lines;
  std::size_t at = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (at != 0 && at + 1 + end - begin > columns) {
      lines += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (at != 0) {
      lines += ' ';
      ++at;
    }
    lines += text.substr(begin, end - begin);
    at += end - begin;
    begin = end + 1;
  }
  return lines + "\n";
}

}  // namespace

Option& Option::one_of(std::vector<std::string> names) {
  kind = Kind::choice;
  choices = std::move(names);
  return *this;
}

bool Option::may_be_none() const {
  if (is_needed) return false;
  if (kind == Kind::seconds) return !has_end || initial.index() == 0;
  return kind == Kind::object || kind == Kind::group || kind == Kind::budget ||
         kind == Kind::window || kind == Kind::rows || python_default(*this) == "None";
}

// ---- rows

RowsText RowsText::in(const std::string& words) {
  const std::size_t equals = words.rfind('=');
  RowsText rows;
  if (equals != words.npos && equals != 0) {
    rows.axis = words.substr(0, equals);
    const std::string number = words.substr(equals + 1);
    if (const auto count = bytes_in(number)) rows.number = static_cast<double>(*count);
    char* end = nullptr;
    const double fraction = std::strtod(number.c_str(), &end);
    const bool is_whole = !number.empty() && end == number.c_str() + number.size();
    if (is_whole && std::isfinite(fraction)) rows.number = fraction;
  }
  if (rows.number > 0) return rows;
  throw Refused(text("`{}` has to be AXIS=N, such as tokens=16384 or tokens=64M", words));
}

std::uint64_t RowsText::count() const {
  constexpr double most = 9e15;
  if (number >= 1 && number <= most && std::trunc(number) == number) {
    return static_cast<std::uint64_t>(number);
  }
  if (number > most) {
    throw Refused(text("`{}` rows of the axis `{}` are too many: the most is {}",
                       number_text(number), axis, number_text(most)));
  }
  throw Refused(
      text("`{}` rows of the axis `{}` have to be a whole number", number_text(number), axis));
}

Window window_in(const std::string& words) {
  const std::size_t equals = words.rfind('=');
  const std::size_t times = words.rfind('x');
  if (equals != words.npos && equals != 0 && times != words.npos && times > equals) {
    const auto rows = bytes_in(words.substr(equals + 1, times - equals - 1));
    const auto runs = bytes_in(words.substr(times + 1));
    if (rows && runs) return {words.substr(0, equals), *rows, *runs};
  }
  throw Refused(text("`{}` has to be AXIS=ROWSxRUNS, such as tokens=2048x8", words));
}

// ---- values

Value value_in(const Option& option, const std::string& text) {
  switch (option.kind) {
    case Kind::flag:
      return text != "false";
    case Kind::count:
      return count_in(option, text);
    case Kind::seconds:
    case Kind::share:
      return number_in(option, text);
    case Kind::bytes:
      if (option.may_be_zero && text == "0") return std::uint64_t{0};
      if (const auto bytes = bytes_in(text)) return *bytes;
      throw Refused(no_bytes_in(text));
    case Kind::choice: {
      const Value choice = with(text, '-', '_');
      check(option, choice);
      return choice;
    }
    case Kind::texts:
    case Kind::counts:
    case Kind::rows:
      return list_in(option, {text});
    default:
      return text;
  }
}

Value value_in(const Option& option, const std::vector<std::string>& words) {
  return option.is_list() ? list_in(option, words) : value_in(option, words.back());
}

void check(const Option& option, const Value& value) {
  const bool has_range = option.kind == Kind::count || option.kind == Kind::counts;
  if (const auto* count = std::get_if<std::uint64_t>(&value); count && has_range) {
    const bool is_word = *count == 0 && !option.word.empty();
    const bool is_in_range = *count >= option.least && *count <= option.most;
    if (!is_word && !is_in_range) refuse_count(option, std::to_string(*count));
  }
  const auto* const number = std::get_if<double>(&value);
  if (number != nullptr && option.kind == Kind::share) {
    if (!(*number >= 0 && *number < 1)) refuse_share(number_text(*number));
  } else if (const double* seconds = number; seconds != nullptr) {
    if (std::isnan(*seconds)) throw Refused("nan is no number");
    const bool is_forever = !option.has_end && *seconds == -1;
    const bool is_in_range = option.is_clamped || *seconds <= limits::waiting_seconds_max;
    const bool is_enough = option.is_above_zero ? *seconds > 0 : *seconds >= 0;
    if (!is_forever && !(is_in_range && is_enough)) refuse_seconds(option, number_text(*seconds));
  }
  const auto* word = std::get_if<std::string>(&value);
  const bool is_optional = option.initial.index() == 0 && option.kind != Kind::group &&
                           option.kind != Kind::budget && option.kind != Kind::window;
  if (word != nullptr && word->empty() && is_optional) throw Refused("it is empty");
  if (word != nullptr && option.kind == Kind::choice) {
    const auto& choices = option.choices;
    if (std::find(choices.begin(), choices.end(), *word) != choices.end()) return;
    throw Refused(text("`{}` is none of its choices, {}.{}", printable(*word),
                       listed(choices, "\""), detail::did_you_mean(*word, choices)));
  }
}

void assign(const Option& option, void* options, const Value& value) {
  check(option, value);
  option.set(options, value);
}

void assign_words(const Options& table, void* options, const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> values(table.size());
  for (const std::string& word : words) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const auto is_it = [&](const Option& option) {
      return option.is_for_commands() && "--" + first_command_name(option) == name;
    };
    const auto found = std::find_if(table.begin(), table.end(), is_it);
    if (found == table.end()) {
      std::vector<std::string> known;
      for (const Option& option : table) known.push_back("--" + first_command_name(option));
      throw InvalidArgument(
          text("batchcast: there is no option `{}`.{}", name, detail::did_you_mean(name, known)));
    }
    values[static_cast<std::size_t>(found - table.begin())].push_back(
        word.substr(std::min(equals + 1, word.size())));
  }
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (values[i].empty()) continue;
    try {
      assign(table[i], options, value_in(table[i], values[i]));
    } catch (const Refused& refused) {
      throw InvalidArgument(
          text("batchcast: --{}: {}", first_command_name(table[i]), refused.what()));
    }
  }
}

std::vector<std::string> changed(const Options& table, const void* options) {
  std::vector<std::string> names;
  for (const Option& option : table) {
    if (option.get && option.get(options) != option.initial) names.push_back(option.name);
  }
  return names;
}

std::string text_of(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* count = std::get_if<std::uint64_t>(&value)) return std::to_string(*count);
  if (const auto* seconds = std::get_if<double>(&value)) return number_text(*seconds);
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  return {};
}

// ---- names

const Option* find(const Options& options, std::string_view name) noexcept {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option& option) { return option.name == name; });
  return found == options.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const Options& options) {
  std::vector<std::string> names;
  for (const Option& option : options) names.push_back(option.name);
  return names;
}

Options python_options(const Options& options) {
  Options all;
  for (const Option& option : options) {
    if (option.is_for_python) all.push_back(option);
  }
  return all;
}

std::string command_names(const Option& option) {
  std::string names =
      "--" + (option.command_name.empty() ? first_command_name(option) : option.command_name);
  for (std::size_t at = 0; (at = names.find(',', at)) != names.npos; ++at) {
    if (names[at + 1] != '-') names.insert(at + 1, "--");
  }
  return names;
}

// ---- a command's texts

std::string command_sentence(const Option& option, const Options& all) {
  const auto named = [&](const std::string& name) {
    if (const Option* other = find(all, name); other && other->is_for_commands()) {
      return "--" + first_command_name(*other);
    }
    const auto is_here = [&](const Option& one) {
      return std::find(one.choices.begin(), one.choices.end(), name) != one.choices.end();
    };
    return std::any_of(all.begin(), all.end(), is_here) ? with(name, '_', '-') : name;
  };
  std::string text = with_names(option.sentence, named);
  if (text.ends_with('.')) text.pop_back();
  return text + (option.has_end ? "" : "; -1: without limit");
}

std::string command_value(const Option& option) {
  switch (option.kind) {
    case Kind::count:
    case Kind::counts:
      return "N";
    case Kind::seconds:
    case Kind::share:
      return "NUMBER";
    case Kind::choice:
      return "{" + with(joined(option.choices, ","), '_', '-') + "}";
    case Kind::budget:
    case Kind::rows:
      return "AXIS=N";
    case Kind::window:
      return "AXIS=ROWSxRUNS";
    default:
      return "TEXT";
  }
}

std::string command_default(const Option& option) {
  if (option.kind == Kind::flag || option.is_list() || option.is_needed) return {};
  if (option.initial.index() == 0) return option.word;
  if (const auto* count = std::get_if<std::uint64_t>(&option.initial)) {
    if (*count == 0 && !option.word.empty()) return option.word;
    if (option.kind == Kind::bytes) return *count == 0 ? "" : size_text(*count);
  }
  return with(text_of(option.initial), '_', '-');
}

// ---- Python's texts

std::string python_type(const Option& option) {
  const std::string none = option.may_be_none() ? " | None" : "";
  switch (option.kind) {
    case Kind::flag:
      return "bool" + none;
    case Kind::count:
      return (option.word.empty() ? "int" : "int | str") + none;
    case Kind::seconds:
    case Kind::share:
      return "float" + none;
    case Kind::bytes:
      return "int | str" + none;
    case Kind::text:
      return "str" + none;
    case Kind::path:
      return "str | os.PathLike[str]" + none;
    case Kind::choice:
      return "typing.Literal[" + quoted(joined(option.choices, "\", \"")) + "]" + none;
    case Kind::texts:
      return (option.takes_one ? "str | " : "") + ("collections.abc.Sequence[str]" + none);
    case Kind::counts:
      return (option.takes_one ? "int | " : "") + ("collections.abc.Sequence[int]" + none);
    case Kind::group:
      return "str | tuple[str, int, int] | None";
    case Kind::budget:
      return "str | tuple[str, int] | None";
    case Kind::window:
      return "str | tuple[str, int, int] | None";
    case Kind::rows:
      return "collections.abc.Mapping[str, int | float | str] | None";
    case Kind::object:
      break;
  }
  return option.python_type;
}

std::string python_parameters(const Options& options, std::size_t by_place) {
  std::string text;
  for (std::size_t i = 0; i < options.size(); ++i) {
    const Option& option = options[i];
    if (i == by_place) text += text.empty() ? "*, " : ", *, ";
    if (i != 0 && i != by_place) text += ", ";
    text += option.name + ": " + python_type(option);
    if (!option.is_needed) text += " = " + python_default(option);
  }
  return text;
}

std::string python_doc(const Options& options) {
  std::string text;
  std::string heading;
  for (const Option& option : options) {
    if (option.heading != heading) {
      heading = option.heading;
      text += (text.empty() ? "" : "\n") + heading + "\n\n";
    }
    std::string sentence = option.sentence;
    if (!option.has_end) sentence.insert(sentence.size() - 1, "; None: without limit");
    text += filled(option.name + ": " + sentence);
  }
  return text;
}

}  // namespace batchcast::inline v0_1::options
