// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

// What the kernel does for the simulated processes: descriptors, the small segments behind them,
// the locks of members, and the one life file of the stream. All of it outlives a process, but for
// its descriptors.
namespace batchcast::simulation::kernel {

/// Forgets the last world.
void begin() noexcept;
/// The memory of a segment.
[[nodiscard]] std::byte* memory_of(int fd) noexcept;
/// As a descriptor that is sent: the other process has its own from then on.
[[nodiscard]] int sent_to(std::size_t process, int fd) noexcept;
/// How often a life file was written.
[[nodiscard]] std::uint64_t writes() noexcept;

}  // namespace batchcast::simulation::kernel
