// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "simulation/scheduler.hpp"
#include "woven.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <source_location>
#include <thread>
#include <utility>

// In the simulation this file stands in place of the library's. Each access of a shared word may
// switch to another fibre first.
namespace batchcast::inline v0_1 {

template <class T>
class SharedWord {
 public:
  using value_type = T;
  using Where = std::source_location;
  static constexpr bool is_always_lock_free = true;

  SharedWord() noexcept = default;
  constexpr SharedWord(T value) noexcept : value_(value) {}
  SharedWord(const SharedWord&) = delete;
  SharedWord& operator=(const SharedWord&) = delete;

  [[nodiscard]] T load(std::memory_order = std::memory_order_seq_cst,
                       Where where = Where::current()) const noexcept {
    simulation::step(where);
    return value_;
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst,
             Where where = Where::current()) noexcept {
    simulation::step(where);
    value_ = value;
    simulation::changed(this, sizeof(T), value);
  }
  T fetch_add(T add, std::memory_order = std::memory_order_seq_cst,
              Where where = Where::current()) noexcept {
    simulation::step(where);
    const T before = value_;
    value_ = static_cast<T>(before + add);
    simulation::changed(this, sizeof(T), value_);
    return before;
  }
  // For words of a world: a step, but none of the code that is tested.
  [[nodiscard]] T load_quietly() const noexcept {
    simulation::step();
    return value_;
  }
  T add_quietly() noexcept {
    simulation::step();
    simulation::changed(this, sizeof(T), value_ + 1);
    return value_++;
  }
  /// For judges: without a step.
  [[nodiscard]] T peek() const noexcept { return value_; }
  void poke(T value) noexcept { value_ = value; }

 private:
  T value_{};
};

/// A mutex of one simulated process.
class Mutex {
 public:
  void lock() noexcept {
    simulation::step();
    while (locked_) simulation::wait_for_mutex(this);
    locked_ = true;
  }
  [[nodiscard]] bool try_lock() noexcept {
    simulation::step();
    return !std::exchange(locked_, true);
  }
  void unlock() noexcept {
    locked_ = false;
    simulation::mutex_is_free(this);
  }

 private:
  bool locked_ = false;
};

using ThreadId = std::uint64_t;
[[nodiscard]] inline ThreadId this_thread_id() noexcept { return simulation::fibre_id(); }

namespace ordered {
inline void acquire_fence() noexcept {}
inline void release_fence() noexcept {}
}  // namespace ordered
}  // namespace batchcast::inline v0_1
