// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/lives_state.hpp"

#include "simulation/scheduler.hpp"

#include <batchcast/ring/futex.hpp>

namespace batchcast::simulation::lives_world {
namespace {

constexpr std::size_t board_bytes = std::size_t{64} * 1024;
alignas(64) std::array<std::array<std::array<std::byte, board_bytes>, rings_max>, lives_max> boards;

}  // namespace

World* world = nullptr;

std::span<std::byte> board_bytes_of(const Ring& ring) noexcept {
  return boards[ring.life][ring.number];
}

void note_event() {
  if (world->events_until_deaths != 0 && --world->events_until_deaths == 0) {
    allow_deaths(world->deaths);
  }
}

void ring_door(Life& life) {
  life.door_word.add_quietly();
  wake(&life.door_word);
}

void ring_bell(Connection& one) {
  one.bell.add_quietly();
  wake(&one.bell);
}

void ring_all() {
  world->lives_word.add_quietly();
  wake(&world->lives_word);
}

}  // namespace batchcast::simulation::lives_world
