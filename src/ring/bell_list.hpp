// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/futex.hpp>
#include <batchcast/ring/writer.hpp>

#include <array>

namespace batchcast::inline v0_1 {

/// Bells rung under the admission lock; their sleepers are woken after it, so that nobody is woken
/// only to wait for the lock, and no system call is made under it.
struct RingWriter::BellList {
  std::array<const Shared32*, limits::consumers_max> words;
  std::size_t count = 0;

  BellList() noexcept {}  // leaves the array alone: it is written before it is read
  BellList(const BellList&) = delete;
  BellList& operator=(const BellList&) = delete;

  void ring(Shared32& bell) noexcept {
    order::bump(bell);
    words[count++] = &bell;
  }
  void wake() const noexcept {
    for (std::size_t i = 0; i < count; ++i) futex_wake(*words[i]);
  }
};

}  // namespace batchcast::inline v0_1
