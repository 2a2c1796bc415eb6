// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/window.hpp>

#include <atomic>
#include <cstdint>
#include <span>

namespace batchcast::inline v0_1 {

/// Where a reader finds the sample ids. `shown` is the mapping that the trainer has pointers into.
/// Once `written` is set the trainer has written there, and `apart` has the ring's ids. To be asked
/// once the samples are known to be published.
struct SampleIds {
  FieldWindow shown;
  FieldWindow apart;
  const std::atomic<std::uint32_t>* written = nullptr;  ///< none: `shown` has the ring's for good

  SampleIds(FieldWindow window) : shown(window) {}  // NOLINT(google-explicit-constructor)
  SampleIds(FieldWindow window, FieldWindow other, const std::atomic<std::uint32_t>& flag)
      : shown(window), apart(other), written(&flag) {}

  [[nodiscard]] std::span<const std::uint64_t> at(std::uint64_t position,
                                                  std::uint64_t size) const noexcept {
    const bool away = written != nullptr && written->load() != 0;
    return {reinterpret_cast<const std::uint64_t*>((away ? apart : shown).at(position)), size};
  }
};

}  // namespace batchcast::inline v0_1
