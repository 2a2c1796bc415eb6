// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/lives_judge.hpp"

#include "simulation/scheduler.hpp"

#include <batchcast/core/states.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/ring/cursor.hpp>

#include <algorithm>
#include <optional>

namespace batchcast::simulation::lives_world {
namespace {

/// Its producer died before it had its welcome: it cannot come back to a place.
bool has_missed_welcome(const Trainer& self) noexcept {
  if (self.came_twice) return true;
  if (self.came || self.connection_count == 0) return false;
  return is_dead(world->lives[self.connections[self.connection_count - 1].life].process);
}

/// The first sample of the next batch that is its own.
std::uint64_t own_position(const Trainer& self) noexcept {
  if (!is_rank(self)) return self.position;
  const std::uint64_t end = (self.position / world->sizes.epoch + 1) * world->sizes.epoch;
  const std::uint64_t all =
      std::min<std::uint64_t>(std::uint64_t{self.batch} * self.group.world, end - self.position);
  const std::uint64_t share = all / self.group.world;
  return share == 0 ? end : self.position + share * self.group.rank;  // what no rank gets is passed
}

/// The lowest position that this trainer needs of that ring; `far_away` for none.
std::uint64_t needed_by(const Trainer& self, const Connection& one) noexcept {
  if (one.answer != Connection::welcome || one.bye || one.is_lost) return far_away;
  if (board_of(ring_of(one)).consumer(one.index).consumer_id.peek() != one.consumer_id)
    return far_away;
  if (self.now != &one) return std::max(one.position, self.position);  // it may leave its epoch
  std::uint64_t lowest = far_away;
  for (std::size_t i = 0; i < self.holds; ++i) lowest = std::min(lowest, self.held[i].start);
  if (desk_of(one).skipping.peek() != 0) return lowest;
  // An epoch that another rank left is passed within `next`.
  const bool passes = world->sizes.leaves && is_rank(self);
  const std::uint64_t own = own_position(self);
  return std::min(lowest, passes ? std::max(own, self.reader->position()) : own);
}

/// A rank is gone. The epochs that it had ended, if its producer knew them as it left.
struct Gone {
  bool is_gone = false;
  std::optional<std::uint64_t> ended;
};
Gone gone_of(const Trainer& one) noexcept {
  if (is_dead(one.process) || one.read_alone || has_missed_welcome(one)) return {true, {}};
  if (!one.goes && (!one.ended || one.read_all)) return {};
  if (one.connection_count == 0) return {true, {}};
  return {true, one.connections[one.connection_count - 1].ended};
}

/// It gets a batch of an epoch: all ranks have ended the one before. Where a producer died that had
/// made all, no other comes to tell them, and each reads to the end.
void check_met(const Trainer& self) {
  if (!is_rank(self)) return;
  const std::uint32_t life = self.now->life;
  const auto state = static_cast<StreamState>(board_of(ring_of(*self.now)).progress().state.peek());
  if (is_dead(world->lives[life].process) && batchcast::detail::has_ended(state)) return;
  for (const Trainer& one : trainers().first(world->sizes.world)) {
    if (!one.came || one.epoch >= self.epoch) continue;
    fail(text("rank {} is in epoch {}, and rank {} has not ended epoch {}", self.number, self.epoch,
              one.number, one.epoch));
  }
}

}  // namespace

void check_gate(const Ring& ring, std::uint64_t end) {
  for (const Trainer& self : trainers()) {
    if (is_dead(self.process) || self.ended) continue;
    for (std::uint32_t i = 0; i < self.connection_count; ++i) {
      const Connection& one = self.connections[i];
      if (one.life != ring.life || one.ring != ring.number) continue;
      const std::uint64_t needed = needed_by(self, one);
      if (end <= saturating_add(needed, ring.capacity)) continue;
      fail(text(
          "the gate: ring {} of life {} writes up to {}, but trainer {} needs position {} of a "
          "ring of {}",
          ring.number, ring.life, end, self.number, needed, ring.capacity));
    }
  }
}

void check_broken(const Trainer& self) {
  std::uint64_t ended = far_away;
  for (const Trainer& one : trainers().first(world->sizes.world)) {
    const Gone gone = gone_of(one);
    if (!gone.is_gone) continue;
    if (!gone.ended) return;
    ended = std::min(ended, *gone.ended);
  }
  if (self.epoch >= ended) return;
  fail(text("rank {} gets GroupBroken in epoch {}, and all others had ended epoch {}", self.number,
            self.epoch, ended - 1));
}

bool may_be_broken() noexcept {
  const auto ranks = trainers().first(world->sizes.world);
  return std::any_of(ranks.begin(), ranks.end(), [](const Trainer& one) {
    return is_dead(one.process) || one.goes || (one.ended && !one.read_all) || one.read_alone ||
           has_missed_welcome(one);
  });
}

void check_run(const Trainer& self, const Run& run) {
  if (run.batch_start != self.position) {
    fail(text("trainer {} gets position {} and not {}", self.number, run.batch_start,
              self.position));
  }
  if (run.epoch != self.epoch) {
    fail(text("trainer {} gets a batch of epoch {}, and is in epoch {}", self.number, run.epoch,
              self.epoch));
  }
  check_met(self);
}

void check_epoch_end(const Trainer& self, std::uint64_t epoch) {
  if (is_rank(self) && self.position >= world->left_at[epoch]) return;
  const std::uint64_t end = (epoch + 1) * world->sizes.epoch;
  const std::uint64_t ranks = is_rank(self) ? self.group.world : 1;
  if (self.position + ranks > end) return;
  fail(text("trainer {} is at the end of epoch {}, and got nothing from position {} on",
            self.number, epoch, self.position));
}

void check_place(const Trainer& self, const Connection& one) {
  const Hello& hello = one.hello;
  if (is_rank(self) || hello.join != Join::at || one.position == hello.cursor) return;
  fail(text("trainer {} asks for position {}, and is welcomed at {}", self.number, hello.cursor,
            one.position));
}

void check_wake_up(const Life& life) {
  if (was_not_woken() && !is_dead(life.process)) {
    fail(text("a lost wake-up: {} slept until its time was up, and what it waited for was there",
              current_name()));
  }
}

}  // namespace batchcast::simulation::lives_world
