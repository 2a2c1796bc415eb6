// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

// The heaps of simulated processes. `operator new` takes memory of the arena that is chosen; what a
// process has when it dies is dropped with its arena, and no destructor runs.
namespace batchcast::simulation::arenas {

inline constexpr std::size_t count = 25;
inline constexpr std::size_t bytes = std::size_t{4} << 20;
inline constexpr std::size_t none = ~std::size_t{0};

/// Where `operator new` takes memory; `none`: from malloc.
extern std::size_t chosen;

/// Empties an arena.
void clear(std::size_t arena) noexcept;
/// Allocations in it that were not freed.
[[nodiscard]] std::uint64_t live(std::size_t arena) noexcept;

}  // namespace batchcast::simulation::arenas
