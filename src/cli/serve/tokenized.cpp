// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/serve/tokenized.hpp"

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "cli/serve/python.hpp"
#include "data/source/read_by_python.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::cli {
namespace {

std::string corpora_by_default() {
  namespace fs = std::filesystem;
  const auto of_environment = [](const char* name) {
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): no thread sets it
    return std::string(text == nullptr ? "" : text);
  };
  if (const std::string cache = of_environment("XDG_CACHE_HOME"); cache.starts_with('/')) {
    return (fs::path(cache) / "batchcast" / "corpora").string();
  }
  const std::string home = of_environment("HOME");
  if (home.empty()) {
    throw InvalidArgument(
        "batchcast: neither $XDG_CACHE_HOME nor $HOME is set. Say where the corpus is to be kept: "
        "--corpus DIR.");
  }
  return (fs::path(home) / ".cache" / "batchcast" / "corpora").string();
}

std::vector<std::string> words_of(const serving::DatasetOptions& options, const Python& python) {
  std::vector<std::string> words = {python.file, "-m", "batchcast._text", options.source};
  const auto add = [&words](const char* name, const std::string& value) {
    words.push_back(text("--{}={}", name, value));
  };
  add("tokenizer", *options.tokenizer);
  add("out", options.corpus.value_or(corpora_by_default()));
  if (options.chat_template) add("chat-template", *options.chat_template);
  if (options.train_on) add("train-on", *options.train_on);
  if (options.no_eos) words.emplace_back("--no-eos");
  words.emplace_back("--under-key");
  words.emplace_back("--json");
  return words;
}

/// What the process said, and how it ended.
struct Said {
  std::string output;
  std::string errors;  ///< the last of it
  int status = 0;
};

/// Reads what is there; resets the descriptor at its end.
void read_some(FileDescriptor& from, std::string& to, bool is_shown) {
  std::array<char, 4096> buffer;
  const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
  if (got < 0 && errno == EINTR) return;
  if (got <= 0) return from.reset();
  const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
  if (is_shown) say(bytes);
  to.append(bytes);
}

Said run_to_its_end(std::vector<std::string> words) {
  constexpr std::size_t kept_max = 8192;
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (::pipe2(out.data(), O_CLOEXEC) != 0) throw SystemError("batchcast: a pipe", errno);
  FileDescriptor output(out[0]);
  FileDescriptor output_end(out[1]);
  if (::pipe2(err.data(), O_CLOEXEC) != 0) throw SystemError("batchcast: a pipe", errno);
  FileDescriptor errors(err[0]);
  FileDescriptor errors_end(err[1]);
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw SystemError("batchcast: fork", errno);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::dup2(output_end.get(), STDOUT_FILENO);
    ::dup2(errors_end.get(), STDERR_FILENO);
    ::execv(pointers.front(), pointers.data());
    ::_exit(127);
  }
  output_end.reset();
  errors_end.reset();
  Said said;
  while (output || errors) {
    std::array<pollfd, 2> events{
        {{output ? output.get() : -1, POLLIN, 0}, {errors ? errors.get() : -1, POLLIN, 0}}};
    if (::poll(events.data(), events.size(), -1) < 0) continue;
    if (events[0].revents != 0) read_some(output, said.output, false);
    if (events[1].revents != 0) read_some(errors, said.errors, true);
    if (said.errors.size() > 2 * kept_max) said.errors.erase(0, said.errors.size() - kept_max);
  }
  while (::waitpid(child, &said.status, 0) < 0 && errno == EINTR) {
  }
  return said;
}

/// The last line, which says why it failed.
std::string reason_in(std::string errors) {
  while (errors.ends_with('\n')) errors.pop_back();
  const std::size_t begin = errors.rfind("batchcast: ");
  return begin == std::string::npos ? errors : errors.substr(begin);
}

/// `jsonl:FILES?split=test` is served as `megatron:PREFIX?split=test`.
std::string split_of(std::string_view source) {
  const std::size_t mark = source.rfind('?');
  if (mark == std::string_view::npos) return {};
  for (std::size_t at = mark; at != std::string_view::npos; at = source.find('&', at + 1)) {
    if (source.substr(at + 1) == "split=test" || source.substr(at + 1).starts_with("split=test&")) {
      return "?split=test";
    }
  }
  return {};
}

}  // namespace

bool takes_tokenizer(const serving::DatasetOptions& options) noexcept {
  return options.tokenizer.has_value() || detail::is_text(options.source);
}

std::string tokenized_source(const serving::DatasetOptions& options) {
  const std::string& source = options.source;
  if (!options.tokenizer) {
    throw InvalidArgument(
        text("batchcast: `{}` is text, and samples are tokens. Name a tokenizer: --tokenizer DIR, "
             "or its name on the Hub.",
             source));
  }
  if (!detail::is_text(source) && !source.starts_with("parquet:") &&
      !source.starts_with("huggingface:")) {
    throw InvalidArgument(
        text("batchcast: --tokenizer is of texts (jsonl:FILES, text:FILES, parquet:FILES, "
             "huggingface:DIR), and `{}` is none.",
             source));
  }
  const Said said = run_to_its_end(words_of(options, python_for(source)));
  if (!WIFEXITED(said.status) || WEXITSTATUS(said.status) != exit_ok) {
    const std::string reason = reason_in(said.errors);
    const std::string why =
        reason.empty() ? text("batchcast: `{}`: the process that tokenised it died.", source)
                       : reason;
    if (WIFEXITED(said.status) && WEXITSTATUS(said.status) == exit_usage) {
      throw InvalidArgument(why);
    }
    throw Error(why);
  }
  const auto told = nlohmann::json::parse(said.output, nullptr, false);
  if (!told.is_object() || !told.contains("prefix") || !told["prefix"].is_string()) {
    throw Error(
        text("batchcast: `{}`: the Python package did not say where the corpus is. Is it of "
             "another version?",
             source));
  }
  return text("megatron:{}{}", told["prefix"].get<std::string>(), split_of(source));
}

}  // namespace batchcast::cli
