// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/starting/start_command.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>

namespace batchcast::inline v0_1::detail {
namespace start_command {

namespace fs = std::filesystem;

inline constexpr const char* env_command = "BATCHCAST_COMMAND";
inline constexpr const char* usual_name = "batchcast";

inline std::atomic<const char*> installed_command =
    nullptr;  // a literal of the program that said it
inline std::atomic<const char*> own_command = nullptr;

inline bool can_run(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0;
}

inline std::vector<fs::path> on_path(const std::string& name, const std::string& path) {
  std::vector<fs::path> found;
  for (std::size_t at = 0; at <= path.size() && !path.empty();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    found.push_back(fs::path(path.substr(at, end - at)) / name);  // an empty one: where we are
    at = end + 1;
  }
  return found;
}

inline std::string named_command(const std::string& name, const std::string& path,
                                 const std::string& origin) {
  const bool is_path = name.find('/') != std::string::npos;
  for (const fs::path& place : is_path ? std::vector<fs::path>{name} : on_path(name, path)) {
    if (can_run(place)) return fs::absolute(place).string();
  }
  throw StartFailed(
      text("batchcast: {} is `{}`, and there is no such command{}. Name the `batchcast` command, "
           "or leave it out to have it looked for.",
           origin, name, is_path ? "" : " on the PATH"));
}

inline std::string number_text(double number) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  return {text.data(), end};
}

/// What the options say themselves would be there twice, and the comparison of recipes would not
/// know it.
inline void check_further_arguments(const StartOptions& options) {
  for (const char* own :
       {"--stream", "--recipe", "--seed", "--memory", "--epochs", "--wait-for", "--idle-exit",
        "--timeout", "--directory", "--trust-uid", "--with-parent"}) {
    const auto names = [own](const std::string& word) {
      return word == own || word.starts_with(std::string(own) + "=");
    };
    if (std::any_of(options.arguments.begin(), options.arguments.end(), names)) {
      throw InvalidArgument(
          text("batchcast: among the further arguments to start a stream with is {}, which is set "
               "in StartOptions or StartTarget instead.",
               own));
    }
  }
}

inline bool is_plain(const std::string& word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("-_./:=,@%+").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

}  // namespace start_command

BATCHCAST_INLINE bool note_installed_command(const char* path) noexcept {
  start_command::installed_command.store(path);
  return true;
}

BATCHCAST_INLINE void note_own_command(const char* path) noexcept {
  start_command::own_command.store(path);
}

BATCHCAST_INLINE CommandPlaces command_places() {
  CommandPlaces places;
  if (const char* own = start_command::own_command.load()) places.own = own;
  std::error_code ignored;
  places.program = start_command::fs::read_symlink("/proc/self/exe", ignored).string();
  if (const char* path = std::getenv("PATH")) places.path = path;
  if (const char* installed = start_command::installed_command.load()) places.installed = installed;
  return places;
}

BATCHCAST_INLINE std::string find_command(const std::string& wanted, const CommandPlaces& places) {
  if (!wanted.empty())
    return start_command::named_command(wanted, places.path, "the command to start streams");
  const char* named = std::getenv(start_command::env_command);
  if (named != nullptr && *named != '\0')
    return start_command::named_command(named, places.path,
                                        text("${}", start_command::env_command));

  std::vector<start_command::fs::path> looked_at;
  if (!places.own.empty()) looked_at.emplace_back(places.own);
  if (!places.program.empty()) {
    const start_command::fs::path folder = start_command::fs::path(places.program).parent_path();
    const start_command::fs::path above = folder.parent_path();
    looked_at.insert(looked_at.end(),
                     {folder / start_command::usual_name, above / "bin" / start_command::usual_name,
                      above / start_command::usual_name});
  }
  if (!places.installed.empty()) looked_at.emplace_back(places.installed);
  for (start_command::fs::path& place :
       start_command::on_path(start_command::usual_name, places.path))
    looked_at.push_back(std::move(place));
  for (const start_command::fs::path& place : looked_at) {
    if (start_command::can_run(place)) return start_command::fs::absolute(place).string();
  }
  std::string message =
      "batchcast: the command `batchcast`, which serves streams, was not found at";
  for (const start_command::fs::path& place : looked_at) message += text("\n  {}", place.string());
  throw StartFailed(
      text("{}\nSet {} to its path, put it on the PATH, or start the stream by hand with "
           "`batchcast serve`.",
           message, start_command::env_command));
}

BATCHCAST_INLINE std::vector<std::string> ensure_words(const std::string& command,
                                                       const StartTarget& target,
                                                       const StartOptions& options) {
  const std::string& stream = target.stream;
  if (options.source.empty()) {
    throw InvalidArgument(text(
        "batchcast: stream `{}` cannot be started without a source, such as imagefolder:train.",
        stream));
  }
  const double idle_exit_s = options.idle_exit_s;
  if (!(idle_exit_s < 0 || (idle_exit_s > 0 && idle_exit_s <= limits::waiting_seconds_max))) {
    throw InvalidArgument(text(
        "batchcast: idle_exit_s is {}; it must be above 0 and at most {}, or below 0 for a "
        "producer that stays until it is stopped.",
        start_command::number_text(idle_exit_s), static_cast<int>(limits::waiting_seconds_max)));
  }
  std::vector<std::string> words = {command, "ensure", stream, options.source, "--with-parent"};
  const auto add = [&words](const char* option, std::string value) {
    words.emplace_back(option);
    words.push_back(std::move(value));
  };
  add("--timeout",
      start_command::number_text(target.timeout_ms < 0 ? -1 : target.timeout_ms / 1000.0));
  if (!target.directory.empty()) add("--directory", target.directory);
  for (const std::uint32_t uid : target.allow_uids) add("--trust-uid", std::to_string(uid));
  if (!options.recipe.empty()) add("--recipe", options.recipe);
  if (options.seed) add("--seed", std::to_string(*options.seed));
  if (!options.tokenizer.empty()) add("--tokenizer", options.tokenizer);
  if (!options.chat_template.empty()) add("--chat-template", options.chat_template);
  if (!options.corpus.empty()) add("--corpus", options.corpus);
  add("--memory", std::to_string(options.memory));
  if (options.epochs != 0) add("--epochs", std::to_string(options.epochs));
  if (options.wait_for != 0) add("--wait-for", std::to_string(options.wait_for));
  if (options.idle_exit_s > 0) add("--idle-exit", start_command::number_text(options.idle_exit_s));
  start_command::check_further_arguments(options);
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  const auto holds_null = [](const std::string& word) {
    return word.find('\0') != std::string::npos;
  };
  if (std::any_of(words.begin(), words.end(), holds_null)) {
    throw InvalidArgument(text(
        "batchcast: an argument to start stream `{}` with has a null character in it.", stream));
  }
  return words;
}

BATCHCAST_INLINE std::string shell_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (start_command::is_plain(word)) {
      text += word;
      continue;
    }
    text += '\'';
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    text += '\'';
  }
  return text;
}

BATCHCAST_INLINE std::optional<std::string> value_of(const std::vector<std::string>& words,
                                                     std::string_view option) {
  std::optional<std::string> value;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == option && i + 1 < words.size()) value = words[i + 1];
    if (words[i].starts_with(std::string(option) + "=")) value = words[i].substr(option.size() + 1);
  }
  return value;
}

}  // namespace batchcast::inline v0_1::detail
