// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <source_location>
#include <string_view>

// Relacy's headers redefine names of <atomic>, `new` and `malloc` as macros. All that the driver
// needs of the library comes before them, and the macros end here.
#include <batchcast/ring/cursor.hpp>

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wall"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC system_header
#include <relacy/relacy.hpp>
#pragma GCC diagnostic pop
#undef memory_order_relaxed
#undef memory_order_consume
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef VAR

// Words whose accesses Relacy judges, and the mutants: an access of cursor.hpp with a weaker order
// than it names.
namespace batchcast::relacy {

using Where = std::source_location;

enum class Access : std::uint8_t { load, store, add, fence };

/// Where cursor.hpp names an order.
struct Site {
  std::uint32_t line;
  Access access;
  const char* function;
  std::memory_order order;

  friend bool operator==(const Site& a, const Site& b) noexcept {
    return a.line == b.line && a.access == b.access;
  }
  friend bool operator<(const Site& a, const Site& b) noexcept {
    return a.line != b.line ? a.line < b.line : a.access < b.access;
  }
};

/// A site with another order; a fence as `relaxed` is none. line 0: no mutant.
struct Mutant {
  std::uint32_t line = 0;
  Access access = Access::load;
  std::memory_order order = std::memory_order_relaxed;
};

/// The sites that a test comes by. While a test runs, all memory is Relacy's: it takes none.
struct Seen {
  std::array<Site, 128> sites{};
  std::size_t count = 0;
  bool notes = false;

  void note(const Site& site) noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (sites[i] == site) return;
    }
    if (count < sites.size()) sites[count++] = site;
  }
};

inline Mutant chosen;
inline Seen seen;

inline bool is_here(const Where& where) {
  return std::string_view(where.file_name()).ends_with("ring/cursor.hpp");
}

inline std::memory_order order_at(Access access, std::memory_order order, const Where& where) {
  if (seen.notes && is_here(where)) {
    seen.note({where.line(), access, where.function_name(), order});
  }
  const bool is_chosen =
      chosen.line != 0 && chosen.line == where.line() && chosen.access == access && is_here(where);
  return is_chosen ? chosen.order : order;
}

inline rl::memory_order relacys(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return rl::mo_relaxed;
    case std::memory_order_acquire:
    case std::memory_order_consume:
      return rl::mo_acquire;
    case std::memory_order_release:
      return rl::mo_release;
    case std::memory_order_acq_rel:
      return rl::mo_acq_rel;
    case std::memory_order_seq_cst:
      break;
  }
  return rl::mo_seq_cst;
}

inline rl::debug_info info(const Where& where) {
  return rl::debug_info(where.function_name(), where.file_name(), where.line());
}

template <class T>
class Word {
 public:
  using value_type = T;

  Word() : word_(T{}) {}
  [[nodiscard]] T load(std::memory_order order, Where where = Where::current()) const {
    return word_.load(relacys(order_at(Access::load, order, where)), info(where));
  }
  void store(T value, std::memory_order order, Where where = Where::current()) {
    word_.store(value, relacys(order_at(Access::store, order, where)), info(where));
  }
  T fetch_add(T add, std::memory_order order, Where where = Where::current()) {
    return word_.fetch_add(add, relacys(order_at(Access::add, order, where)), info(where));
  }

 private:
  rl::atomic<T> word_;
};
using Word64 = Word<std::uint64_t>;
using Word32 = Word<std::uint32_t>;

/// The kernel's half of a futex: the comparison and the waking of waiters are under one lock. It
/// compares behind a full barrier, as Linux does.
class Futex {
 public:
  void wait(const Word32& word, std::uint32_t expected) {
    lock_.lock(RL_INFO);
    while (word.load(std::memory_order_seq_cst) == expected) sleepers_.wait(lock_, RL_INFO);
    lock_.unlock(RL_INFO);
  }
  void wake() {
    lock_.lock(RL_INFO);
    lock_.unlock(RL_INFO);
    sleepers_.notify_all(RL_INFO);
  }

 private:
  rl::mutex lock_;
  rl::condition_variable sleepers_;
};

}  // namespace batchcast::relacy

namespace batchcast::inline v0_1::ordered {

inline void acquire_fence(std::source_location where) noexcept {
  const auto order = relacy::order_at(relacy::Access::fence, std::memory_order_acquire, where);
  if (order != std::memory_order_relaxed) {
    rl::atomic_thread_fence(rl::mo_acquire, relacy::info(where));
  }
}
inline void release_fence(std::source_location where) noexcept {
  const auto order = relacy::order_at(relacy::Access::fence, std::memory_order_release, where);
  if (order != std::memory_order_relaxed) {
    rl::atomic_thread_fence(rl::mo_release, relacy::info(where));
  }
}

}  // namespace batchcast::inline v0_1::ordered
