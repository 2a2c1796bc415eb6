// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/process_end.hpp>

#include <batchcast/core/inline.hpp>

#include <atomic>
#include <cstdlib>

namespace batchcast::inline v0_1::detail {
namespace process_end {

inline constinit std::atomic<bool> begun{false};

}  // namespace process_end

BATCHCAST_INLINE bool process_ends() noexcept {
  return process_end::begun.load(std::memory_order_relaxed);
}

BATCHCAST_INLINE void note_process_end() noexcept { process_end::begun.store(true); }

BATCHCAST_INLINE void watch_process_end() noexcept {
  static const int registered = std::atexit(&note_process_end);
  static_cast<void>(registered);
}

}  // namespace batchcast::inline v0_1::detail
