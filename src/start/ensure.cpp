// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/ensure.hpp"

#include <batchcast/core/deadline.hpp>
#include <batchcast/starting/start_answer.hpp>
#include <batchcast/starting/start_command.hpp>
#include "start/detached_process.hpp"
#include "start/given_up.hpp"
#include "start/observation.hpp"
#include "start/recipe_check.hpp"
#include "start/serve_log.hpp"
#include "start/start_lock.hpp"
#include "stream/try_stream_lock.hpp"

#include <batchcast/consumer_options.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/door.hpp>
#include "stream/stream_directory.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

// No event tells that a lock becomes free, or that a socket appears.
constexpr int look_every_ms = 10;
constexpr int connect_timeout_ms = 100;
constexpr int look_again_ms = 20;
// A producer answers at once, also where time is nearly up.
constexpr int announce_within_ms = 500;
// The producer that answered the door a moment ago may be gone; then another one has to start.
constexpr int attach_within_ms = 1'000;
// A stream whose consumers have read everything ends within that time.
constexpr int finished_stream_ends_ms = 1'000;

void rest(int ms = look_every_ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

std::string directory_to_serve_in(const EnsureRequest& target) {
  if (!target.directory.empty()) {
    std::string base = std::filesystem::absolute(target.directory).lexically_normal().string();
    while (base.size() > 1 && base.back() == '/') base.pop_back();
    return base;
  }
  // The producer will choose the same.
  return producer_directory(value_of(target.serve, "--allow-uid").has_value());
}

bool door_answers(const EnsureRequest& target) {
  const auto places = target.directory.empty()
                          ? find_stream(target.stream).places
                          : std::vector{stream_paths(target.directory, target.stream)};
  return std::any_of(places.begin(), places.end(), [](const StreamPaths& place) {
    const DoorAnswer answer = connect_door(place.door, connect_timeout_ms).answer;
    return answer == DoorAnswer::open || answer == DoorAnswer::crowded;
  });
}

/// On a full disk the log stays empty.
std::string why_silent(const std::string& directory) {
  std::error_code error;
  const bool full = std::filesystem::space(directory, error).available == 0 && !error;
  return full ? text(", and could say nothing: the disk of {} is full.", directory)
              : ", and said nothing.";
}

/// One caller's way to a served stream.
class Starter {
 public:
  Starter(const EnsureRequest& target, const Deadline& deadline)
      : target_(target),
        words_(target.serve),
        lock_(directory_to_serve_in(target), target.stream),
        deadline_(deadline) {}

  void run() {
    bool said = false;
    while (!lock_.try_take()) {
      if (door_answers(target_)) return;
      if (!std::exchange(said, true)) {
        log(text("waiting for the process that starts stream `{}`", target_.stream));
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
  /// Waits for an earlier producer that is starting or ending: one whose starter is dead, or one
  /// that was started by hand. True: it serves.
  [[nodiscard]] bool earlier_one_answers() {
    while (look_at_lock(paths().log).held || look_at_lock(paths().lock).held || is_kept()) {
      if (door_answers(target_)) return true;
      check_time("a process holds that name which does not serve it yet, or is ending");
      rest();
    }
    return door_answers(target_);
  }

  /// True: it serves. False: another producer was faster, or this one has already ended without a
  /// consumer, because the machine is too busy for so short an idle_exit_s.
  [[nodiscard]] bool start() {
    std::optional<Life> last = life_waited_for(paths().directory);
    if (last) look_whether_given_up(*last);
    DetachedProcess::Program program{words_, {}, {}, lock_.make_log()};
    if (last) {
      note_start(paths().directory, *last);
      use_words_of_last(program, *last);
    }
    if (!target_.directory.empty()) {
      program.environment.push_back("BATCHCAST_DIR=" + base_of(paths()));
    }
    log(text("starting `{}`, its log is {}", shell_text(program.words), paths().log));
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

  /// A producer that was killed is started again as it was started before, where trainers of its
  /// stream wait for it. Whether that is what this caller asks for is compared as always.
  static void use_words_of_last(DetachedProcess::Program& program, const Life& last) {
    if (!last.started.words.empty()) {
      program.words = last.started.words;
      program.environment = last.started.environment;
      program.directory = last.started.directory;
    }
    program.environment.push_back(text("{}={}", deaths_variable, last.deaths));
  }

  void look_whether_given_up(const Life& last) {
    const auto asked = value_of(last.started.words, "--give-up-after");
    const std::uint32_t limit =
        asked ? static_cast<std::uint32_t>(std::strtoul(asked->c_str(), nullptr, 10))
              : give_up_after_default;
    const std::uint32_t deaths = deaths_in_a_row(last);
    if (!is_given_up(deaths, limit)) return;
    const std::string reason = given_up_text(target_.stream, last, deaths);
    give_up_stream(target_.stream, base_of(paths()), reason);
    const std::string failure =
        text("batchcast: stream `{}` is given up: {}.", target_.stream, reason);
    lock_.tell_failure({words_, failure});
    throw StartFailed(failure);
  }

  [[noreturn]] void fail(const std::string& end) {
    const std::string said = last_lines(paths().log);
    const std::string failure = text(
        "batchcast: stream `{}` could not be started: `{}` {}{}{}", target_.stream,
        shell_text(words_), end, said.empty() ? why_silent(paths().directory) : ". It said", said);
    lock_.tell_failure({words_, failure});
    throw StartFailed(failure);
  }

  void check_time(const std::string& state) const {
    if (!deadline_.over()) return;
    const std::string said = last_lines(paths().log);
    throw StreamNotFound(
        text("batchcast: stream `{}` is not served after {} s: {}. Where opening its dataset takes "
             "longer, wait longer (--timeout; connect_timeout_ms in a trainer). The log is {}{}{}",
             target_.stream, deadline_.waited_ms() / 1000, state, paths().log,
             said.empty() ? "" : "; it says", said));
  }

  /// A keeper starts the producer again by itself.
  [[nodiscard]] bool is_kept() const {
    return look_at_lock(keeper_path(base_of(paths()), target_.stream)).held;
  }

  [[nodiscard]] static std::string base_of(const StreamPaths& paths) {
    return std::filesystem::path(paths.directory).parent_path().string();
  }
  [[nodiscard]] const StreamPaths& paths() const noexcept { return lock_.paths(); }
  void log(const std::string& text) const {
    if (target_.log) target_.log(LogLevel::info, text);
  }

  static constexpr int ends_in_order_max = 20;

  const EnsureRequest& target_;
  const std::vector<std::string>& words_;
  StartLock lock_;
  const Deadline& deadline_;
  int ends_in_order_ = 0;
};

void see_it_served(const EnsureRequest& request, const Deadline& deadline) {
  if (!door_answers(request)) Starter(request, deadline).run();
}

/// The trainer may ask for another recipe. It must not count for wait_for then, nor delay other
/// trainers while the source is opened. So `ensure` reads the board as an observer, and the trainer
/// attaches afterwards.
Observation look_at(const EnsureRequest& request, const Deadline& deadline) {
  ConsumerOptions options;
  options.stream = request.stream;
  options.directory = request.directory;
  options.allow_uids = request.allow_uids;
  options.log = request.log;
  const int left_ms = deadline.left_ms();
  options.connect_timeout_ms = left_ms < 0 ? attach_within_ms : std::min(left_ms, attach_within_ms);
  return Observation(options);
}

/// How long to wait for a finished stream to end, so that the next one can start. While consumers
/// read it, that is until the deadline. Afterwards it is a short while, since a producer that ends
/// is gone then.
class FinishedStream {
 public:
  explicit FinishedStream(const Deadline& deadline) : deadline_(deadline) {}

  /// Whether to look again, after it was found finished.
  [[nodiscard]] bool is_waited_for(bool is_read) {
    if (!is_read) read_.reset();
    if (is_read && !read_) read_.emplace(finished_stream_ends_ms);
    return !deadline_.over() && !(read_ && read_->over());
  }

 private:
  const Deadline& deadline_;
  std::optional<Deadline> read_;  ///< no consumer reads it any more
};

/// Returns once the producer knows that a trainer follows. Waits while consumers read the end of a
/// stream that admits no trainer. Throws what that trainer would get.
void announce_trainer(Observation& stream, FinishedStream& finished, const EnsureRequest& request) {
  for (bool said = false;; rest(look_again_ms)) {
    const bool is_read = !stream.is_draining();
    try {
      return stream.announce_trainer(announce_within_ms);
    } catch (const StreamFinished&) {
      if (!finished.is_waited_for(is_read)) throw;
    }
    if (!is_read && !std::exchange(said, true) && request.log) {
      request.log(LogLevel::info,
                  text("waiting for the end of stream `{}`, whose last samples are being read",
                       request.stream));
    }
  }
}

EnsureAnswer ensure_or_throw(const EnsureRequest& request) {
  check_stream_name(request.stream);
  const Deadline deadline(request.timeout_ms);
  FinishedStream finished(deadline);
  for (;;) {
    see_it_served(request, deadline);
    try {
      Observation stream = look_at(request, deadline);
      std::string recipe = stream.recipe_json();
      check_recipe(request.stream, recipe, request.asked);
      announce_trainer(stream, finished, request);
      return {ensure_word::served,
              text("batchcast: stream `{}` is served with what was asked for.", request.stream),
              std::move(recipe)};
    } catch (const StreamFinished& refused) {
      if (!finished.is_waited_for(true)) return {ensure_word::refused, refused.what()};
    } catch (const StreamFailed& refused) {
      return {ensure_word::refused, refused.what()};
    } catch (const StreamOver& ending) {
      if (deadline.over()) return {ensure_word::refused, ending.what()};
    } catch (const Refused& refused) {
      return {ensure_word::refused, refused.what()};
    } catch (const StreamNotFound&) {
      if (deadline.over()) throw;
    }
    rest(look_again_ms);
  }
}

}  // namespace

EnsureAnswer ensure(const EnsureRequest& request) {
  try {
    return ensure_or_throw(request);
  } catch (const RecipeMismatch& mismatch) {
    return {ensure_word::mismatch, mismatch.what()};
  } catch (const StreamNotFound& late) {
    return {ensure_word::timeout, late.what()};
  } catch (const InvalidArgument& invalid) {
    return {ensure_word::invalid, invalid.what()};
  } catch (const std::exception& failed) {
    return {ensure_word::failed, failed.what()};
  }
}

}  // namespace batchcast::inline v0_1::detail
