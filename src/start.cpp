// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/start.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/join/directory.hpp>
#include <batchcast/join/door.hpp>

#include "control/stream_lock.hpp"
#include "start_command.hpp"
#include "start_deadline.hpp"
#include "start_lock.hpp"
#include "start_log.hpp"
#include "start_process.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace batchcast {
namespace {

using detail::Deadline;
using detail::DetachedProcess;
using detail::FailedStart;

// There is no event for a lock that becomes free, nor for a socket that appears.
constexpr int look_every_ms = 10;
constexpr int knock_timeout_ms = 100;

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(look_every_ms)); }

std::string directory_to_serve_in(const StartTarget& target, const StartOptions& options) {
  if (!target.directory.empty()) {
    std::string base = std::filesystem::absolute(target.directory).lexically_normal().string();
    while (base.size() > 1 && base.back() == '/') base.pop_back();
    return base;
  }
  // As the producer itself will choose it.
  return producer_directory(detail::value_of(options.arguments, "--allow-uid").has_value());
}

bool door_answers(const StartTarget& target) {
  const auto places = target.directory.empty()
                          ? find_stream(target.stream).places
                          : std::vector{stream_paths(target.directory, target.stream)};
  return std::any_of(places.begin(), places.end(), [](const StreamPaths& place) {
    const DoorKnock knock = connect_door(place.door, knock_timeout_ms).knock;
    return knock == DoorKnock::open || knock == DoorKnock::crowded;
  });
}

/// A full disk takes along what would have been said.
std::string why_silent(const std::string& directory) {
  std::error_code error;
  const bool full = std::filesystem::space(directory, error).available == 0 && !error;
  return full ? ", and could say nothing: the disk of " + directory + " is full."
              : ", and said nothing.";
}

/// One caller's way to a stream that is served.
class Starter {
 public:
  Starter(const StartTarget& target, const StartOptions& options)
      : target_(target),
        words_(detail::serve_words(detail::find_command(options.command, detail::command_places()),
                                   target.stream, options)),
        lock_(directory_to_serve_in(target, options), target.stream),
        deadline_(target.timeout_ms) {}

  void run() {
    bool said = false;
    while (!lock_.try_take()) {
      if (door_answers(target_)) return;
      if (!std::exchange(said, true)) {
        log("waiting for the process that starts stream `" + target_.stream + "`");
      }
      check_time("another process is starting it");
      rest();
    }
    if (door_answers(target_)) return;
    if (const auto failure = lock_.failed_meanwhile(); failure && failure->words == words_) {
      throw StartFailed(failure->text);
    }
    while (!earlier_one_answers() && !start()) {
    }
  }

 private:
  /// A producer that is about to come up, or to end: its starter may be dead, or it was started by
  /// hand. Waits until it does either. True: it serves.
  [[nodiscard]] bool earlier_one_answers() {
    while (look_at_lock(paths().log).held || look_at_lock(paths().lock).held) {
      if (door_answers(target_)) return true;
      check_time("a process holds that name which does not serve it yet, or is ending");
      rest();
    }
    return door_answers(target_);
  }

  /// True: it serves. False: another one was faster, or it has served already and found nobody, on
  /// a machine too busy for so short an idle_exit_s.
  [[nodiscard]] bool start() {
    DetachedProcess::Program program{words_, {}, lock_.make_log()};
    if (!target_.directory.empty()) {
      program.environment.push_back("BATCHCAST_DIR=" + base_of(paths()));
    }
    log("starting `" + detail::shell_text(words_) + "`, its log is " + paths().log);
    DetachedProcess process(std::move(program));
    for (;;) {
      if (door_answers(target_)) return true;
      std::optional<DetachedProcess::End> end = process.ended(look_every_ms);
      if (!end && process.unwatched() && !look_at_lock(paths().log).held) {
        end.emplace(DetachedProcess::End{false, "ended"});
      }
      if (!end) {
        check_time("`batchcast serve` was started and goes on, but does not serve it yet");
        continue;
      }
      if (look_at_lock(paths().lock).held || door_answers(target_)) return false;
      if (end->in_order && ++ends_in_order_ < ends_in_order_max) return false;
      fail(end->text);
    }
  }

  [[noreturn]] void fail(const std::string& end) {
    const std::string said = detail::last_lines(paths().log);
    const std::string text = "batchcast: stream `" + target_.stream + "` could not be started: `" +
                             detail::shell_text(words_) + "` " + end +
                             (said.empty() ? why_silent(paths().directory) : ". It said") + said;
    lock_.tell_failure({words_, text});
    throw StartFailed(text);
  }

  void check_time(const std::string& state) const {
    if (!deadline_.over()) return;
    const std::string said = detail::last_lines(paths().log);
    throw StreamNotFound("batchcast: stream `" + target_.stream + "` is not served after " +
                         std::to_string(deadline_.waited_ms() / 1000) + " s: " + state +
                         ". Where opening its dataset takes longer, wait longer "
                         "(connect_timeout_ms). The log is " +
                         paths().log + (said.empty() ? "" : "; it says") + said);
  }

  [[nodiscard]] static std::string base_of(const StreamPaths& paths) {
    return std::filesystem::path(paths.directory).parent_path().string();
  }
  [[nodiscard]] const StreamPaths& paths() const noexcept { return lock_.paths(); }
  void log(const std::string& text) const {
    if (target_.log) target_.log(LogLevel::info, text);
  }

  static constexpr int ends_in_order_max = 20;

  const StartTarget& target_;
  std::vector<std::string> words_;
  detail::StartLock lock_;
  Deadline deadline_;
  int ends_in_order_ = 0;
};

}  // namespace

void ensure_served(const StartTarget& target, const StartOptions& options) {
  check_stream_name(target.stream);
  if (door_answers(target)) return;
  Starter(target, options).run();
}

}  // namespace batchcast
