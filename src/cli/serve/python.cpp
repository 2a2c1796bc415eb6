// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/serve/python.hpp"

#include "cli/command.hpp"
#include "cli/output.hpp"

#include <batchcast/core/error.hpp>

#include <fmt/format.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

extern char** environ;

namespace batchcast::cli {
namespace {

std::string text_of_environment(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread sets it
  return text == nullptr ? "" : text;
}

/// As execvp would find it; empty where it is nowhere.
std::string found_on_path(const std::string& name) {
  if (name.find('/') != std::string::npos) return ::access(name.c_str(), X_OK) == 0 ? name : "";
  const std::string path = text_of_environment("PATH");
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string file =
        (std::filesystem::path(path.substr(begin, end - begin)) / name).string();
    if (::access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return {};
}

Python choose_python(const std::string& source) {
  if (const std::string named = text_of_environment("BATCHCAST_PYTHON"); !named.empty()) {
    const std::string file = found_on_path(named);
    if (!file.empty()) return {file, "$BATCHCAST_PYTHON"};
    throw InvalidArgument(
        text("batchcast: $BATCHCAST_PYTHON is `{}`, and there is no such program.", named));
  }
  if (const std::string active = text_of_environment("VIRTUAL_ENV"); !active.empty()) {
    const std::string file = found_on_path(active + "/bin/python3");
    if (!file.empty()) return {file, "$VIRTUAL_ENV"};
  }
  const std::string file = found_on_path("python3");
  if (!file.empty()) return {file, "$PATH"};
  throw InvalidArgument(
      text("batchcast: `{}` is read by Python, and there is no python3 on the PATH. Name one that "
           "has the package `batchcast` with $BATCHCAST_PYTHON.",
           source));
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// The exit code of a program that runs until it ends; throws SystemError.
int result_of(const std::string& file, std::vector<std::string> words) {
  pid_t child = -1;
  const int error =
      ::posix_spawn(&child, file.c_str(), nullptr, nullptr, pointers_to(words).data(), environ);
  if (error != 0) throw SystemError(text("batchcast: `{}` cannot be run", file), error);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void check_has_package(const Python& python, const std::string& source) {
  constexpr int absent = 44;
  constexpr int without_numpy = 45;
  const std::string look = fmt::format(
      "import importlib.util, sys; find = importlib.util.find_spec; found = find('batchcast'); "
      "sys.exit({} if not found or not found.origin else "  // a mere folder of that name has none
      "{} if find('numpy') is None else 0)",
      absent, without_numpy);
  const int result = result_of(python.file, {python.file, "-c", look});
  if (result == 0) return;
  if (result == without_numpy) {
    throw Error(
        fmt::format("batchcast: `{}` is read by Python, and {} (by {}) has the package batchcast, "
                    "and not numpy, which it needs. Install it there: `{} -m pip install numpy`; "
                    "or name another Python with $BATCHCAST_PYTHON.",
                    source, python.file, python.chosen_by, python.file));
  }
  if (result != absent) {
    throw Error(fmt::format("batchcast: `{}` (by {}) cannot run Python: it ended with {}.",
                            python.file, python.chosen_by, result));
  }
  throw Error(
      fmt::format("batchcast: `{}` is read by Python, and {} (by {}) has no module batchcast. "
                  "Install it there: `{} -m pip install CHECKOUT`, with a checkout or wheel of "
                  "batchcast; or name another Python with $BATCHCAST_PYTHON.",
                  source, python.file, python.chosen_by, python.file));
}

}  // namespace

Python python_for(const std::string& source) {
  Python python = choose_python(source);
  check_has_package(python, source);
  return python;
}

void become(std::vector<std::string> words) {
  const std::string file = words.front();
  ::execv(file.c_str(), pointers_to(words).data());
  throw SystemError(text("batchcast: `{}` cannot be run", file), errno);
}

std::vector<std::string> words_given(const CLI::App& command,
                                     const std::vector<std::string>& left_out) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (std::find(left_out.begin(), left_out.end(), name) != left_out.end()) continue;
    const bool is_flag = option->get_items_expected_max() == 0;
    for (const std::string& value : option->results()) {
      words.push_back("--" + name + (is_flag && value == "true" ? "" : "=" + value));
    }
  }
  return words;
}

void serve_with_python(const serving::ServeOptions& options, const CLI::App& serve,
                       Interrupts& interrupts) {
  const std::string& source = options.dataset.source;
  if (options.json) {
    throw InvalidArgument(
        text("batchcast: --json: the report of what Python serves (`{}`) is text only.", source));
  }
  if (options.log_format != "text") {
    throw InvalidArgument(
        text("batchcast: --log-format: what Python serves (`{}`) reports as text only.", source));
  }
  Python python;
  {
    const EndsAtOnce looking(interrupts, [](int) { return exit_ok; });
    python = python_for(source);
  }
  if (interrupts.wait(0) != 0) std::_Exit(exit_ok);
  std::vector<std::string> words = {python.file, "-m", "batchcast", "serve", source};
  const std::vector<std::string> given = words_given(serve, {"help"});
  words.insert(words.end(), given.begin(), given.end());
  say(fmt::format("`{}` is read by {} (by {})\n", source, python.file, python.chosen_by));
  become(std::move(words));
}

}  // namespace batchcast::cli
