// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/start.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/starting/ensured.hpp>

#include <batchcast/starting/start_answer.hpp>
#include <batchcast/starting/start_command.hpp>
#include <batchcast/starting/start_process.hpp>

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/directory.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {
namespace detail {
namespace ensuring {

// The command keeps the time itself; this is for one that does not.
inline constexpr int overtime_ms = 1'000;

inline std::string first_line_of(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

/// The beginning of a first line that may be anything, for a message.
inline std::string shown_line(std::string_view text) {
  constexpr std::size_t shown_max = 80;
  std::string line = first_line_of(text).substr(0, shown_max);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  return line;
}

/// The text below the word, without the last line feed.
inline std::string text_below(const std::string& output) {
  std::string text = output.substr(std::min(output.find('\n'), output.size() - 1) + 1);
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

/// What follows `recipe ` on the line that begins so; empty where there is none.
inline std::string recipe_in(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(ensure_word::recipe_line)) {
      return std::string(line.substr(ensure_word::recipe_line.size()));
    }
    at = end + 1;
  }
  return {};
}

/// Whether it is this command, which did not take its words (exit code 2) and said so.
inline bool refused_its_words(const CommandRun& run) {
  return run.output.empty() && run.end == text_of_end(true, 2) &&
         run.errors.starts_with("batchcast: ");
}

/// No word that this library knows: the command was called wrongly, is another program, or another
/// version of it.
[[noreturn]] inline void say_no_answer(const StartTarget& target,
                                       const std::vector<std::string>& words,
                                       const CommandRun& run) {
  if (refused_its_words(run)) {
    throw StartFailed(
        text("batchcast: the command that starts stream `{}` refused its words: "
             "`{}`. It said{}",
             target.stream, shell_text(words), indented_end(run.errors)));
  }
  std::string message = text("batchcast: it is not known whether stream `{}` is served: `{}` ",
                             target.stream, shell_text(words));
  if (run.timed_out) {
    throw StreamNotFound(
        text("{}gave no answer within {} s and was ended; what it started goes on{}", message,
             target.timeout_ms / 1000,
             run.errors.empty() ? "." : text(". It said{}", indented_end(run.errors))));
  }
  message += run.end;
  if (run.output.empty()) {
    message += " without an answer";
  } else {
    message += text(" and answered `{}`, which this version does not know", shown_line(run.output));
  }
  message += run.errors.empty() ? ".\n" : text(". It said{}\n", indented_end(run.errors));
  throw StartFailed(
      text("{}It may be another program than `batchcast`, or older than this library "
           "(StartOptions::command and BATCHCAST_COMMAND name another).",
           message));
}

/// A line of the command. Who waits while texts are tokenised sees how far that has got.
inline void pass_on(const StartTarget& target, std::string_view line) noexcept {
  const LogLevel level = says_progress(line) ? LogLevel::warning : LogLevel::info;
  report(target.log, level, line, text("stream `{}`: ", target.stream));
}

}  // namespace ensuring

BATCHCAST_INLINE Ensured ensure_stream(const StartTarget& target, const StartOptions& options) {
  check_stream_name(target.stream);
  const std::vector<std::string> words =
      ensure_words(find_command(options.command, command_places()), target, options);
  const CommandRun run = run_command(
      words, longer_timeout(target.timeout_ms, ensuring::overtime_ms),
      [&target](std::string_view line) { ensuring::pass_on(target, line); }, target.while_waiting);
  const std::string word = ensuring::first_line_of(run.output);
  const bool whole = run.output.size() > word.size() && !run.timed_out;
  const std::string text = whole ? ensuring::text_below(run.output) : std::string();
  if (whole && word == ensure_word::served) {
    Ensured ensured{ensuring::recipe_in(text), {}};
    if (!ensured.recipe_json.empty()) return ensured;
  }
  if (whole && word == ensure_word::refused) return {{}, text};
  if (whole && word == ensure_word::mismatch) throw RecipeMismatch(text);
  if (whole && word == ensure_word::failed) throw StartFailed(text);
  if (whole && word == ensure_word::timeout) throw StreamNotFound(text);
  if (whole && word == ensure_word::invalid) throw InvalidArgument(text);
  ensuring::say_no_answer(target, words, run);
}

}  // namespace detail

BATCHCAST_INLINE void ensure_served(const StartTarget& target, const StartOptions& options) {
  const detail::Ensured ensured = detail::ensure_stream(target, options);
  if (ensured.recipe_json.empty()) throw Refused(ensured.refusal);
}

}  // namespace batchcast::inline v0_1
