// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/consumer/start_answer.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/named_thread.hpp>
#include "control/wake_descriptor.hpp"
#include "start/ensure.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <mutex>
#include <thread>

namespace batchcast::inline v0_1::detail {
namespace {

// Where time is up, ensure itself says what it was waiting for, unless it sits in a source.
constexpr int overtime_ms = 1'000;
constexpr int exit_environment = 3;

int exit_code_of(std::string_view word) {
  static const std::map<std::string_view, int> codes = {
      {ensure_word::served, 0}, {ensure_word::mismatch, 1}, {ensure_word::invalid, 2},
      {ensure_word::failed, 3}, {ensure_word::timeout, 3},  {ensure_word::refused, 4}};
  return codes.at(word);
}

void print(const EnsureAnswer& answer) noexcept {
  std::string text = std::string(answer.word) + "\n" + answer.text + "\n";
  if (!answer.recipe_json.empty()) {
    text += std::string(ensure_word::recipe_line) + answer.recipe_json + "\n";
  }
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t bytes = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return;
    done += static_cast<std::size_t>(bytes);
  }
}

/// Ends the process when nobody waits for the answer, or time is up.
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

  /// The first answer is printed; a later one waits for the end of the process.
  [[nodiscard]] int give(const EnsureAnswer& answer) {
    const std::lock_guard lock(mutex_);
    if (!given_) print(answer);
    given_ = true;
    return exit_code_of(answer.word);
  }

 private:
  void watch() {
    std::array<pollfd, 2> events{{{answered_.get(), POLLIN, 0}, {STDOUT_FILENO, 0, 0}}};
    for (;;) {
      const int left_ms = deadline_.left_ms();
      const int ready =
          ::poll(events.data(), events.size(), left_ms < 0 ? -1 : left_ms + overtime_ms);
      if (ready > 0 && events[0].revents != 0) return;
      if (ready > 0 && (events[1].revents & POLLNVAL) != 0) events[1].fd = -1;
      if (ready > 0 && events[1].fd >= 0) ::_exit(exit_environment);
      if (ready != 0) continue;
      ::_exit(give({ensure_word::timeout,
                    "batchcast: stream `" + request_.stream +
                        "` is served. Whether with what was asked for is not known after " +
                        std::to_string(deadline_.waited_ms() / 1000) +
                        " s: the source is being opened to be compared. Where that takes longer, "
                        "wait longer (--timeout; connect_timeout_ms in a trainer)."}));
    }
  }

  const EnsureRequest& request_;
  Deadline deadline_;
  WakeDescriptor answered_;
  std::mutex mutex_;
  bool given_ = false;
  std::thread thread_;
};

}  // namespace

int answer(const EnsureRequest& request, bool with_parent) {
  if (with_parent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
  Watch watch(request);
  return watch.give(ensure(request));
}

}  // namespace batchcast::inline v0_1::detail
