// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// cuMemAlloc, legacy IPC, and what there is to ask about addresses.
#include "world.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

using namespace batchcast::fake_cuda;

namespace {

/// What a CUipcMemHandle holds: where the owner's memfd is found.
struct IpcHandle {
  char mark[8] = {'f', 'a', 'k', 'e', 'i', 'p', 'c', 0};
  pid_t process = 0;
  int descriptor = -1;
  std::uint64_t inode = 0;
};
static_assert(sizeof(IpcHandle) <= sizeof(CUipcMemHandle));

int physical_of(const World& world, const Context& context) {
  return world.visible[static_cast<std::size_t>(context.device)];
}

CUresult map_whole(World& world, std::shared_ptr<Memory> memory, std::uint64_t bytes,
                   CUdeviceptr* address) {
  *address = world.ranges.reserve(bytes, std::uint64_t{2} << 20);
  if (*address == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  auto& range = world.ranges.find(*address)->second;
  if (world.ranges.map(range, 0, {std::move(memory), bytes, Access::read_write})) {
    return CUDA_SUCCESS;
  }
  world.ranges.free(*address);
  return CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult ask_device(World& world, void* data, CUpointer_attribute which, CUdeviceptr address,
                    const DeviceRanges::Place& place) {
  const int device = world.number_of(place.physical);
  const auto at = world.ranges.find(address);
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      *static_cast<CUcontext*>(data) =
          at->second.is_virtual
              ? nullptr
              : reinterpret_cast<CUcontext>(&world.contexts[static_cast<std::size_t>(device)]);
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(data) = CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(data) = device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(data) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(data) = at->first;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<std::size_t*>(data) = at->second.bytes;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      *static_cast<int*>(data) = world.settings.legacy_ipc && !at->second.is_virtual ? 1 : 0;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_NOT_SUPPORTED;
  }
}

}  // namespace

extern "C" {

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return with_context([&](World& world, Lock&, Context& context) {
    *total = world.settings.memory;
    const std::uint64_t used = used_bytes(physical_of(world, context));
    *free = used < *total ? *total - used : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return unsafe_with_context([&](World& world, Lock&, Context& context) {
    if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    auto memory =
        Memory::make(world, physical_of(world, context), (bytes + 4095) / 4096 * 4096, false);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    const std::uint64_t whole = memory->bytes;
    return map_whole(world, std::move(memory), whole, address);
  });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return unsafe_with_context<Kind::undo>([&](World& world, Lock& lock, Context& context) {
    const auto at = world.ranges.all().find(address);
    if (at == world.ranges.all().end() || at->second.is_virtual || at->second.opened != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    wait_all(world, lock, context);
    world.ranges.free(address);
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  return unsafe_with_context([&](World& world, Lock&, Context&) {
    if (!world.settings.legacy_ipc || world.settings.mig) return CUDA_ERROR_NOT_SUPPORTED;
    const auto at = world.ranges.all().find(address);
    if (at == world.ranges.all().end() || at->second.is_virtual || at->second.opened != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const Memory& memory = *at->second.mapped.begin()->second.memory;
    IpcHandle made;
    made.process = world.process;
    made.descriptor = memory.descriptor;
    made.inode = memory.inode;
    std::memset(handle, 0, sizeof *handle);
    std::memcpy(handle->reserved, &made, sizeof made);
    return CUDA_SUCCESS;
  });
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned flags) {
  return unsafe_with_context([&](World& world, Lock&, Context&) {
    if (!world.settings.legacy_ipc || world.settings.mig) return CUDA_ERROR_NOT_SUPPORTED;
    IpcHandle wanted;
    std::memcpy(&wanted, handle.reserved, sizeof wanted);
    if (std::memcmp(wanted.mark, "fakeipc", sizeof wanted.mark) != 0 ||
        flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (wanted.process == world.process) return CUDA_ERROR_INVALID_CONTEXT;
    for (auto& [base, range] : world.ranges.all()) {
      if (range.opened != 0 && range.mapped.begin()->second.memory->inode == wanted.inode) {
        ++range.opened;
        *address = base;
        return CUDA_SUCCESS;
      }
    }
    const std::string path =
        "/proc/" + std::to_string(wanted.process) + "/fd/" + std::to_string(wanted.descriptor);
    const int opened = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (opened < 0) return CUDA_ERROR_INVALID_VALUE;
    auto memory = Memory::take(opened);
    ::close(opened);
    if (!memory || memory->inode != wanted.inode) return CUDA_ERROR_INVALID_VALUE;
    if (world.number_of(memory->physical) < 0) return CUDA_ERROR_INVALID_DEVICE;
    const std::uint64_t bytes = memory->bytes;
    const CUresult result = map_whole(world, std::move(memory), bytes, address);
    if (result == CUDA_SUCCESS) world.ranges.find(*address)->second.opened = 1;
    return result;
  });
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  return unsafe_with_context<Kind::undo>([&](World& world, Lock& lock, Context& context) {
    const auto at = world.ranges.all().find(address);
    if (at == world.ranges.all().end() || at->second.opened == 0) return CUDA_ERROR_INVALID_VALUE;
    wait_all(world, lock, context);
    if (--at->second.opened == 0) world.ranges.free(address);
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute which, CUdeviceptr address) {
  return with_driver([&](World& world, Lock&) -> CUresult {
    const auto place = world.ranges.look(address, 1, Access::none);
    if (place.found == DeviceRanges::Found::yes) {
      return ask_device(world, data, which, address, place);
    }
    auto at = world.registered.upper_bound(address);
    if (at == world.registered.begin()) return CUDA_ERROR_INVALID_VALUE;
    --at;
    if (address - at->first >= at->second.bytes) return CUDA_ERROR_INVALID_VALUE;
    if (which != CU_POINTER_ATTRIBUTE_MEMORY_TYPE) return CUDA_ERROR_NOT_SUPPORTED;
    *static_cast<unsigned*>(data) = CU_MEMORYTYPE_HOST;
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
