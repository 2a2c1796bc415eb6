// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "relacy/words.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <vector>

// Small programs of two threads that call the functions of cursor.hpp with Relacy's words, which
// give each load any value that the orders allow. What is asserted is what docs/protocol.md
// promises. Sample bytes are relaxed words.
namespace batchcast::relacy {
namespace {

namespace o = batchcast::ordered;
constexpr std::uint64_t id = 7;

struct Board {
  Word64 published, claimed, kept_from, epochs_announced, valid_from, sleeping_on, wake_at,
      rows_sleeping_on, rows_wake_at, row_wait_sequence, row_wait_position;
  Word32 state;
};
struct ADesk {
  Word64 released, wake_at, skipping, wake_at_row, reading;
  Word32 release_sequence, sleeping, wake_axis;
};
struct Entry {
  Word64 consumer_id, group_lost, lost_from, ends_epoch, ends_at;
  Word32 wake_word, group_sequence;
};
struct Axis {
  Word64 published_rows, waiting_rows;
};

template <class Test>
struct Two : rl::test_suite<Test, 2> {};

std::uint64_t byte(const Word64& word) { return word.load(std::memory_order_relaxed); }
void put(Word64& word, std::uint64_t value) { word.store(value, std::memory_order_relaxed); }

/// What is published is complete, also its epoch's end.
struct PublishAndTake : Two<PublishAndTake> {
  Board board;
  Word64 sample, end;

  void thread(unsigned index) {
    if (index == 0) {
      o::claim(board, 1, 0);
      put(sample, 1);
      put(end, 1);
      o::announce(board, 1);
      o::publish(board, 1);
    } else {
      const std::uint64_t published = o::load_published(board);
      if (published != 0) {
        RL_ASSERT(byte(sample) == 1);
        RL_ASSERT(o::load_announced(board) == 1);
      }
      if (o::load_announced(board) != 0) RL_ASSERT(byte(end) == 1);
    }
  }
};

/// A consumer that sleeps until a sample is published is woken.
struct SampleWakes : Two<SampleWakes> {
  Board board;
  ADesk desk;
  Entry entry;
  Futex futex;

  void thread(unsigned index) {
    if (index == 0) {
      o::publish(board, 1);
      if (o::consumer_waits_for(desk, 1)) {
        o::bump(entry.wake_word);
        futex.wake();
      }
    } else {
      while (o::load_published(board) < 1) {
        const std::uint32_t slept_at = o::load_word(entry.wake_word);
        o::consumer_sleeps_until(desk, 1);
        if (o::look_again_published(board) < 1) futex.wait(entry.wake_word, slept_at);
        o::consumer_wakes(desk);
      }
    }
  }
};

/// The same for a consumer that slept before, for another position.
struct SampleWakesAgain : Two<SampleWakesAgain> {
  Board board;
  ADesk desk;
  Entry entry;
  Futex futex;

  void thread(unsigned index) {
    if (index == 0) {
      for (std::uint64_t end = 1; end <= 2; ++end) {
        o::publish(board, end);
        if (o::consumer_waits_for(desk, end)) {
          o::bump(entry.wake_word);
          futex.wake();
        }
      }
    } else {
      for (std::uint64_t wanted = 1; wanted <= 2; ++wanted) {
        while (o::load_published(board) < wanted) {
          const std::uint32_t slept_at = o::load_word(entry.wake_word);
          o::consumer_sleeps_until(desk, wanted);
          if (o::look_again_published(board) < wanted) futex.wait(entry.wake_word, slept_at);
          o::consumer_wakes(desk);
        }
      }
    }
  }
};

/// The same where the stream ends, or an epoch's end is announced. What the state text says is
/// complete.
template <bool state>
struct EndWakes : Two<EndWakes<state>> {
  Board board;
  ADesk desk;
  Entry entry;
  Word64 end_text;
  Futex futex;

  [[nodiscard]] bool has_come() const {
    if constexpr (state) return o::load_state(board) == StreamState::stopped;
    return o::load_announced(board) != 0;
  }
  void thread(unsigned index) {
    if (index == 0) {
      put(end_text, 1);
      if constexpr (state) {
        o::store_state(board, StreamState::stopped);
      } else {
        o::announce(board, 1);
      }
      if (o::consumer_sleeps(desk)) {
        o::bump(entry.wake_word);
        futex.wake();
      }
    } else {
      while (!has_come()) {
        const std::uint32_t slept_at = o::load_word(entry.wake_word);
        o::consumer_sleeps_until(desk, limits::position_max);
        if (!has_come()) futex.wait(entry.wake_word, slept_at);
        o::consumer_wakes(desk);
      }
      RL_ASSERT(byte(end_text) == 1);
    }
  }
};

/// A producer that sleeps until a consumer has released a sample is woken, and what the consumer
/// read of that sample was read before it is overwritten.
template <bool rows>
struct ReleaseWakes : Two<ReleaseWakes<rows>> {
  Board board;
  ADesk desk;
  Word64 sample;
  Futex futex;

  void before() { put(sample, 1); }
  void thread(unsigned index) {
    if (index == 0) {
      while (o::load_released(desk) < 1) {
        const std::uint32_t sequence = o::load_word(desk.release_sequence);
        if constexpr (rows) {
          o::producer_sleeps_for_rows(board, id, 1);
        } else {
          o::producer_sleeps(board, id, 1);
        }
        if (o::load_released(desk) < 1) futex.wait(desk.release_sequence, sequence);
        rows ? o::producer_wakes_for_rows(board) : o::producer_wakes(board);
      }
      put(sample, 2);
    } else {
      RL_ASSERT(byte(sample) == 1);
      if (o::release(desk, board, id, 1)) futex.wake();
    }
  }
};

template <bool rows>
void announce_sleep(Board& board) {
  if constexpr (rows) {
    o::producer_sleeps_for_rows(board, id, 1);
  } else {
    o::producer_sleeps(board, id, 1);
  }
}

/// The same where the consumer skips the rest of an epoch, or comes to the end of what it skips.
template <bool rows, bool ends>
struct SkipWakes : Two<SkipWakes<rows, ends>> {
  Board board;
  ADesk desk;
  Futex futex;

  [[nodiscard]] bool has_come() const {
    return ends ? o::load_released(desk) == 2 : o::load_skipping(desk) != 0;
  }
  void thread(unsigned index) {
    if (index == 0) {
      while (!has_come()) {
        const std::uint32_t sequence = o::load_word(desk.release_sequence);
        announce_sleep<rows>(board);
        if (!has_come()) futex.wait(desk.release_sequence, sequence);
      }
    } else {
      const bool wakes = ends ? o::end_skip(desk, board, id, 2) : o::skip_epoch(desk, board, id, 0);
      if (wakes) futex.wake();
    }
  }
};

/// The producer never sees a consumer that neither skips nor has released what it skipped.
struct SkipEnds : Two<SkipEnds> {
  Board board;
  ADesk desk;

  void thread(unsigned index) {
    if (index == 0) {
      const std::uint64_t skipped = o::load_skipping(desk);
      const std::uint64_t skips = o::load_skipping(desk);
      if (skipped != 0 && skips == 0) RL_ASSERT(o::load_released(desk) == 2);
    } else {
      static_cast<void>(o::skip_epoch(desk, board, id, 0));
      static_cast<void>(o::end_skip(desk, board, id, 2));
    }
  }
};

/// In lockstep nothing is overwritten that the consumer still reads.
struct Gate : Two<Gate> {
  Board board;
  ADesk desk;
  Word64 sample;

  void before() {
    put(sample, 1);
    o::publish(board, 1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      if (o::load_released(desk) < 1) return;
      o::claim(board, 2, 1);
      put(sample, 2);
      o::publish(board, 2);
    } else {
      RL_ASSERT(byte(sample) == 1);
      static_cast<void>(o::release(desk, board, id, 1));
      if (o::load_published(board) == 2) RL_ASSERT(byte(sample) == 2);
    }
  }
};

/// At free pace a copy that was overwritten meanwhile is found to be so.
struct FreePace : Two<FreePace> {
  Board board;
  Word64 sample;

  void before() {
    put(sample, 1);
    o::publish(board, 1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      o::claim(board, 2, 1);
      put(sample, 2);
    } else {
      const std::uint64_t copy = byte(sample);
      if (o::load_kept_from_after_reading(board) <= 0) RL_ASSERT(copy == 1);
    }
  }
};

/// Who missed samples goes on at one that is there.
struct Miss : Two<Miss> {
  Board board;
  Word64 valid_from;

  void thread(unsigned index) {
    if (index == 0) {
      o::set_release(valid_from, 5);
      o::claim(board, 9, 5);
      o::publish(board, 9);
    } else {
      if (o::load_published(board) == 9) {
        RL_ASSERT(o::load_kept_from(board) == 5);
        RL_ASSERT(o::load_claimed(board) == 9);
        RL_ASSERT(o::get_acquire(valid_from) == 5);
      }
    }
  }
};

/// A consumer that was evicted learns it before it believes what was overwritten.
struct Eviction : Two<Eviction> {
  Entry entry;
  Word64 sample;

  void before() {
    put(sample, 1);
    o::set(entry.consumer_id, id);
  }
  void thread(unsigned index) {
    if (index == 0) {
      o::revoke(entry);
      put(sample, 2);
    } else {
      const std::uint64_t read = byte(sample);
      if (o::load_consumer_id_after_reading(entry) == id) RL_ASSERT(read == 1);
    }
  }
};

/// An epoch's entry on the board, which the end of a later epoch replaces: EpochLedger::announce
/// and ReadCursor::announced_end.
struct EpochsOnTheBoard : Two<EpochsOnTheBoard> {
  Board board;
  Word64 epoch_plus_one, end;

  void announce(std::uint64_t epoch) {
    o::set_release(epoch_plus_one, 0);
    o::release_fence();
    o::set(end, 10 * (epoch + 1));
    o::set_release(epoch_plus_one, epoch + 1);
    o::announce(board, epoch + 1);
  }
  void thread(unsigned index) {
    if (index == 0) {
      announce(0);
      announce(1);
    } else {
      const std::uint64_t epoch = 0;
      if (o::load_announced(board) <= epoch) return;
      if (o::get_acquire(epoch_plus_one) != epoch + 1) return;
      const std::uint64_t found = o::get_acquire(end);
      if (o::get(epoch_plus_one) != epoch + 1) return;
      RL_ASSERT(found == 10);
    }
  }
};

/// A rank that begins an epoch, and the loss of another rank: one of the two sees the other.
struct GroupLoses : Two<GroupLoses> {
  Entry entry;
  ADesk desk;
  std::array<std::uint64_t, 2> saw{};

  void thread(unsigned index) {
    if (index == 0) {
      o::lose_rank(entry, 3, 5);
      saw[0] = o::load_reading(desk);
    } else {
      o::set_reading(desk, 1);
      saw[1] = o::load_lost(entry);
      if (saw[1] != 0) RL_ASSERT(o::get(entry.lost_from) == 5);
    }
  }
  void after() { RL_ASSERT(saw[0] != 0 || saw[1] != 0); }
};

/// News on a rank's entry wake it, and are complete.
struct GroupNews : Two<GroupNews> {
  Board board;
  Entry entry;
  ADesk desk;
  Futex futex;

  void thread(unsigned index) {
    if (index == 0) {
      o::set(entry.ends_at, 4);
      o::set_release(entry.ends_epoch, 1);
      o::bump(entry.group_sequence);
      o::bump(entry.wake_word);
      futex.wake();
    } else {
      const std::uint32_t seen_at = o::load_word(entry.group_sequence);
      const std::uint32_t slept_at = o::load_word(entry.wake_word);
      if (o::get_acquire(entry.ends_epoch) != 1) {
        if (o::load_word(entry.group_sequence) == seen_at) futex.wait(entry.wake_word, slept_at);
        if (o::load_word(entry.wake_word) == slept_at) return;
      }
      RL_ASSERT(o::get_acquire(entry.ends_epoch) == 1 && o::get(entry.ends_at) == 4);
    }
  }
};

/// Which position waits for rows: read as one announcement, and a sleeping consumer is woken.
struct RowWait : Two<RowWait> {
  Board board;
  ADesk desk;
  Entry entry;
  Axis axis;
  Futex futex;

  void announce(std::uint64_t position) {
    o::begin_row_wait(board);
    o::set(axis.waiting_rows, 10 * position);
    o::end_row_wait(board, position);
  }
  void thread(unsigned index) {
    if (index == 0) {
      announce(1);
      announce(2);
      if (o::consumer_sleeps(desk)) {
        o::bump(entry.wake_word);
        futex.wake();
      }
    } else {
      const std::uint64_t sequence = o::load_row_wait(board);
      const std::uint64_t position = o::get_acquire(board.row_wait_position);
      const std::uint64_t rows = o::get(axis.waiting_rows);
      if (o::is_row_wait(board, sequence)) RL_ASSERT(rows == 10 * position);
      while (o::load_row_wait(board) != 4) {
        const std::uint32_t slept_at = o::load_word(entry.wake_word);
        o::consumer_sleeps_until(desk, limits::position_max);
        if (o::load_row_wait(board) != 4) futex.wait(entry.wake_word, slept_at);
      }
      RL_ASSERT(o::get_acquire(board.row_wait_position) == 2);
    }
  }
};

/// A consumer that sleeps until it has rows is woken.
struct RowsWake : Two<RowsWake> {
  Board board;
  ADesk desk;
  Entry entry;
  Axis axis;
  Futex futex;

  void thread(unsigned index) {
    if (index == 0) {
      o::set_release(axis.published_rows, 5);
      o::publish(board, 1);
      if (o::consumer_waits_for(desk, 1) || o::consumer_waits_for_rows(desk, &axis, 1)) {
        o::bump(entry.wake_word);
        futex.wake();
      }
    } else {
      while (o::load_published_rows(axis) < 5) {
        const std::uint32_t slept_at = o::load_word(entry.wake_word);
        o::consumer_wants_row(desk, 1, 5);
        o::consumer_sleeps_until(desk, 9);
        // In this order: rows are published before `published`.
        const bool has_come =
            o::look_again_published(board) >= 9 || o::load_published_rows(axis) >= 5;
        if (!has_come) futex.wait(entry.wake_word, slept_at);
      }
    }
  }
};

// ---- running them

struct Test {
  const char* name;
  bool (*run)(rl::test_params&);
  std::set<Site> sites = {};
};

template <class One>
Test test(const char* name) {
  return {name, [](rl::test_params& params) { return rl::simulate<One>(params); }};
}

std::vector<Test> all_tests() {
  return {test<PublishAndTake>("publish and take"),
          test<SampleWakes>("a sample wakes"),
          test<SampleWakesAgain>("a sample wakes again"),
          test<EndWakes<true>>("the stream's end wakes"),
          test<EndWakes<false>>("an epoch's end wakes"),
          test<ReleaseWakes<false>>("a release wakes"),
          test<ReleaseWakes<true>>("a release wakes who waits for rows"),
          test<SkipWakes<false, false>>("a skip wakes"),
          test<SkipWakes<false, true>>("the end of a skip wakes"),
          test<SkipWakes<true, false>>("a skip wakes who waits for rows"),
          test<SkipWakes<true, true>>("the end of a skip wakes who waits for rows"),
          test<SkipEnds>("the end of a skip"),
          test<Gate>("the gate"),
          test<FreePace>("free pace"),
          test<Miss>("after a miss"),
          test<Eviction>("an eviction"),
          test<EpochsOnTheBoard>("epochs on the board"),
          test<GroupLoses>("a group loses a rank"),
          test<GroupNews>("news of a group"),
          test<RowWait>("who waits for rows"),
          test<RowsWake>("rows wake")};
}

bool holds(const Test& one, rl::iteration_t iterations, bool tells) {
  std::ostream nowhere(nullptr);
  rl::test_params params;
  params.iteration_count = iterations;
  params.progress_stream = &nowhere;
  params.output_stream = tells ? &std::cout : &nowhere;
  params.progress_output_period = 0x7fffffff;
  params.search_type = rl::sched_random;
  return one.run(params);
}

const char* name_of(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

std::vector<std::memory_order> weaker(const Site& site) {
  const auto relaxed = std::memory_order_relaxed;
  if (site.order == relaxed) return {};
  if (site.order != std::memory_order_seq_cst) return {relaxed};
  switch (site.access) {
    case Access::load:
      return {std::memory_order_acquire, relaxed};
    case Access::store:
      return {std::memory_order_release, relaxed};
    case Access::add:
      return {std::memory_order_acq_rel, relaxed};
    case Access::fence:
      break;
  }
  return {relaxed};
}

const char* name_of(Access access) {
  constexpr std::array<const char*, 4> names = {"load", "store", "add", "fence"};
  return names[static_cast<std::size_t>(access)];
}

std::string short_name(std::string function) {
  function = function.substr(0, function.find('('));
  const std::size_t at = function.rfind("::");
  return at == std::string::npos ? function : function.substr(at + 2);
}

/// Why an order stays although none of these programs needs it.
struct Explained {
  const char* function;
  Access access;
  std::memory_order weaker;
  const char* why;
};
constexpr const char* reads_before =
    "Relacy has no load that sees a later store: a sample would be overwritten while it is read";
constexpr const char* one_of_two =
    "for Relacy either pair suffices, of fences or of seq_cst; C++ promises it of the fences";
constexpr const char* after_sleeping =
    "it is loaded after `sleeping`, whose order in consumer_waits_for suffices";
constexpr Explained explained[] = {
#include "explained.inc"
};

const char* why(const Site& site, std::memory_order order) {
  for (const Explained& one : explained) {
    const bool is_it = short_name(site.function) == one.function && site.access == one.access &&
                       (one.weaker == order || one.weaker == std::memory_order_relaxed);
    if (is_it) return one.why;
  }
  return nullptr;
}

/// Which test catches the mutant; null: none.
const char* caught_by(const std::vector<Test>& tests, const Site& site, rl::iteration_t count) {
  for (const Test& one : tests) {
    if (one.sites.contains(site) && !holds(one, count, false)) return one.name;
  }
  return nullptr;
}

int try_mutants(std::vector<Test>& tests, rl::iteration_t count) {
  std::set<Site> sites;
  for (Test& one : tests) {
    seen = {.notes = true};
    static_cast<void>(holds(one, 200, false));
    one.sites.insert(seen.sites.begin(), seen.sites.begin() + seen.count);
    seen = {};
    sites.insert(one.sites.begin(), one.sites.end());
  }
  int mutants = 0;
  int caught = 0;
  int survived = 0;
  for (const Site& site : sites) {
    for (const std::memory_order order : weaker(site)) {
      chosen = {site.line, site.access, order};
      const char* const test = caught_by(tests, site, count);
      chosen = {};
      const char* const reason = test == nullptr ? why(site, order) : nullptr;
      std::printf("%s %s line %u: %s %s as %s: %s\n",
                  test != nullptr     ? "caught"
                  : reason != nullptr ? "explained"
                                      : "SURVIVED",
                  short_name(site.function).c_str(), site.line, name_of(site.order),
                  name_of(site.access), name_of(order),
                  test != nullptr     ? test
                  : reason != nullptr ? reason
                                      : "no test needs it");
      std::fflush(stdout);
      ++mutants;
      caught += test != nullptr ? 1 : 0;
      survived += test == nullptr && reason == nullptr ? 1 : 0;
    }
  }
  std::printf("%d weaker orders: %d caught, %d explained, %d survived\n", mutants, caught,
              mutants - caught - survived, survived);
  return survived == 0 ? 0 : 1;
}

}  // namespace
}  // namespace batchcast::relacy

int main(int argc, char** argv) {
  using namespace batchcast::relacy;
  std::vector<Test> tests = all_tests();
  const std::string word = argc > 1 ? argv[1] : "";
  const auto count =
      static_cast<rl::iteration_t>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 20'000);
  if (word == "--mutants") return try_mutants(tests, count);
  int failed = 0;
  for (const Test& one : tests) {
    const bool held = holds(one, count, true);
    std::printf("%s: %s\n", held ? "holds" : "FAILS", one.name);
    failed += held ? 0 : 1;
  }
  return failed == 0 ? 0 : 1;
}
