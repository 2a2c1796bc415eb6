// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Virtual memory management: cuMemCreate and its family.
#include "world.hpp"

#include <fcntl.h>

#include <cstdint>
#include <memory>
#include <utility>

using namespace batchcast::fake_cuda;

namespace {

CUresult check(World& world, const CUmemAllocationProp& wanted) {
  if (!world.settings.vmm) return CUDA_ERROR_NOT_SUPPORTED;
  const auto handle_types = static_cast<unsigned>(wanted.requestedHandleTypes);
  if (wanted.type != CU_MEM_ALLOCATION_TYPE_PINNED ||
      wanted.location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
      (handle_types & ~unsigned{CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR}) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (wanted.location.id < 0 || wanted.location.id >= world.devices()) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (handle_types != 0 && !world.settings.exports) return CUDA_ERROR_NOT_SUPPORTED;
  return world.contexts[static_cast<std::size_t>(wanted.location.id)].error;
}

bool is_multiple(const World& world, std::uint64_t bytes) {
  return bytes != 0 && bytes % world.settings.granularity == 0;
}

CUmemGenericAllocationHandle keep(World& world, std::shared_ptr<Memory> memory) {
  const std::uint64_t handle = world.new_handle();
  world.allocations.emplace(handle, std::move(memory));
  return handle;
}

/// Nothing runs there any more.
void await_users(World& world, Lock& lock, DeviceRanges::Range& range) {
  while (range.users != 0) world.changed.wait(lock);
}

/// Calls `each` with the offsets of the mappings that make up exactly this range of addresses.
template <class Each>
CUresult for_each_mapping(World& world, CUdeviceptr address, std::size_t bytes, Each&& each) {
  const auto at = world.ranges.find(address);
  if (at == world.ranges.all().end() || !at->second.is_virtual) return CUDA_ERROR_INVALID_VALUE;
  auto& [base, range] = *at;
  std::vector<std::uint64_t> offsets;
  std::uint64_t reached = address - base;
  const std::uint64_t end = reached + bytes;
  while (reached < end) {
    const auto mapping = range.mapped.find(reached);
    if (mapping == range.mapped.end()) return CUDA_ERROR_INVALID_VALUE;
    offsets.push_back(reached);
    reached += mapping->second.bytes;
  }
  if (reached != end) return CUDA_ERROR_INVALID_VALUE;
  for (const std::uint64_t offset : offsets) {
    if (const CUresult result = each(range, offset); result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* wanted,
                                       CUmemAllocationGranularity_flags) {
  return with_driver([&](World& world, Lock&) {
    const CUresult refused = check(world, *wanted);
    if (refused == CUDA_SUCCESS) *granularity = world.settings.granularity;
    return refused;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t bytes,
                     const CUmemAllocationProp* wanted, unsigned long long flags) {
  return unsafe_with_driver([&](World& world, Lock&) {
    if (const CUresult refused = check(world, *wanted); refused != CUDA_SUCCESS) return refused;
    if (flags != 0 || !is_multiple(world, bytes)) return CUDA_ERROR_INVALID_VALUE;
    const int physical = world.visible[static_cast<std::size_t>(wanted->location.id)];
    auto memory = Memory::make(world, physical, bytes, wanted->requestedHandleTypes != 0);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    *handle = keep(world, std::move(memory));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return unsafe_with_driver([&](World& world, Lock&) {
    return world.allocations.erase(handle) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemExportToShareableHandle(void* descriptor, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return unsafe_with_driver([&](World& world, Lock&) {
    const auto at = world.allocations.find(handle);
    if (at == world.allocations.end() || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || !at->second->exportable) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (!world.settings.exports) return CUDA_ERROR_NOT_SUPPORTED;
    const int copy = ::fcntl(at->second->descriptor, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return CUDA_ERROR_OPERATING_SYSTEM;
    *static_cast<int*>(descriptor) = copy;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* descriptor,
                                        CUmemAllocationHandleType type) {
  return unsafe_with_driver([&](World& world, Lock&) {
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    if (!world.settings.vmm || !world.settings.exports) return CUDA_ERROR_NOT_SUPPORTED;
    auto memory = Memory::take(static_cast<int>(reinterpret_cast<std::intptr_t>(descriptor)));
    if (!memory) return CUDA_ERROR_INVALID_VALUE;
    const int device = world.number_of(memory->physical);
    if (device < 0) return CUDA_ERROR_INVALID_DEVICE;
    const Context& context = world.contexts[static_cast<std::size_t>(device)];
    if (context.error != CUDA_SUCCESS) return context.error;
    *handle = keep(world, std::move(memory));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  return with_driver([&](World& world, Lock&) {
    const auto at = world.allocations.find(handle);
    if (at == world.allocations.end()) return CUDA_ERROR_INVALID_VALUE;
    *properties = {};
    properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties->location.id = world.number_of(at->second->physical);
    if (at->second->exportable) {
      properties->requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment,
                             CUdeviceptr, unsigned long long flags) {
  return unsafe_with_driver([&](World& world, Lock&) {
    if (!world.settings.vmm) return CUDA_ERROR_NOT_SUPPORTED;
    if (flags != 0 || !is_multiple(world, bytes)) return CUDA_ERROR_INVALID_VALUE;
    if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (++world.reservations == world.settings.reserve_fails) return CUDA_ERROR_OUT_OF_MEMORY;
    const std::uint64_t least = world.settings.granularity;
    *address = world.ranges.reserve(bytes, alignment > least ? alignment : least);
    if (*address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
    world.ranges.find(*address)->second.is_virtual = true;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressFree(CUdeviceptr address, std::size_t bytes) {
  return unsafe_with_driver([&](World& world, Lock&) {
    const auto at = world.ranges.all().find(address);
    if (at == world.ranges.all().end() || !at->second.is_virtual || at->second.bytes != bytes ||
        !at->second.mapped.empty()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    world.ranges.free(address);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemMap(CUdeviceptr address, std::size_t bytes, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return unsafe_with_driver([&](World& world, Lock&) {
    const auto memory = world.allocations.find(handle);
    const auto at = world.ranges.find(address);
    if (memory == world.allocations.end() || at == world.ranges.all().end() || offset != 0 ||
        flags != 0 || !is_multiple(world, bytes) || !at->second.is_virtual) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    auto& [base, range] = *at;
    const std::uint64_t begin = address - base;
    if (begin % world.settings.granularity != 0 || bytes > memory->second->bytes ||
        bytes > range.bytes - begin) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    for (const auto& [other, mapping] : range.mapped) {
      if (other < begin + bytes && begin < other + mapping.bytes) return CUDA_ERROR_INVALID_VALUE;
    }
    if (++world.maps == world.settings.map_fails) return CUDA_ERROR_OUT_OF_MEMORY;
    const bool mapped = world.ranges.map(range, begin, {memory->second, bytes, Access::none});
    return mapped ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}

/// Waits for all that the device has to do, which the real one does by its leave.
CUresult cuMemUnmap(CUdeviceptr address, std::size_t bytes) {
  return unsafe_with_driver([&](World& world, Lock& lock) {
    const auto place = world.ranges.look(address, 1, Access::none);
    const int device = world.number_of(place.physical);
    if (place.found == DeviceRanges::Found::yes && device >= 0) {
      wait_all(world, lock, world.contexts[static_cast<std::size_t>(device)]);
    }
    return for_each_mapping(world, address, bytes,
                            [&](DeviceRanges::Range& range, std::uint64_t offset) {
                              await_users(world, lock, range);
                              world.ranges.unmap(range, offset);
                              return CUDA_SUCCESS;
                            });
  });
}

CUresult cuMemSetAccess(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc* wanted,
                        std::size_t count) {
  return unsafe_with_driver([&](World& world, Lock& lock) -> CUresult {
    if (count != 1 || wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    Access access = Access::none;
    if (wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE) access = Access::read_write;
    if (wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READ) access = Access::read;
    if (access == Access::read && !world.settings.read_only_map) return CUDA_ERROR_NOT_SUPPORTED;
    const auto set = [&](DeviceRanges::Range& range, std::uint64_t offset) {
      if (world.number_of(range.mapped.at(offset).memory->physical) != wanted->location.id) {
        return CUDA_ERROR_INVALID_DEVICE;  // no device reaches another's memory
      }
      await_users(world, lock, range);
      const bool done = world.ranges.set_access(range, offset, access);
      return done ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
    };
    return for_each_mapping(world, address, bytes, set);
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation*, CUdeviceptr address) {
  return with_driver([&](World& world, Lock&) {
    const auto has = [&](Access access) {
      return world.ranges.look(address, 1, access).found == DeviceRanges::Found::yes;
    };
    if (!has(Access::none)) return CUDA_ERROR_INVALID_VALUE;
    *flags = has(Access::read_write) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
             : has(Access::read)     ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                     : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
