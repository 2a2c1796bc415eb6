// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The driver, its devices and their primary contexts.
#include "world.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace batchcast::fake_cuda {

namespace {

thread_local bool in_callback = false;

std::vector<Context*>& context_stack() {
  thread_local std::vector<Context*> stack;
  return stack;
}

CUuuid uuid_of(int physical) {
  CUuuid uuid{};
  constexpr unsigned char beginning[] = {0xfa, 0x4e, 0xc0, 0xda, 0, 0, 0x40, 0, 0x80};
  std::memcpy(uuid.bytes, beginning, sizeof beginning);
  uuid.bytes[15] = static_cast<char>(physical);
  return uuid;
}

/// As CUDA_VISIBLE_DEVICES has it: GPU-fa4ec0da-0000-4000-8000-000000000001.
std::string uuid_text(int physical) {
  char text[64];
  std::snprintf(text, sizeof text, "GPU-fa4ec0da-0000-4000-8000-%012x",
                static_cast<unsigned>(physical));
  return text;
}

std::vector<int> visible_devices(int count) {
  std::vector<int> result;
  const char* const listed = std::getenv("CUDA_VISIBLE_DEVICES");
  if (listed == nullptr) {
    for (int device = 0; device < count; ++device) result.push_back(device);
    return result;
  }
  std::string word;
  for (const char* c = listed;; ++c) {
    if (*c != ',' && *c != '\0') {
      word += *c;
      continue;
    }
    int found = -1;
    for (int device = 0; device < count && !word.empty(); ++device) {
      if (word == std::to_string(device) ||
          (word.size() > 4 && uuid_text(device).rfind(word, 0) == 0)) {
        found = device;
      }
    }
    if (found < 0) return result;  // as with CUDA, what follows one that is none is not seen
    result.push_back(found);
    word.clear();
    if (*c == '\0') return result;
  }
}

void end_with_process() {
  World& world = World::get();
  if (::getpid() != world.process) return;  // a forked child's exit
  Lock lock(world.mutex);
  world.ended = true;
  world.changed.notify_all();
  const auto busy = [&] {
    const auto is_busy = [](const auto& entry) { return entry.second && entry.second->busy; };
    if (std::any_of(world.streams.begin(), world.streams.end(), is_busy)) return true;
    for (const Context& context : world.contexts) {
      if (context.legacy && context.legacy->busy) return true;
      if (std::any_of(context.of_thread.begin(), context.of_thread.end(), is_busy)) return true;
    }
    return false;
  };
  while (busy()) world.changed.wait(lock);
}

int attribute(const Settings& settings, int physical, CUdevice_attribute which) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return 9;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return 2;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return 1024;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      return 32;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      return 2;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID:
      return physical + 1;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
      return 1;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
      return settings.vmm ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
      return settings.vmm && settings.exports ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED:
      return settings.legacy_ipc ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED:
      return settings.read_only_register ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES:
      return settings.host_page_tables ? 1 : 0;
    default:
      return 0;
  }
}

template <class Body>
CUresult with_device(CUdevice device, Body&& body) {
  return with_driver([&](World& world, Lock& lock) -> CUresult {
    if (device < 0 || device >= world.devices()) return CUDA_ERROR_INVALID_DEVICE;
    return body(world, lock, world.visible[static_cast<std::size_t>(device)]);
  });
}

Context* context_of(World& world, CUcontext handle) {
  for (Context& context : world.contexts) {
    if (reinterpret_cast<CUcontext>(&context) == handle) return &context;
  }
  return nullptr;
}

/// What belongs to a context ends with it.
void destroy(World& world, Lock& lock, Context& context) {
  wait_all(world, lock, context);
  for (auto at = world.streams.begin(); at != world.streams.end();) {
    const bool mine = at->second->context == &context;
    if (mine) at->second->ending = true;
    at = mine ? world.streams.erase(at) : std::next(at);
  }
  std::erase_if(world.events, [&](const auto& e) { return e.second->context == &context; });
  std::erase_if(world.modules, [&](const auto& m) { return m.second.context == &context; });
  std::erase_if(world.functions, [&](const auto& f) { return f.second.context == &context; });
  if (context.legacy) context.legacy->ending = true;
  for (const auto& [thread, stream] : context.of_thread) stream->ending = true;
  context.legacy = nullptr;
  context.of_thread.clear();
  const int physical = world.visible[static_cast<std::size_t>(context.device)];
  auto& ranges = world.ranges.all();
  for (auto at = ranges.begin(); at != ranges.end();) {
    const auto next = std::next(at);
    if (!at->second.is_virtual && !at->second.mapped.empty() &&
        at->second.mapped.begin()->second.memory->physical == physical) {
      world.ranges.free(at->first);
    }
    at = next;
  }
  world.changed.notify_all();
}

}  // namespace

World& World::get() {
  static World& world = *new World;
  return world;
}

void World::see_devices() {
  visible = visible_devices(settings.devices);
  for (std::size_t device = 0; device < contexts.size(); ++device) {
    contexts[device].device = static_cast<int>(device);
    if (static_cast<int>(device) != settings.lost) continue;
    contexts[device].error = static_cast<CUresult>(settings.lost_code);
    contexts[device].lost = true;
  }
}

int World::number_of(int physical) const {
  for (int device = 0; device < devices(); ++device) {
    if (visible[static_cast<std::size_t>(device)] == physical) return device;
  }
  return -1;
}

CUresult World::count_operation(Context& context) {
  const std::uint64_t operations = since.copies + since.launches;
  if (settings.lost_after >= 0 && context.device == settings.lost_device &&
      operations >= static_cast<std::uint64_t>(settings.lost_after)) {
    context.error = static_cast<CUresult>(settings.lost_code);
    context.lost = true;
    changed.notify_all();
  }
  return context.error;
}

CUresult refusal(const World& world) {
  if (world.process == 0 || world.process != ::getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  if (world.ended) return CUDA_ERROR_DEINITIALIZED;
  return in_callback ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

void set_in_callback(bool is) { in_callback = is; }

Context* current_context() {
  const std::vector<Context*>& stack = context_stack();
  return stack.empty() ? nullptr : stack.back();
}

}  // namespace batchcast::fake_cuda

using namespace batchcast::fake_cuda;

extern "C" {

CUresult cuInit(unsigned flags) {
  World& world = World::get();
  if (world.process != 0 && world.process != ::getpid()) return CUDA_ERROR_NOT_INITIALIZED;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const Lock lock(world.mutex);
  if (world.settings.init != 0) return static_cast<CUresult>(world.settings.init);
  if (world.process == 0) world.see_devices();
  if (world.devices() == 0) return CUDA_ERROR_NO_DEVICE;
  if (world.process == 0) std::atexit(end_with_process);
  world.process = ::getpid();
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = World::get().settings.version;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return with_driver([&](World& world, Lock&) {
    *count = world.devices();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int number) {
  return with_device(number, [&](World&, Lock&, int) {
    *device = number;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return with_device(device, [&](World& world, Lock&, int physical) {
    std::snprintf(name, static_cast<std::size_t>(length), "Fake GPU %d%s", physical,
                  world.settings.mig ? " MIG 1g.2gb" : "");
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return with_device(device, [&](World&, Lock&, int physical) {
    *uuid = uuid_of(physical);
    return CUDA_SUCCESS;
  });
}

// Headers before CUDA 13 call it so.
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device) {
  return with_device(device, [&](World& world, Lock&, int) {
    const Context& primary = world.contexts[static_cast<std::size_t>(device)];
    if (primary.lost) return primary.error;
    *bytes = world.settings.memory;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  return with_device(device, [&](World& world, Lock&, int physical) {
    *value = attribute(world.settings, physical, which);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return with_device(device, [&](World& world, Lock&, int) {
    Context& primary = world.contexts[static_cast<std::size_t>(device)];
    if (primary.error != CUDA_SUCCESS) return primary.error;
    if (const CUresult barred = barred_by_captures(world); barred != CUDA_SUCCESS) return barred;
    if (primary.retained++ == 0) ++world.counters.contexts;
    *context = reinterpret_cast<CUcontext>(&primary);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return with_device(device, [&](World& world, Lock& lock, int) {
    Context& primary = world.contexts[static_cast<std::size_t>(device)];
    if (primary.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (const CUresult barred = barred_by_captures(world); barred != CUDA_SUCCESS) return barred;
    if (--primary.retained != 0) return CUDA_SUCCESS;
    --world.counters.contexts;
    destroy(world, lock, primary);
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return with_device(device, [&](World& world, Lock&, int) {
    *flags = 0;
    *active = world.contexts[static_cast<std::size_t>(device)].retained != 0 ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPushCurrent_v2(CUcontext handle) {
  return with_driver([&](World& world, Lock&) {
    Context* const context = context_of(world, handle);
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    context_stack().push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxPopCurrent_v2(CUcontext* popped) {
  return with_driver([&](World&, Lock&) {
    auto& stack = context_stack();
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (popped != nullptr) *popped = reinterpret_cast<CUcontext>(stack.back());
    stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  return with_driver([&](World& world, Lock&) {
    Context* const context = context_of(world, handle);
    if (handle != nullptr && context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    auto& stack = context_stack();
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return with_driver([&](World&, Lock&) {
    *context = reinterpret_cast<CUcontext>(current_context());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return with_context([&](World&, Lock&, Context& context) {
    *device = context.device;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return with_context([](World& world, Lock& lock, Context& context) -> CUresult {
    if (spoils_captures_of(world, context)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return wait_all(world, lock, context);
  });
}

}  // extern "C"
