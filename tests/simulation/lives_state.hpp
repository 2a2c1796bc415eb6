// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/group.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/reader.hpp>
#include "door/door_server.hpp"
#include "ring/writer/writer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>

// What there is in the world of lives: a pure stream with several lives. A producer may die at any
// step, and the next one goes on with its trainers, of which some are ranks of groups. Doors are
// queues of messages here; what producers do at theirs, the life file's logic, the ring and the
// readers are the real ones.
namespace batchcast::simulation::lives_world {

inline constexpr std::uint32_t trainers_max = 5;
inline constexpr std::uint32_t lives_max = 3;
inline constexpr std::uint32_t connections_max = 24;  ///< of a trainer
inline constexpr std::uint32_t ends_max = 16;         ///< that it says on one of them
inline constexpr std::uint32_t rings_max = 24;        ///< of a life: the leading one, and heads
inline constexpr std::uint64_t capacity_max = 16;
inline constexpr std::uint64_t epochs_max = 4;
inline constexpr std::uint64_t far_away = std::uint64_t{1} << 63;
inline constexpr std::uint32_t switches_max = 500;
inline constexpr int look_ms = 50;
inline constexpr const char* group_name = "g";

[[nodiscard]] inline std::uint64_t content_of(std::uint64_t position) noexcept {
  return position * 0x9e3779b97f4a7c15u ^ 0x5bd1e995u;
}

/// Of a trainer with one life's door.
struct Connection {
  std::uint32_t life = 0;
  // What the trainer says, in this order.
  Hello hello;
  bool hello_heard = false;
  std::array<EpochEnd, ends_max> ends = {};
  std::uint32_t said = 0;
  std::uint32_t heard = 0;
  bool bye = false;
  std::optional<std::uint64_t> asks_place;  ///< wants to move there within its ring
  // The door's side.
  std::optional<ConsumerKey> key;
  bool is_lost = false;                ///< the door has forgotten it
  std::optional<std::uint64_t> ended;  ///< it left after these epochs, as its producer knew
  // What the producer says.
  enum Answer : std::uint8_t { none, welcome, refused } answer = none;
  std::optional<bool> moved;  ///< to the place that it asked for
  std::uint64_t position = 0;
  std::uint64_t consumer_id = 0;
  std::uint32_t ring = 0;  ///< of the life
  std::uint32_t index = 0;
  std::byte* desk = nullptr;
  int lock_fd = -1;
  RefusalKind refusal = RefusalKind::busy;
  bool farewell = false;
  bool group_broke = false;
  std::array<char, 200> text = {};
  SharedWord<std::uint32_t> bell{0};

  void keep_text(const std::string& said_text) noexcept {
    std::snprintf(text.data(), text.size(), "%s", said_text.c_str());
  }
};

struct Held {
  std::uint64_t start;
  std::uint64_t lease;
  std::uint64_t size;
};

struct Trainer {
  std::size_t process = 0;
  std::uint32_t number = 0;
  std::array<Connection, connections_max> connections;
  std::uint32_t connection_count = 0;
  const Connection* now = nullptr;  ///< where it reads
  const RingReader* reader = nullptr;
  std::uint64_t position = 0;  ///< the next sample that it needs
  std::uint64_t epoch = 0;     ///< the one that it is in
  std::array<Held, 8> held{};
  std::size_t holds = 0;
  bool came = false;        ///< it was admitted
  bool came_twice = false;  ///< its first producer died before it was admitted
  bool goes = false;        ///< as it drew
  bool ended = false;
  bool read_all = false;
  bool read_alone =
      false;  ///< to the end of a ring whose producer had died: no producer heard of it
  // What it does.
  Group group;
  std::uint32_t batch = 1;
  std::uint32_t hold = 0;
  std::uint32_t leave_one_in = 0;
  std::uint64_t goes_after = far_away;  ///< epochs
  int comes_after_ms = 0;
  std::optional<std::uint64_t> cursor;  ///< that it asks for as it comes
  std::uint64_t comes_at = 0;           ///< once so much of the stream is published
};

/// A ring of a life: its samples, and their ids, which lie there twice.
struct Ring {
  std::uint32_t life = 0;
  std::uint32_t number = 0;  ///< 0: the leading one
  std::uint64_t capacity = 0;
  std::array<std::array<std::uint64_t, 2>, capacity_max> samples{};
  std::array<std::uint64_t, 2 * capacity_max> ids{};
};

struct Served;

struct Life {
  std::uint32_t number = 0;
  std::size_t process = 0;
  bool is_open = false;  ///< its door
  bool is_over = false;
  bool all_made = false;  ///< and its maker does not touch the writer any more
  Served* served = nullptr;
  SharedWord<std::uint32_t> door_word{0};
  std::array<Ring, rings_max> rings{};
  std::uint32_t ring_count = 0;
};

struct Sizes {
  std::uint64_t capacity = 4;
  std::uint64_t epoch = 4;
  std::uint64_t epochs = 1;
  std::uint32_t lives = 1;
  std::uint32_t trainers = 1;
  std::uint32_t world = 0;  ///< the first trainers are ranks of a group
  std::uint64_t ahead = 0;
  std::uint32_t loan = 1;
  std::uint64_t heads = 1;
  std::uint64_t head_capacity = 4;
  bool knows_ids = true;
  bool leaves = false;  ///< ranks leave epochs early
};

struct World {
  Sizes sizes;
  std::array<Trainer, trainers_max> trainers;
  std::array<Life, lives_max> lives;
  SharedWord<std::uint32_t> lives_word{0};
  std::array<std::uint64_t, epochs_max> left_at{};  ///< of each epoch: where a rank left it
  bool all_left = false;
  std::uint32_t events_until_deaths = 0;
  std::uint32_t deaths = 0;
};

extern World* world;

[[nodiscard]] inline std::span<Trainer> trainers() noexcept {
  return {world->trainers.data(), world->sizes.trainers};
}
[[nodiscard]] inline std::span<Life> lives() noexcept {
  return {world->lives.data(), world->sizes.lives};
}
/// The memory of that ring's board.
[[nodiscard]] std::span<std::byte> board_bytes_of(const Ring& ring) noexcept;
[[nodiscard]] inline BoardView board_of(const Ring& ring) noexcept {
  return BoardView(board_bytes_of(ring).data());
}
[[nodiscard]] inline Ring& ring_of(const Connection& one) noexcept {
  return world->lives[one.life].rings[one.ring];
}
[[nodiscard]] inline Desk& desk_of(const Connection& one) noexcept {
  return *reinterpret_cast<Desk*>(one.desk);
}
[[nodiscard]] inline bool is_rank(const Trainer& one) noexcept { return one.group.world != 0; }

/// Deaths come once some of the story has been.
void note_event();

// Each wakes those who wait for that word.
void ring_door(Life& life);
void ring_bell(Connection& one);
void ring_all();

}  // namespace batchcast::simulation::lives_world
