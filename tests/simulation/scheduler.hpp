// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <vector>

// Simulated processes: fibres on one thread, of which a seeded scheduler runs one at a time. It may
// switch at each step, that is at each access of a shared word. A process that dies is never run
// again, and its memory is dropped as it is.
namespace batchcast::simulation {

/// The source of all that is left to chance. Draws are kept, so that a schedule can be run again,
/// also with some of them changed. 0 is the plainest draw.
class Chance {
 public:
  void begin(std::uint64_t seed) noexcept;
  /// Gives these draws; zeros when they are used up.
  void replay(const std::vector<std::uint32_t>& draws);

  /// Below n.
  [[nodiscard]] std::uint32_t below(std::uint32_t n);
  /// One in n: true. Never once a replay is used up.
  [[nodiscard]] bool one_in(std::uint32_t n) { return below(n) == n - 1; }
  /// Keeps what the caller drew by itself from `raw`; in a replay it is what was kept.
  template <class Draw>
  [[nodiscard]] std::uint32_t keep(Draw&& draw) {
    const std::uint32_t value = !replays_                  ? draw()
                                : next_ < replayed_.size() ? replayed_[next_]
                                                           : 0;
    ++next_;
    if (draws_.size() == draws_.capacity()) grow();
    draws_.push_back(value);
    return value;
  }
  [[nodiscard]] std::uint64_t raw() noexcept;
  [[nodiscard]] bool replays() const noexcept { return replays_; }
  [[nodiscard]] const std::vector<std::uint32_t>& draws() const noexcept { return draws_; }

 private:
  void grow();

  std::uint64_t state_ = 0;
  bool replays_ = false;
  std::size_t next_ = 0;
  std::vector<std::uint32_t> replayed_;
  std::vector<std::uint32_t> draws_;
};

[[nodiscard]] Chance& chance() noexcept;

/// How the scheduler chooses.
enum class Manner : std::uint8_t {
  uniform,     ///< any fibre, after a few steps
  few,         ///< by priority, with a few points where the priority falls (PCT)
  small_sets,  ///< two fibres at a time
};
inline constexpr std::size_t manners = 3;

inline constexpr std::size_t processes_max = 24;
inline constexpr std::size_t fibres_max = 32;

/// What a schedule ended with. `fault` empty: all is well.
struct Outcome {
  std::string fault;
  std::uint64_t steps = 0;
  std::uint32_t switches = 0;
  std::uint32_t deaths = 0;
  std::uint32_t wakes = 0;
  std::uint32_t time_outs = 0;
};

// ---- worlds

/// Forgets the last world.
void begin_world(Manner manner, std::uint32_t switches_max);
/// A process; its number. `killable`: it may be chosen to die.
std::size_t add_process(const char* name, bool killable);
/// A fibre of that process. `run` is called on it, with the process's memory; it is copied there.
void add_fibre(std::size_t process, const char* name, const std::function<void()>& run);
/// Runs until all fibres have ended or died. Call it outside of fibres.
Outcome run_world();
/// How many deaths may come, by themselves.
void allow_deaths(std::uint32_t deaths);
/// Kills it now. If the caller is one of its fibres, the call does not return.
void kill(std::size_t process);
/// Ends the world with this fault; does not return where a fibre calls it.
void fail(const std::string& fault);
[[nodiscard]] bool has_failed() noexcept;

[[nodiscard]] bool is_dead(std::size_t process) noexcept;
/// Others see that it is dead: that comes some time after the death.
[[nodiscard]] bool is_seen_dead(std::size_t process) noexcept;
/// Called for each death when it can be seen, on no fibre.
void on_seen_dead(std::function<void(std::size_t process)> callback);
/// What a process left in its memory: allocations.
[[nodiscard]] std::uint64_t allocations_of(std::size_t process) noexcept;
[[nodiscard]] std::size_t current_process() noexcept;
[[nodiscard]] const char* current_name() noexcept;
/// The chaos is over: each fibre runs until it waits, and none dies.
[[nodiscard]] bool is_calm() noexcept;

/// What changed a word of this range. Called after each such step, on the fibre that did it. It
/// must not allocate.
using Judge = void (*)(const void* word, std::size_t bytes, std::uint64_t value);
void set_judge(Judge judge) noexcept;

/// Since the last time-out of this fibre, which came while all others slept, no other fibre changed
/// a word: it was not woken for what was there already.
[[nodiscard]] bool was_not_woken() noexcept;
/// The fibre waits for what comes by itself with time.
void forget_time_out() noexcept;

/// For stories.
void tell(const char* format, ...) __attribute__((format(printf, 1, 2)));
void set_telling(bool tells) noexcept;
[[nodiscard]] bool tells() noexcept;

/// Deaths by the step that the fibres of the process had taken last.
struct StepDeaths {
  const char* function;
  std::uint32_t line;
  std::uint64_t steps;
  std::uint64_t deaths;
};
[[nodiscard]] std::vector<StepDeaths> steps_and_deaths();

/// Allocations meanwhile are none of a process.
class Outside {
 public:
  Outside() noexcept;
  ~Outside();
  Outside(const Outside&) = delete;
  Outside& operator=(const Outside&) = delete;

 private:
  void* arena_;
};

// ---- what the seam calls

extern std::int64_t steps_left;  ///< until the scheduler is asked
void take_turn() noexcept;
void note_step(const std::source_location& where) noexcept;
/// The same of what the simulated kernel does.
void note_kernel_step(const std::source_location& where) noexcept;
void note_change(const void* word, std::size_t bytes, std::uint64_t value) noexcept;

inline void step() noexcept {
  if (--steps_left < 0) take_turn();
}
inline void step(const std::source_location& where) noexcept {
  note_step(where);
  step();
}
inline void kernel_step(
    const std::source_location& where = std::source_location::current()) noexcept {
  note_kernel_step(where);
  step();
}
inline void changed(const void* word, std::size_t bytes, std::uint64_t value) noexcept {
  note_change(word, bytes, value);
}
[[nodiscard]] std::uint64_t now_ns() noexcept;
[[nodiscard]] std::uint64_t fibre_id() noexcept;
/// False at the time-out.
[[nodiscard]] bool sleep_on(const void* word, const void* other, int timeout_ms) noexcept;
void wake(const void* word) noexcept;
void wait_for_mutex(const void* mutex) noexcept;
void mutex_is_free(const void* mutex) noexcept;

// ---- mutants

extern std::uint32_t chosen_mutant;  ///< 0: none
[[nodiscard]] inline bool mutant(std::uint32_t number) noexcept { return chosen_mutant == number; }

}  // namespace batchcast::simulation
