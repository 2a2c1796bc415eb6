// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/scheduler.hpp"

#include "simulation/arena.hpp"

#include <boost/context/detail/fcontext.hpp>

#include <sys/mman.h>

#include <cxxabi.h>
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace batchcast::simulation {
namespace {

namespace context = boost::context::detail;

constexpr std::size_t stack_bytes = 256 * 1024;
constexpr std::int64_t never = std::int64_t{1} << 62;
constexpr std::uint32_t calm_turns_max = 6000;
constexpr std::uint32_t told_while_calm = 60;
constexpr int looks_again_ms = 10;
constexpr std::uint64_t no_deadline = ~std::uint64_t{0};

enum class State : std::uint8_t { absent, runnable, sleeps, waits_for_mutex, ended };

/// What the C++ runtime keeps of a thread: exceptions that are caught, and those in flight.
struct ExceptionGlobals {
  void* caught;
  unsigned int uncaught;
};

struct Fibre {
  State state = State::absent;
  std::size_t process = 0;
  const char* name = "";
  context::fcontext_t at = nullptr;
  ExceptionGlobals exceptions{};
  std::array<const void*, 2> words{};
  std::uint64_t deadline_ns = no_deadline;
  bool was_woken = false;
  bool looks_again = false;  ///< it sleeps so shortly that it needs no wake-up
  std::uint32_t priority = 0;
  std::uint32_t last_line = 0;
  std::function<void()> run;
};

struct Process {
  const char* name = "";
  bool killable = false;
  bool dead = false;
  bool seen_dead = false;
  std::uint32_t seen_in = 0;  ///< turns until its death can be seen
};

struct Line {
  std::source_location where;
  std::uint64_t steps = 0;
  std::uint64_t deaths = 0;
};

constexpr std::uint32_t lines_max = 2048;
constexpr std::uint32_t lines_of_words = 1536;  ///< the rest are of the simulated kernel

struct Scheduler {
  std::array<Fibre, fibres_max> fibres;
  std::array<Process, processes_max> processes;
  std::size_t fibre_count = 0;
  std::size_t process_count = 0;
  std::byte* stacks = nullptr;

  context::fcontext_t main_at = nullptr;
  Fibre* current = nullptr;
  Fibre* left = nullptr;  ///< the fibre that was switched from
  Fibre* timed_out_alone = nullptr;
  std::uint64_t clock_ns = 0;
  std::uint32_t mutex_waiters = 0;
  std::uint32_t unseen_deaths = 0;

  Manner manner = Manner::uniform;
  std::uint32_t switches_max = 0;
  std::uint32_t distance_max = 0;
  std::uint32_t lowest_priority = 0;
  std::array<std::uint8_t, 2> active{};
  std::uint32_t deaths_left = 0;
  bool calm = false;
  std::uint32_t calm_turns = 0;
  std::size_t round = 0;
  Outcome outcome;
  Judge judge = nullptr;
  std::function<void(std::size_t)> on_seen_dead;
  bool tells = false;
  std::array<Line, lines_max> lines;
  ExceptionGlobals* exceptions = nullptr;
};

Scheduler it;
Chance the_chance;

std::byte* stack_of(const Fibre& fibre) noexcept {
  return it.stacks + static_cast<std::size_t>(&fibre - it.fibres.data()) * stack_bytes;
}

void arrived(context::transfer_t from) noexcept {
  if (it.left != nullptr)
    it.left->at = from.fctx;
  else
    it.main_at = from.fctx;
}

/// Leaves the present fibre, or main, for that one; null: for main.
void jump(Fibre* to) noexcept {
  Fibre* const self = it.current;
  if (self != nullptr) self->exceptions = *it.exceptions;
  it.left = self;
  it.current = to;
  *it.exceptions = to != nullptr ? to->exceptions : ExceptionGlobals{};
  arenas::chosen = to != nullptr ? to->process : arenas::none;
  arrived(context::jump_fcontext(to != nullptr ? to->at : it.main_at, nullptr));
}

[[noreturn]] void leave_for_main() noexcept {
  jump(nullptr);
  std::abort();
}

void begin_fibre(context::transfer_t from) noexcept {
  arrived(from);
  Fibre& self = *it.current;
  try {
    self.run();
  } catch (const std::exception& error) {
    fail(std::string("an exception that nobody expected: ") + error.what());
  }
  self.state = State::ended;
  take_turn();
  std::abort();
}

bool is_runnable(const Fibre& fibre) noexcept { return fibre.state == State::runnable; }

std::int64_t distance() noexcept {
  if (it.calm) return 2000;
  const std::uint32_t most = it.distance_max;
  const std::uint32_t kept =
      the_chance.keep([most] { return 1 + static_cast<std::uint32_t>(the_chance.raw() % most); });
  return kept == 0 ? 400 : kept;
}

std::array<Fibre*, fibres_max> runnable_ones(std::size_t& count) noexcept {
  std::array<Fibre*, fibres_max> found;
  count = 0;
  for (std::size_t i = 0; i < it.fibre_count; ++i) {
    if (is_runnable(it.fibres[i])) found[count++] = &it.fibres[i];
  }
  return found;
}

/// Draw 0 is the present fibre, where that can go on.
Fibre* any_of(std::array<Fibre*, fibres_max>& ones, std::size_t count) noexcept {
  for (std::size_t i = 1; i < count; ++i) {
    if (ones[i] == it.current) std::swap(ones[0], ones[i]);
  }
  return ones[the_chance.below(static_cast<std::uint32_t>(count))];
}

Fibre* next_in_round() noexcept {
  for (std::size_t i = 0; i < it.fibre_count; ++i) {
    it.round = (it.round + 1) % it.fibre_count;
    if (is_runnable(it.fibres[it.round])) return &it.fibres[it.round];
  }
  return nullptr;
}

Fibre* of_small_set(std::array<Fibre*, fibres_max>& ones, std::size_t count) noexcept {
  if (the_chance.one_in(12)) {
    it.active[the_chance.below(2)] =
        static_cast<std::uint8_t>(the_chance.below(static_cast<std::uint32_t>(it.fibre_count)));
  }
  std::array<Fibre*, fibres_max> set{};
  std::size_t in_set = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint8_t>(ones[i] - it.fibres.data());
    if (index == it.active[0] || index == it.active[1]) set[in_set++] = ones[i];
  }
  if (in_set != 0) return any_of(set, in_set);
  Fibre* const one = any_of(ones, count);
  it.active[the_chance.below(2)] = static_cast<std::uint8_t>(one - it.fibres.data());
  return one;
}

Fibre* choose() noexcept {
  if (it.calm) return next_in_round();
  std::size_t count = 0;
  auto ones = runnable_ones(count);
  if (count == 0) return nullptr;
  switch (it.manner) {
    case Manner::uniform:
      return any_of(ones, count);
    case Manner::few:
      return *std::max_element(
          ones.begin(), ones.begin() + count,
          [](const Fibre* a, const Fibre* b) { return a->priority < b->priority; });
    case Manner::small_sets:
      return of_small_set(ones, count);
  }
  return nullptr;
}

void see_death(std::size_t process) noexcept {
  Process& one = it.processes[process];
  one.seen_dead = true;
  --it.unseen_deaths;
  it.timed_out_alone = nullptr;
  if (it.tells) std::printf("%26s the death of %s is seen\n", "", one.name);
  const Outside outside;
  if (it.on_seen_dead) it.on_seen_dead(process);
}

void age_deaths() noexcept {
  for (std::size_t i = 0; i < it.process_count; ++i) {
    Process& one = it.processes[i];
    if (one.dead && !one.seen_dead && (one.seen_in == 0 || --one.seen_in == 0)) see_death(i);
  }
}

void wake_sleeper(Fibre& fibre, bool by_peer) noexcept {
  fibre.state = State::runnable;
  fibre.was_woken = by_peer;
  fibre.words = {};
  if (!it.calm && it.manner == Manner::few && it.current != nullptr &&
      fibre.priority > it.current->priority) {
    steps_left = 0;
  }
}

Fibre* any_sleeper() noexcept {
  std::array<Fibre*, fibres_max> found;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < it.fibre_count; ++i) {
    if (it.fibres[i].state == State::sleeps) found[count++] = &it.fibres[i];
  }
  return count == 0 ? nullptr : found[it.calm ? 0 : the_chance.below(count)];
}

void time_out(Fibre& fibre) noexcept {
  it.clock_ns = std::max(it.clock_ns, fibre.deadline_ns);
  wake_sleeper(fibre, false);
  ++it.outcome.time_outs;
  if (it.tells && it.calm_turns < told_while_calm) {
    std::printf("%26s %s's sleep times out\n", "", fibre.name);
  }
}

Fibre* earliest_sleeper() noexcept {
  Fibre* earliest = nullptr;
  for (std::size_t i = 0; i < it.fibre_count; ++i) {
    Fibre& one = it.fibres[i];
    if (one.state != State::sleeps) continue;
    if (earliest == nullptr || one.deadline_ns < earliest->deadline_ns) earliest = &one;
  }
  return earliest;
}

/// None can run. False where none ever will.
bool let_time_pass() noexcept {
  if (it.unseen_deaths != 0 && (it.calm || the_chance.below(2) == 0)) {
    for (std::size_t i = 0; i < it.process_count; ++i) {
      Process& one = it.processes[i];
      if (one.dead && !one.seen_dead) {
        see_death(i);
        return true;
      }
    }
  }
  Fibre* const sleeper = it.calm ? earliest_sleeper() : any_sleeper();
  if (sleeper == nullptr) {
    if (it.unseen_deaths == 0) return false;
    age_deaths();
    return true;
  }
  time_out(*sleeper);
  // A death ends the sleep that the dead process would have ended.
  if (!sleeper->looks_again && it.unseen_deaths == 0) it.timed_out_alone = sleeper;
  return true;
}

void kill_now(std::size_t process) noexcept {
  Process& one = it.processes[process];
  if (one.dead) return;
  if (it.tells) std::printf("%26s %s dies\n", "", one.name);
  one.dead = true;
  one.seen_in = it.calm ? 0 : the_chance.below(24);
  ++it.unseen_deaths;
  ++it.outcome.deaths;
  for (std::size_t i = 0; i < it.fibre_count; ++i) {
    Fibre& fibre = it.fibres[i];
    if (fibre.process != process || fibre.state == State::ended) continue;
    if (fibre.state == State::waits_for_mutex) --it.mutex_waiters;
    fibre.state = State::ended;
    ++it.lines[fibre.last_line].deaths;
    if (it.timed_out_alone == &fibre) it.timed_out_alone = nullptr;
  }
  arenas::clear(process);
}

void die_by_chance() noexcept {
  std::array<std::size_t, processes_max> found;
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < it.process_count; ++i) {
    const Process& one = it.processes[i];
    if (!one.killable || one.dead) continue;
    const bool lives = std::any_of(
        it.fibres.begin(), it.fibres.begin() + it.fibre_count,
        [i](const Fibre& fibre) { return fibre.process == i && fibre.state != State::ended; });
    if (lives) found[count++] = i;
  }
  if (count == 0) return;
  --it.deaths_left;
  kill_now(found[the_chance.below(count)]);
}

/// What comes from outside between two steps.
void let_things_happen() noexcept {
  const std::uint32_t what = the_chance.below(40);
  if (what >= 37 && it.deaths_left != 0) {
    die_by_chance();
  } else if (what == 36) {
    if (Fibre* const one = any_sleeper()) time_out(*one);
  } else if (what == 35) {
    if (Fibre* const one = any_sleeper()) wake_sleeper(*one, true);  // a signal
  } else if (what == 34) {
    it.clock_ns += 70'000'000;
  }
}

bool all_have_ended() noexcept {
  return std::all_of(it.fibres.begin(), it.fibres.begin() + it.fibre_count,
                     [](const Fibre& one) { return one.state == State::ended; });
}

void tell_states() noexcept {
  if (!it.tells) return;
  constexpr std::array<const char*, 5> names = {"absent", "can run", "sleeps", "waits for a mutex",
                                                "has ended"};
  for (std::size_t i = 0; i < it.fibre_count; ++i) {
    const Fibre& one = it.fibres[i];
    std::printf("%26s %s: %s, last at line %u of the words\n", "", one.name,
                names[static_cast<std::size_t>(one.state)], one.last_line);
  }
}

const char* name_of_current() noexcept { return it.current != nullptr ? it.current->name : "-"; }

}  // namespace

std::int64_t steps_left = never;
std::uint32_t chosen_mutant = 0;

// ---- chance

void Chance::begin(std::uint64_t seed) noexcept {
  state_ = seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  replays_ = false;
  draws_.clear();
}

void Chance::replay(const std::vector<std::uint32_t>& draws) {
  replays_ = true;
  next_ = 0;
  replayed_ = draws;
  draws_.clear();
}

void Chance::grow() {
  const Outside outside;
  draws_.reserve(2 * draws_.capacity() + 1024);
}

std::uint64_t Chance::raw() noexcept {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

std::uint32_t Chance::below(std::uint32_t n) {
  if (n <= 1) return 0;
  return keep([this, n] { return static_cast<std::uint32_t>((raw() >> 32) * n >> 32); }) % n;
}

Chance& chance() noexcept { return the_chance; }

// ---- worlds

void begin_world(Manner manner, std::uint32_t switches_max) {
  if (it.stacks == nullptr) {
    void* const at = ::mmap(nullptr, fibres_max * stack_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) std::abort();
    it.stacks = static_cast<std::byte*>(at);
    it.exceptions = reinterpret_cast<ExceptionGlobals*>(abi::__cxa_get_globals());
  }
  for (std::size_t i = 0; i < it.process_count; ++i) arenas::clear(i);
  it.fibre_count = it.process_count = 0;
  it.current = it.left = it.timed_out_alone = nullptr;
  it.clock_ns = 1'000'000'000;
  it.mutex_waiters = it.unseen_deaths = it.deaths_left = 0;
  it.manner = manner;
  it.switches_max = switches_max;
  constexpr std::array<std::uint32_t, 4> reaches = {2, 6, 16, 40};
  it.distance_max = manner == Manner::few ? 120 : reaches[the_chance.below(4)];
  it.lowest_priority = 1000;
  it.active = {0, 1};
  it.calm = false;
  it.calm_turns = 0;
  it.round = 0;
  it.outcome = {};
  it.on_seen_dead = nullptr;
  steps_left = never;
}

std::size_t add_process(const char* name, bool killable) {
  if (it.process_count == processes_max) std::abort();
  it.processes[it.process_count] = {name, killable, false, false, 0};
  return it.process_count++;
}

void add_fibre(std::size_t process, const char* name, const std::function<void()>& run) {
  if (it.fibre_count == fibres_max) std::abort();
  Fibre& fibre = it.fibres[it.fibre_count++];
  fibre.state = State::runnable;
  fibre.process = process;
  fibre.name = name;
  fibre.exceptions = {};
  fibre.words = {};
  fibre.deadline_ns = no_deadline;
  fibre.priority = 1001 + the_chance.below(1000);
  fibre.last_line = 0;
  const Outside outside;
  fibre.run = run;
  fibre.at = context::make_fcontext(stack_of(fibre) + stack_bytes, stack_bytes, begin_fibre);
}

Outcome run_world() {
  if (it.fibre_count != 0) {
    Fibre* const first = choose();
    steps_left = distance();
    jump(first);
    steps_left = never;
  }
  return it.outcome;
}

void allow_deaths(std::uint32_t deaths) { it.deaths_left = deaths; }

void kill(std::size_t process) {
  kill_now(process);
  if (it.current != nullptr && it.current->process == process) take_turn();
}

void fail(const std::string& fault) {
  {
    const Outside outside;
    if (it.outcome.fault.empty()) it.outcome.fault = fault;
  }
  if (it.tells) std::printf("%26s FAULT: %s\n", name_of_current(), fault.c_str());
  if (it.current != nullptr) leave_for_main();
}

bool has_failed() noexcept { return !it.outcome.fault.empty(); }
bool is_dead(std::size_t process) noexcept { return it.processes[process].dead; }
bool is_seen_dead(std::size_t process) noexcept { return it.processes[process].seen_dead; }
void on_seen_dead(std::function<void(std::size_t)> callback) {
  it.on_seen_dead = std::move(callback);
}
std::uint64_t allocations_of(std::size_t process) noexcept { return arenas::live(process); }
std::size_t current_process() noexcept {
  return it.current != nullptr ? it.current->process : arenas::none;
}
const char* current_name() noexcept { return name_of_current(); }
bool is_calm() noexcept { return it.calm; }
void set_judge(Judge judge) noexcept { it.judge = judge; }
bool was_not_woken() noexcept { return it.current != nullptr && it.timed_out_alone == it.current; }
void forget_time_out() noexcept {
  if (it.timed_out_alone == it.current) it.timed_out_alone = nullptr;
}

// ---- stories

void set_telling(bool tells) noexcept { it.tells = tells; }
bool tells() noexcept { return it.tells; }

void tell(const char* format, ...) {
  if (!it.tells) return;
  std::va_list arguments;
  va_start(arguments, format);
  std::printf("%6llu %5u %13s ", static_cast<unsigned long long>(it.outcome.steps),
              it.outcome.switches, name_of_current());
  std::vprintf(format, arguments);
  std::putchar('\n');
  va_end(arguments);
}

std::vector<StepDeaths> steps_and_deaths() {
  std::vector<StepDeaths> all;
  for (const Line& line : it.lines) {
    if (line.steps == 0) continue;
    all.push_back({line.where.function_name(), line.where.line(), line.steps, line.deaths});
  }
  return all;
}

Outside::Outside() noexcept {
  arena_ = reinterpret_cast<void*>(arenas::chosen);
  arenas::chosen = arenas::none;
}
Outside::~Outside() { arenas::chosen = reinterpret_cast<std::size_t>(arena_); }

// ---- what the seam calls

void take_turn() noexcept {
  if (it.current == nullptr) {
    steps_left = never;
    return;
  }
  ++it.outcome.switches;
  if (!it.calm && it.outcome.switches >= it.switches_max) it.calm = true;
  if (it.calm && ++it.calm_turns > calm_turns_max) {
    tell_states();
    fail("no progress, although all are scheduled");
  }
  if (it.unseen_deaths != 0) age_deaths();
  if (!it.calm) {
    if (it.manner == Manner::few && is_runnable(*it.current)) {
      it.current->priority = --it.lowest_priority;
    }
    let_things_happen();
  }
  Fibre* next = choose();
  while (next == nullptr) {
    if (!let_time_pass()) {
      if (!all_have_ended()) fail("all wait for each other");
      leave_for_main();
    }
    next = choose();
  }
  steps_left = distance();
  if (next != it.current) jump(next);
}

namespace {

void note_step_at(std::uint32_t number, const std::source_location& where) noexcept {
  ++it.outcome.steps;
  Line& line = it.lines[number];
  if (line.steps++ == 0) line.where = where;
  if (it.current != nullptr) it.current->last_line = number;
}

}  // namespace

void note_step(const std::source_location& where) noexcept {
  note_step_at(where.line() % lines_of_words, where);
}

void note_kernel_step(const std::source_location& where) noexcept {
  note_step_at(lines_of_words + where.line() % (lines_max - lines_of_words), where);
}

void note_change(const void* word, std::size_t bytes, std::uint64_t value) noexcept {
  if (it.timed_out_alone != it.current) it.timed_out_alone = nullptr;
  if (it.judge != nullptr && it.current != nullptr) it.judge(word, bytes, value);
}

std::uint64_t now_ns() noexcept { return it.clock_ns += 100; }

std::uint64_t fibre_id() noexcept {
  return it.current != nullptr ? static_cast<std::uint64_t>(it.current - it.fibres.data()) + 1 : 0;
}

bool sleep_on(const void* word, const void* other, int timeout_ms) noexcept {
  Fibre& self = *it.current;
  if (!it.calm || it.calm_turns < told_while_calm) {
    tell("sleeps on %p%s, at most %d ms", word, other != nullptr ? " and another word" : "",
         timeout_ms);
  }
  self.state = State::sleeps;
  self.words = {word, other};
  self.deadline_ns = it.clock_ns + static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
  self.was_woken = false;
  self.looks_again = timeout_ms <= looks_again_ms;
  if (it.timed_out_alone == &self) it.timed_out_alone = nullptr;
  take_turn();
  return self.was_woken;
}

void wake(const void* word) noexcept {
  ++it.outcome.wakes;
  for (std::size_t i = 0; i < it.fibre_count; ++i) {
    Fibre& one = it.fibres[i];
    if (one.state == State::sleeps && (one.words[0] == word || one.words[1] == word)) {
      tell("wakes %s", one.name);
      wake_sleeper(one, true);
    }
  }
}

void wait_for_mutex(const void* mutex) noexcept {
  Fibre& self = *it.current;
  self.state = State::waits_for_mutex;
  self.words = {mutex, nullptr};
  ++it.mutex_waiters;
  take_turn();
}

void mutex_is_free(const void* mutex) noexcept {
  if (it.mutex_waiters == 0) return;
  for (std::size_t i = 0; i < it.fibre_count; ++i) {
    Fibre& one = it.fibres[i];
    if (one.state != State::waits_for_mutex || one.words[0] != mutex) continue;
    one.state = State::runnable;
    one.words = {};
    --it.mutex_waiters;
  }
}

}  // namespace batchcast::simulation
