// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "rank.hpp"

#include "consume.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <thread>

namespace batchcast::testing {
namespace {

/// Byte by byte, or where samples are repeated, by their ids.
std::string fault_in(const Batch& batch, std::uint64_t epoch_end) {
  if (batch.padding() == 0) return fault_of(batch);
  const std::uint64_t own = batch.size() - batch.padding();
  for (std::size_t i = 0; i < own; ++i) {
    if (batch.sample_ids()[i] != id_at(batch.position() + i)) return "a sample is not its own";
  }
  // What is repeated follows in its order; the epoch's end is followed by the tail's begin.
  for (std::size_t i = 1; i < batch.size(); ++i) {
    const std::uint64_t before = batch.sample_ids()[i - 1];
    const bool goes_round = before == id_at(epoch_end - 1);
    bool follows = false;
    for (std::uint64_t at = batch.position() > 4'096 ? batch.position() - 4'096 : 0;
         at + 1 < epoch_end && !goes_round && !follows; ++at) {
      follows = id_at(at) == before && id_at(at + 1) == batch.sample_ids()[i];
    }
    if (!goes_round && !follows) return "its padding is not in order";
  }
  return {};
}

void run_loops(Consumer& consumer, const RankPlan& plan, Ranked& ranked) {
  for (std::uint64_t loop = 0; plan.epochs == 0 || loop < plan.epochs; ++loop) {
    std::vector<Part>& parts = ranked.loops.emplace_back();
    for (const Batch& batch : consumer) {
      parts.push_back({batch.position(), batch.size(), batch.padding(), consumer.cursor()});
      const std::string fault = fault_in(batch, consumer.cursor());
      if (!fault.empty()) consumer.check();  // what a rank of a broken group holds may be others'
      if (ranked.fault.empty()) ranked.fault = fault;
      if (plan.on_batch) plan.on_batch(batch);
      if (plan.pause_us != 0) pause_us(plan.pause_us);
      if (loop == plan.leave_loop && parts.size() >= plan.leave_after) break;
      if (loop == plan.drop_in_loop && parts.size() >= plan.drop_after) {
        throw std::logic_error("drops its consumer");
      }
    }
  }
}

int run(const Words& words) {
  const auto size = [&](const char* key, std::int64_t otherwise) {
    return static_cast<std::uint64_t>(words.number(key, otherwise));
  };
  ConsumerOptions options = consumer_options(words);
  options.group = {words.text("group", "ddp"), static_cast<std::uint32_t>(words.number("rank")),
                   static_cast<std::uint32_t>(words.number("world"))};
  RankPlan plan;
  plan.epochs = size("epochs", 0);
  plan.pause_us = size("pause_us", 0);
  Consumer* attached = nullptr;
  std::set<std::string> lives;
  plan.on_batch = [&](const Batch&) { lives.insert(attached->incarnation()); };
  const Ranked ranked = run_rank(options, plan, [&](Consumer& consumer) {
    attached = &consumer;
    say("attached cursor=" + std::to_string(consumer.cursor()));
  });
  for (const auto& parts : ranked.loops) say(text_of(parts));
  std::string line = "done sound=" + std::string(ranked.fault.empty() ? "yes" : "no") +
                     " over=" + (ranked.over.empty() ? "left" : ranked.over) +
                     " first=" + std::to_string(ranked.first) +
                     " cursor=" + std::to_string(ranked.cursor) +
                     " mismatched=" + std::to_string(ranked.stats.epochs_mismatched) +
                     " unknown=" + std::to_string(ranked.stats.epochs_unknown) +
                     " matched=" + std::to_string(ranked.stats.epochs_matched) +
                     " lives=" + std::to_string(lives.size()) +
                     " late=" + std::to_string(ranked.stats.late_wakeups) +
                     " loops=" + std::to_string(ranked.loops.size()) + " text: " + ranked.text;
  std::replace(line.begin(), line.end(), '\n', '|');
  say(line);
  return ranked.fault.empty() ? 0 : 3;
}

const RoleRegistration role("rank", run);

}  // namespace

ConsumerOptions rank_options(std::uint32_t rank, std::uint32_t world, std::uint64_t batch_size) {
  ConsumerOptions options = stream_options();
  options.batch_size = batch_size;
  options.name = "rank";
  options.group = {"ddp", rank, world};
  options.connect_timeout_ms = 20'000;
  options.spin_us = 5;
  return options;
}

Ranked run_rank(const ConsumerOptions& options, const RankPlan& plan,
                const std::function<void(Consumer&)>& attached) {
  Ranked ranked;
  try {
    Consumer consumer(options);
    ranked.first = consumer.cursor();
    if (attached) attached(consumer);
    try {
      run_loops(consumer, plan, ranked);
      try {
        static_cast<void>(consumer.has_next_epoch());  // until the receipts are compared
      } catch (const GroupBroken&) {
        // Another rank left before.
      }
    } catch (const Error& error) {
      ranked.over = kind_of(error);
      ranked.text = error.what();
    } catch (const std::logic_error&) {
      // The consumer goes.
    }
    ranked.cursor = consumer.cursor();
    ranked.stats = consumer.stats();
  } catch (const Error& error) {
    ranked.over = kind_of(error);
    ranked.text = error.what();
  }
  return ranked;
}

std::vector<Ranked> run_ranks(const ConsumerOptions& options,
                              const std::function<RankPlan(std::uint32_t rank)>& plan) {
  std::vector<Ranked> ranked(options.group.world);
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < options.group.world; ++rank) {
    threads.emplace_back([&, rank] {
      ConsumerOptions own = options;
      own.group.rank = rank;
      ranked[rank] = run_rank(own, plan(rank));
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ranked;
}

std::string text_of(const std::vector<Part>& parts) {
  std::string text = "loop parts=";
  for (const Part& part : parts) {
    text += std::to_string(part.position) + ":" + std::to_string(part.size) + ",";
  }
  return text;
}

std::vector<Part> parts_of(const ConsumerOptions& rank, std::uint64_t position, std::uint64_t end) {
  const std::uint64_t world = std::max(rank.group.world, 1U);
  const std::uint64_t own = rank.group.rank;
  const std::uint64_t size = rank.batch_size;
  std::vector<Part> parts;
  for (; end - position >= world * size; position += world * size) {
    parts.push_back({position + own * size, size, 0, position + world * size});
  }
  const std::uint64_t left = end - position;
  if (rank.tail == Tail::keep && left >= world) {
    parts.push_back({position + own * (left / world), left / world, 0, end});
  }
  if (rank.tail == Tail::pad && left != 0) {
    const std::uint64_t there = std::clamp<std::uint64_t>(left, own * size, (own + 1) * size);
    const std::uint64_t real = there - own * size;
    parts.push_back({position + own * size % left, size, size - real, end});
  }
  return parts;
}

}  // namespace batchcast::testing
