// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/arena.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace batchcast::simulation::arenas {
namespace {

alignas(64) std::byte memory[count * bytes];
std::array<std::size_t, count> used;
std::array<std::uint64_t, count> living;

void* take(std::size_t size, std::size_t alignment) {
  const std::size_t from = (used[chosen] + alignment - 1) / alignment * alignment;
  if (size > bytes - from) {
    std::fputs("simulation: a process has more memory than its arena\n", stderr);
    std::abort();
  }
  used[chosen] = from + size;
  ++living[chosen];
  return memory + chosen * bytes + from;
}

bool give_back(void* at) noexcept {
  const auto* const byte = static_cast<std::byte*>(at);
  if (byte < memory || byte >= memory + sizeof memory) return false;
  --living[static_cast<std::size_t>(byte - memory) / bytes];
  return true;
}

}  // namespace

std::size_t chosen = none;

void clear(std::size_t arena) noexcept { used[arena] = living[arena] = 0; }

std::uint64_t live(std::size_t arena) noexcept { return living[arena]; }

void* allocate(std::size_t size, std::size_t alignment) {
  if (chosen != none) return take(size, alignment);
  void* const at =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size == 0 ? 1 : size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

void release(void* at) noexcept {
  if (!give_back(at)) std::free(at);
}

}  // namespace batchcast::simulation::arenas

using batchcast::simulation::arenas::allocate;
using batchcast::simulation::arenas::release;

void* operator new(std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new[](std::size_t size) { return allocate(size, alignof(std::max_align_t)); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { release(at); }
void operator delete[](void* at) noexcept { release(at); }
void operator delete(void* at, std::size_t) noexcept { release(at); }
void operator delete[](void* at, std::size_t) noexcept { release(at); }
void operator delete(void* at, std::align_val_t) noexcept { release(at); }
void operator delete[](void* at, std::align_val_t) noexcept { release(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { release(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { release(at); }
