// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/starting/start_answer.hpp>
#include "core/wake_descriptor.hpp"
#include "start/ensure.hpp"

#include <nlohmann/json.hpp>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace batchcast::inline v0_1::detail {
namespace {

// At the time-out ensure itself says what it was waiting for, unless it is inside a source.
constexpr int overtime_ms = 250;
constexpr int farewell_ms = 100;  // from the answer's last byte to the end of the watch
constexpr int exit_environment = 3;

int exit_code_of(std::string_view word) {
  static const std::map<std::string_view, int> codes = {
      {ensure_word::served, 0}, {ensure_word::mismatch, 1}, {ensure_word::invalid, 2},
      {ensure_word::failed, 3}, {ensure_word::timeout, 3},  {ensure_word::refused, 4}};
  return codes.at(word);
}

/// The answer as a trainer reads it: a word, and lines below it.
std::string lines_of(const EnsureAnswer& answer) {
  std::string lines = text("{}\n{}\n", answer.word, printable_lines(answer.text));
  if (!answer.recipe_json.empty()) {  // byte by byte: a trainer compares it with the board
    lines += text("{}{}\n", ensure_word::recipe_line, answer.recipe_json);
  }
  return lines;
}

std::string json_of(const EnsureAnswer& answer, const std::string& stream) {
  using Json = nlohmann::json;
  const Json recipe = Json::parse(answer.recipe_json, nullptr, false);
  const Json object = {{"word", answer.word},
                       {"stream", stream},
                       {"text", answer.text},
                       {"recipe", recipe.is_discarded() ? Json() : recipe}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// False, with errno, where not all bytes were written.
bool print(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t bytes = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    done += static_cast<std::size_t>(bytes);
  }
  return true;
}

bool is_ready(int fd, short events, int timeout_ms) noexcept {
  pollfd entry{fd, events, 0};
  return ::poll(&entry, 1, timeout_ms) > 0;
}

/// Ends the process when the trainer no longer waits for the answer, or time is up.
class Watch {
 public:
  explicit Watch(const EnsureRequest& request) : request_(request), deadline_(request.timeout_ms) {
    thread_ = start_thread("bc-ensure", [this] { watch(); });
  }
  ~Watch() {
    answered_.wake();
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Prints the first answer; a later one waits for the end of the process.
  [[nodiscard]] int give(const EnsureAnswer& answer) {
    const std::lock_guard lock(mutex_);
    given_ = true;
    return give_answer(answer, request_);
  }

 private:
  void watch() {
    std::array<pollfd, 2> events{{{answered_.get(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
    for (;;) {
      const int left_ms = deadline_.left_ms();
      const int ready = ::poll(events.data(), events.size(), longer_timeout(left_ms, overtime_ms));
      if (ready > 0 && events[0].revents != 0) return;
      if (ready > 0 && (events[1].revents & POLLNVAL) != 0) events[1].fd = -1;
      if (ready > 0 && events[1].fd >= 0) ::_exit(exit_environment);
      if (ready == 0) return end_in_time();
    }
  }

  void end_in_time() {
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock || given_) {
      // An answer is being written; the trainer may have stopped reading.
      if (is_ready(answered_.get(), POLLIN, farewell_ms)) return;
      ::_exit(exit_environment);
    }
    if (!is_ready(STDOUT_FILENO, POLLOUT, 0)) ::_exit(exit_environment);
    ::_exit(give_answer(
        {ensure_word::timeout,
         text("batchcast: stream `{}` is served. Whether with what was asked for is not known "
              "after {} s: the source is being opened to be compared. Where that takes longer, "
              "wait longer (--timeout; connect_timeout_ms in a trainer).",
              request_.stream, deadline_.waited_ms() / 1000)},
        request_));
  }

  const EnsureRequest& request_;
  Deadline deadline_;
  WakeDescriptor answered_;
  std::mutex mutex_;
  bool given_ = false;
  std::thread thread_;
};

}  // namespace

int give_answer(const EnsureAnswer& answer, const EnsureRequest& request) {
  if (print(request.json ? json_of(answer, request.stream) : lines_of(answer))) {
    return exit_code_of(answer.word);
  }
  const int error = errno;
  if (request.log) {
    request.log(LogLevel::error, text("batchcast: the answer could not be written to stdout: {}",
                                      ::strerrordesc_np(error)));
  }
  return exit_environment;
}

int answer(const EnsureRequest& request, bool with_parent) {
  if (with_parent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
  std::optional<Watch> watch;
  try {
    watch.emplace(request);
  } catch (const Error& error) {
    return give_answer({ensure_word::failed, error.what()}, request);
  }
  return watch->give(ensure(request));
}

}  // namespace batchcast::inline v0_1::detail
