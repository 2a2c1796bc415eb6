// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/futex.hpp>
#include "ring/writer/writer.hpp"

#include <array>

namespace batchcast::inline v0_1 {

/// Wake words bumped under the admission lock; their sleepers are woken after it, so that nobody is
/// woken only to wait for the lock, and no system call is made under it.
struct RingWriter::PendingWakes {
  std::array<const Shared32*, limits::consumers_max> words;
  std::size_t count = 0;

  PendingWakes() noexcept {}  // leaves the array alone: it is written before it is read
  PendingWakes(const PendingWakes&) = delete;
  PendingWakes& operator=(const PendingWakes&) = delete;

  void add(Shared32& wake_word) noexcept {
    ordered::bump(wake_word);
    words[count++] = &wake_word;
  }
  void wake() const noexcept {
    for (std::size_t i = 0; i < count; ++i) futex_wake(*words[i]);
  }
};

}  // namespace batchcast::inline v0_1
