// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "consume.hpp"

#include "../catch.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <utility>

namespace batchcast::testing {
namespace {

template <class E>
bool is(const std::exception& error) {
  return dynamic_cast<const E*>(&error) != nullptr;
}

/// One loop, and what becomes of its batches.
class Loop {
 public:
  Loop(Consumer& consumer, const ConsumerOptions& options, const ConsumePlan& plan)
      : consumer_(consumer),
        options_(options),
        plan_(plan),
        checker_(consumer.samples_per_epoch()),
        random_(plan.seed) {}

  /// False once the plan is done.
  bool run_epoch(std::uint64_t number) {
    const bool leaves = plan_.break_every != 0 && number % plan_.break_every == 0;
    const std::uint64_t leave_after = random_() % 8;
    std::uint64_t in_epoch = 0;
    for (Batch& batch : consumer_) {
      see(batch);
      if (plan_.batches != 0 && ++batches_ >= plan_.batches) return false;
      if (leaves && in_epoch++ >= leave_after) break;
    }
    if (leaves || options_.between_epochs == BetweenEpochs::let_go || options_.tail == Tail::drop) {
      checker_.expect_gap();
      held_.clear();  // where the next loop begins, the ring may have no room beside them
    }
    return true;
  }

  [[nodiscard]] const Checker& checker() const noexcept { return checker_; }

 private:
  void see(Batch& batch) {
    if (options_.pace == Pace::free) checker_.expect_gap();
    checker_.see(batch);
    if (plan_.on_batch) plan_.on_batch(batch);
    held_.push_back(batch.share());
    while (held_.size() > plan_.hold) {
      // In any order, but none is kept so long that the ring has no room for the next.
      const std::uint64_t span = batch.position() + batch.size() - held_.front().position();
      const bool old = span > consumer_.capacity() / 3;
      const std::size_t which = old ? 0 : random_() % held_.size();
      const std::string fault = fault_of(held_[which]);
      held_[which].check();  // what was evicted may be anything
      if (!fault.empty()) throw std::runtime_error("a batch that is held: " + fault);
      std::swap(held_[which], held_.front());
      held_.pop_front();
    }
    if (plan_.pause_us != 0) pause_us(plan_.pause_us);
    if (plan_.dance && random_() % 4 == 0) {
      constexpr std::array<std::uint64_t, 5> sizes = {1, 7, 37, 64, 100};
      consumer_.set_batch_size(
          std::min(sizes[random_() % sizes.size()], consumer_.capacity() / 8 + 1));
    }
  }

  Consumer& consumer_;
  const ConsumerOptions& options_;
  const ConsumePlan& plan_;
  Checker checker_;
  std::mt19937_64 random_;
  std::deque<Batch> held_;
  std::uint64_t batches_ = 0;
};

int run_consume(const Words& words) {
  if (words.has("told")) {  // to begin; its start is over by then
    say("ready");
    static_cast<void>(hear());
  }
  const Consumed consumed =
      consume(consumer_options(words), consume_plan(words), [](Consumer& consumer) {
        say("attached name=" + consumer.name() + " cursor=" + std::to_string(consumer.cursor()) +
            " capacity=" + std::to_string(consumer.capacity()));
      });
  say(consumed.line());
  return consumed.fault.empty() ? 0 : 3;
}

const RoleRegistration role("consume", run_consume);

}  // namespace

std::string kind_of(const std::exception& error) {
  if (is<StreamFinished>(error)) return "StreamFinished";
  if (is<Stopped>(error)) return "Stopped";
  if (is<StreamFailed>(error)) return "StreamFailed";
  if (is<ProducerGone>(error)) return "ProducerGone";
  if (is<Revoked>(error)) return "Revoked";
  if (is<GroupBroken>(error)) return "GroupBroken";
  if (is<RingTooSmall>(error)) return "RingTooSmall";
  if (is<Missed>(error)) return "Missed";
  if (is<GpuUnavailable>(error)) return "GpuUnavailable";
  if (is<GpuError>(error)) return "GpuError";
  if (is<Forked>(error)) return "Forked";
  if (is<ReceiptMismatch>(error)) return "ReceiptMismatch";
  if (is<Refused>(error)) return "Refused";
  if (is<StreamTaken>(error)) return "StreamTaken";
  if (is<StreamNotFound>(error)) return "StreamNotFound";
  if (is<OutOfMemory>(error)) return "OutOfMemory";
  if (is<SystemError>(error)) return "SystemError";
  if (is<InvalidArgument>(error)) return "InvalidArgument";
  if (is<StartFailed>(error)) return "StartFailed";
  if (is<RecipeMismatch>(error)) return "RecipeMismatch";
  return "other";
}

std::string Consumed::line() const {
  const auto word = [](const char* key, std::uint64_t value) {
    return std::string(" ") + key + "=" + std::to_string(value);
  };
  std::string line = "done";
  line += " sound=" + std::string(fault.empty() ? "yes" : "no");
  line += " over=" + (over.empty() ? "left" : over);
  line += word("samples", stats.samples) + word("batches", stats.batches) + word("first", first) +
          word("cursor", cursor) + word("epochs", epochs) + word("late", stats.late_wakeups) +
          word("matched", stats.epochs_matched) + word("mismatched", stats.epochs_mismatched) +
          word("unknown", stats.epochs_unknown) + word("skipped", stats.skipped) +
          word("waits", stats.waits) +
          word("attach_us", static_cast<std::uint64_t>(stats.attach_seconds * 1e6));
  if (!fault.empty()) line += " fault: " + fault;
  if (!text.empty()) line += " text: " + text;
  std::replace(line.begin(), line.end(), '\n', '|');
  return line;
}

Consumed consume(const ConsumerOptions& options, const ConsumePlan& plan,
                 const std::function<void(Consumer&)>& attached) {
  Consumed consumed;
  try {
    Consumer consumer(options);
    consumed.name = consumer.name();
    if (attached) attached(consumer);
    Loop loop(consumer, options, plan);
    try {
      for (;;) {
        if (!loop.run_epoch(consumed.epochs)) break;
        ++consumed.epochs;
        if (plan.epochs != 0 && consumed.epochs >= plan.epochs) break;
      }
    } catch (const Error& error) {
      consumed.over = kind_of(error);
      consumed.text = error.what();
    } catch (const std::runtime_error& error) {
      consumed.fault = error.what();
    }
    if (consumed.fault.empty()) consumed.fault = loop.checker().fault();
    consumed.first = loop.checker().first();
    consumed.cursor = consumer.cursor();
    consumed.stats = consumer.stats();
  } catch (const Error& error) {
    consumed.over = kind_of(error);
    consumed.text = error.what();
  }
  return consumed;
}

ConsumerOptions stream_options() {
  ConsumerOptions options;
  options.stream = "s";
  options.placement = test_placement();
  return options;
}

ConsumerOptions consumer_options(const Words& words) {
  const auto size = [&](const char* key, std::int64_t otherwise) {
    return static_cast<std::uint64_t>(words.number(key, otherwise));
  };
  ConsumerOptions options = stream_options();
  options.stream = words.text("stream", "s");
  if (words.has("placement")) options.placement = words.text("placement");
  options.batch_size = size("batch", 37);
  options.name = words.text("name", "c");
  options.pace = words.text("pace") == "free" ? Pace::free : Pace::lockstep;
  options.join = parse_join(words.text("join", "rewind")).value();
  options.cursor = size("cursor", 0);
  options.between_epochs = parse_between_epochs(words.text("between", "hold")).value();
  options.tail = words.text("tail") == "drop"  ? Tail::drop
                 : words.text("tail") == "pad" ? Tail::pad
                                               : Tail::keep;
  options.access = words.text("access") == "private" ? Access::private_copy : Access::shared;
  options.on_miss = words.text("on_miss") == "error" ? OnMiss::error : OnMiss::skip;
  options.connect_timeout_ms = static_cast<int>(words.number("connect_ms", 20'000));
  options.spin_us = size("spin_us", 5);
  if (words.has("says_waits")) {
    options.while_waiting = [said = false]() mutable {
      if (!std::exchange(said, true)) say("waits");
    };
  }
  return options;
}

ConsumePlan consume_plan(const Words& words) {
  const auto size = [&](const char* key, std::int64_t otherwise = 0) {
    return static_cast<std::uint64_t>(words.number(key, otherwise));
  };
  ConsumePlan plan;
  plan.epochs = size("epochs");
  plan.batches = size("batches");
  plan.hold = size("hold");
  plan.pause_us = size("pause_us");
  plan.break_every = size("break_every");
  plan.dance = words.has("dance");
  plan.seed = size("seed", 1);
  return plan;
}

Words expect_sound(Process& consumer, const std::string& over, int timeout_ms) {
  Words words = consumer.expect("done", timeout_ms);
  INFO(words.line() << "\n" << consumer.errors());
  CHECK(words.text("sound") == "yes");
  CHECK(words.text("over") == over);
  CHECK(words.number("mismatched") == 0);
  CHECK(words.number("late") == 0);
  return words;
}

}  // namespace batchcast::testing
