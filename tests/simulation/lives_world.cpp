// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/world.hpp"

#include "simulation/kernel.hpp"
#include "simulation/lives_producer.hpp"
#include "simulation/lives_state.hpp"
#include "simulation/lives_trainer.hpp"
#include "simulation/scheduler.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>

namespace batchcast::simulation {
namespace {

using namespace lives_world;

/// Those who go on are far ahead of those who come with their cursors.
void draw_for_heads(Sizes& sizes) {
  sizes.capacity = 4 + chance().below(2);
  sizes.epochs = epochs_max - chance().below(2);
  sizes.trainers = std::max<std::uint32_t>(sizes.trainers, 2);
  sizes.world = std::min<std::uint32_t>(sizes.world, sizes.trainers / 2);
}

Sizes draw_sizes() {
  Sizes sizes;
  constexpr std::array<std::uint64_t, 6> capacities = {4, 4, 5, 8, 7, 16};
  sizes.capacity = capacities[chance().below(6)];
  sizes.epoch = 3 + chance().below(6);  // no less than ranks
  sizes.epochs = 1 + chance().below(static_cast<std::uint32_t>(epochs_max));
  sizes.lives = 1 + chance().below(lives_max);
  sizes.trainers = 1 + chance().below(trainers_max);
  sizes.world = chance().below(3) == 0 ? 0 : 1 + chance().below(3);
  sizes.world = std::min(sizes.world, sizes.trainers);
  sizes.ahead = chance().below(3);
  sizes.loan = 1 + chance().below(3);
  sizes.knows_ids = chance().below(4) != 3;
  sizes.leaves = chance().below(4) == 3;
  sizes.heads = chance().below(3) == 2 ? 2 + chance().below(2) : 1;
  sizes.head_capacity = 4 + chance().below(5);
  if (sizes.heads > 1) draw_for_heads(sizes);
  return sizes;
}

void draw_trainer(Trainer& self) {
  const Sizes& sizes = world->sizes;
  const bool is_one = self.number < sizes.world;
  const std::uint64_t ranks = is_one ? sizes.world : 1;
  const std::uint64_t most = std::min(sizes.capacity, sizes.epoch) / ranks;
  // The ranks of a group have batches of one size.
  const Trainer& first = world->trainers[0];
  self.batch =
      is_one && self.number != 0
          ? first.batch
          : 1 + chance().below(static_cast<std::uint32_t>(std::min<std::uint64_t>(most, 3)));
  if (is_one) self.group = Group(group_name, self.number, sizes.world);
  self.hold = chance().below(3);
  self.leave_one_in = is_one && sizes.leaves ? 4 : 0;
  if (is_one && chance().one_in(6)) self.goes_after = 1 + chance().below(3);
  self.comes_after_ms = chance().one_in(4) ? 150 : 0;
  const bool is_later = sizes.heads > 1 && self.number != 0 && chance().below(4) != 0;
  if (!is_one && sizes.heads > 1 && (is_later || chance().one_in(6))) {
    const auto all = static_cast<std::uint32_t>(sizes.epochs * sizes.epoch);
    self.cursor = chance().below(is_later ? all / 2 : all);
    if (is_later) self.comes_at = *self.cursor + sizes.capacity + chance().below(4);
  }
  tell("trainer %u: batches of %u, holds %u%s", self.number, self.batch, self.hold,
       is_one ? ", a rank" : "");
}

void add_processes() {
  constexpr std::array<const char*, trainers_max> trainer_names = {
      "trainer 0", "trainer 1", "trainer 2", "trainer 3", "trainer 4"};
  constexpr std::array<const char*, lives_max> life_names = {"life 0", "life 1", "life 2"};
  constexpr std::array<const char*, lives_max> maker_names = {"maker 0", "maker 1", "maker 2"};
  for (Life& life : lives()) {
    life.number = static_cast<std::uint32_t>(&life - world->lives.data());
    life.process = add_process(life_names[life.number], life.number + 1 != world->sizes.lives);
    add_fibre(life.process, life_names[life.number], [&life] { serve(life); });
    add_fibre(life.process, maker_names[life.number], [&life] { make(life); });
  }
  for (Trainer& self : trainers()) {
    self.number = static_cast<std::uint32_t>(&self - world->trainers.data());
    draw_trainer(self);
    self.process = add_process(trainer_names[self.number], true);
    add_fibre(self.process, trainer_names[self.number], [&self] { run_trainer(self); });
  }
}

}  // namespace

Outcome run_lives_world() {
  const auto here = std::make_unique<World>();
  world = here.get();
  kernel::begin();
  begin_world(static_cast<Manner>(chance().below(manners)), switches_max);
  set_judge(nullptr);
  world->sizes = draw_sizes();
  const Sizes& sizes = world->sizes;
  tell("a ring of %llu, %llu epochs of %llu; %u lives, %u trainers, %u of them ranks; ahead %llu",
       static_cast<unsigned long long>(sizes.capacity),
       static_cast<unsigned long long>(sizes.epochs), static_cast<unsigned long long>(sizes.epoch),
       sizes.lives, sizes.trainers, sizes.world, static_cast<unsigned long long>(sizes.ahead));
  add_processes();
  world->left_at.fill(far_away);
  world->deaths = chance().below(4);
  world->events_until_deaths = 1 + chance().below(24);
  on_seen_dead([](std::size_t) {
    const auto poke = [](SharedWord<std::uint32_t>& word) {
      word.poke(word.peek() + 1);
      wake(&word);
    };
    for (Life& life : lives()) {
      if (!is_dead(life.process)) poke(life.door_word);
    }
    poke(world->lives_word);
  });
  const Outcome outcome = run_world();
  world = nullptr;
  return outcome;
}

}  // namespace batchcast::simulation
