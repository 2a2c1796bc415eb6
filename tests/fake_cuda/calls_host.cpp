// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Page-locked memory of the host.
#include "world.hpp"

#include <sys/mman.h>

#include <cinttypes>
#include <cstdio>

using namespace batchcast::fake_cuda;

namespace {

constexpr std::uintptr_t page_bytes = 4096;
// The kernel's module allocates its table of pages at once, which Linux limits to 2 GiB.
constexpr std::uint64_t registration_bytes_max = (std::uint64_t{512} << 30) - 1;

enum class Mapped { no, read_only, read_write };

/// The least that any page of the range allows, as /proc/self/maps says.
Mapped protection_of(std::uintptr_t address, std::uint64_t bytes) {
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return Mapped::no;
  Mapped result = Mapped::read_write;
  std::uintptr_t reached = address;
  char line[512];
  while (reached < address + bytes && std::fgets(line, sizeof line, maps) != nullptr) {
    std::uintptr_t begin = 0, end = 0;
    char allowed[8] = {};
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &begin, &end, allowed) != 3) continue;
    if (end <= reached) continue;
    if (begin > reached || allowed[0] != 'r') break;
    if (allowed[1] != 'w') result = Mapped::read_only;
    reached = end;
  }
  std::fclose(maps);
  return reached < address + bytes ? Mapped::no : result;
}

bool overlaps(const World& world, std::uintptr_t address, std::uint64_t bytes) {
  auto at = world.registered.upper_bound(address);
  if (at != world.registered.end() && at->first - address < bytes) return true;
  return at != world.registered.begin() &&
         address - std::prev(at)->first < std::prev(at)->second.bytes;
}

void add(World& world, std::uintptr_t address, const Registered& piece) {
  world.registered.emplace(address, piece);
}

}  // namespace

extern "C" {

CUresult cuMemHostRegister_v2(void* data, std::size_t bytes, unsigned flags) {
  return unsafe_with_context([&](World& world, Lock&, Context&) {
    const auto address = reinterpret_cast<std::uintptr_t>(data);
    const bool read_only = (flags & CU_MEMHOSTREGISTER_READ_ONLY) != 0;
    constexpr unsigned known =
        CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_READ_ONLY;
    // The real one takes any address and locks whole pages; nobody here has a reason to.
    if (data == nullptr || bytes == 0 || (flags & ~known) != 0 || address % page_bytes != 0 ||
        bytes % page_bytes != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (read_only && !world.settings.read_only_register) return CUDA_ERROR_NOT_SUPPORTED;
    if (overlaps(world, address, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    const Mapped mapped = protection_of(address, bytes);
    const bool tolerates = read_only || world.settings.host_page_tables;
    if (mapped == Mapped::no || (mapped == Mapped::read_only && !tolerates)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (bytes > registration_bytes_max) return CUDA_ERROR_OUT_OF_MEMORY;
    if (++world.registrations == world.settings.register_fails) return CUDA_ERROR_OUT_OF_MEMORY;
    add(world, address, {bytes, read_only || mapped == Mapped::read_only, false});
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostUnregister(void* data) {
  return unsafe_with_context<Kind::undo>([&](World& world, Lock& lock, Context& context) {
    const auto at = world.registered.find(reinterpret_cast<std::uintptr_t>(data));
    if (at == world.registered.end() || at->second.allocated) {
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    }
    wait_all(world, lock, context);
    world.registered.erase(at);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  return unsafe_with_context([&](World& world, Lock&, Context&) {
    const std::uint64_t whole = (bytes + page_bytes - 1) / page_bytes * page_bytes;
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (++world.host_allocations == world.settings.host_alloc_fails) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    void* const at =
        ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    add(world, reinterpret_cast<std::uintptr_t>(at), {whole, false, true});
    *data = at;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocHost_v2(void** data, std::size_t bytes) {
  return cuMemHostAlloc(data, bytes, 0);
}

CUresult cuMemFreeHost(void* data) {
  return unsafe_with_context<Kind::undo>([&](World& world, Lock& lock, Context& context) {
    const auto at = world.registered.find(reinterpret_cast<std::uintptr_t>(data));
    if (at == world.registered.end() || !at->second.allocated) return CUDA_ERROR_INVALID_VALUE;
    wait_all(world, lock, context);
    ::munmap(data, at->second.bytes);
    world.registered.erase(at);
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
