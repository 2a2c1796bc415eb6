// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start_attach.hpp"

#include "start_command.hpp"
#include "start_deadline.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

namespace batchcast::detail {
namespace {

constexpr int look_again_ms = 20;
// Who answered the door a moment ago may be gone; then another one has to be started.
constexpr int attach_within_ms = 1'000;
// A stream whose consumers have all it has ends within that time.
constexpr int finished_stream_ends_ms = 1'000;
constexpr const char* onlooker_name = "recipe-check";

/// Null where another producer took over in between.
std::shared_ptr<Attachment> attach_once(const ConsumerOptions& options, const Deadline& deadline,
                                        std::string& checked) {
  ConsumerOptions once = options;
  const auto attach = [&](bool only_looks) {
    const int left_ms = deadline.left_ms();
    once.observes = only_looks || options.observes;
    once.placement = only_looks ? Placement() : options.placement;
    once.pin = !only_looks && options.pin;
    once.name = only_looks ? onlooker_name : options.name;  // its own stays free for itself
    once.connect_timeout_ms = left_ms < 0 ? attach_within_ms : std::min(left_ms, attach_within_ms);
    return Attachment::attach(once);
  };
  // A trainer that wants something else must not count for wait_for, nor hold up anybody while the
  // source is opened: the first look is an onlooker's.
  if (checked.empty()) {
    const std::string recipe(attach(true)->board().recipe_json());
    check_recipe(options.stream, recipe, options.start);
    checked = recipe;
  }
  auto attachment = attach(false);
  if (attachment->board().recipe_json() == checked) return attachment;
  checked.clear();
  return nullptr;
}

/// A stream that is started for a trainer on a GPU is served there.
StartOptions with_placement(const ConsumerOptions& options) {
  StartOptions start = options.start;
  const std::string option = "--place";
  if (options.placement.is_host() || value_of(start.arguments, option)) return start;
  start.arguments.insert(start.arguments.end(), {option, options.placement.text()});
  return start;
}

[[noreturn]] void say_finished(const StreamFinished& refused) {
  throw StreamFinished(std::string(refused.what()) +
                       ". All its epochs are made, and its producer stays for consumers that still "
                       "read them. Another can be started when it has ended; with epochs = 0 a "
                       "stream has no last epoch.");
}

}  // namespace

std::shared_ptr<Attachment> attach_to_stream(const ConsumerOptions& options) {
  if (options.start.source.empty()) return Attachment::attach(options);
  // Before anything is started, and kept until it is attached: a GPU's context is costly to make.
  const std::unique_ptr<Delivery> gpu = delivery_for(options);
  const Deadline deadline(options.connect_timeout_ms);
  const StartOptions start = with_placement(options);
  std::optional<Deadline> finished;
  std::string checked;  // the recipe that was found to be what is asked for
  for (;;) {
    ensure_served({options.stream, options.directory, deadline.left_ms(), options.log}, start);
    try {
      if (auto attachment = attach_once(options, deadline, checked)) return attachment;
    } catch (const StreamFinished& refused) {
      if (!finished) finished.emplace(finished_stream_ends_ms);
      if (finished->over() || deadline.over()) say_finished(refused);
    } catch (const StreamFailed&) {
      throw;
    } catch (const StreamOver&) {  // it is just ending
      if (deadline.over()) throw;
    } catch (const StreamNotFound&) {
      if (deadline.over()) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(look_again_ms));
  }
}

}  // namespace batchcast::detail
