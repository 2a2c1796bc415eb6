// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1::observe {

/// What all processors of this machine did since it started, in the kernel's ticks.
struct ProcessorTicks {
  std::uint64_t idle = 0;
  std::uint64_t all = 0;
  unsigned processors = 0;  ///< 0: the kernel does not say
};

/// Reads /proc/stat below `root`. Zeros where there is none.
[[nodiscard]] ProcessorTicks processor_ticks(const std::string& root = "");

/// How many processors were idle on average between two looks; negative where that is not known.
[[nodiscard]] double idle_between(const ProcessorTicks& before, const ProcessorTicks& now) noexcept;

/// The share of the last ten seconds that some thread of this machine waited for a processor, from
/// 0 to 1, by /proc/pressure/cpu below `root`. Negative where the kernel does not say.
[[nodiscard]] double processor_pressure(const std::string& root = "");

}  // namespace batchcast::inline v0_1::observe
