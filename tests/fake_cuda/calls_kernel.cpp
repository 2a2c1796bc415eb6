// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Modules and kernels.
#include "kernels.hpp"
#include "world.hpp"

#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

using namespace batchcast::fake_cuda;

namespace batchcast::fake_cuda {

namespace {

struct IllegalAddress {};

std::byte* reach(std::uint64_t address, std::size_t bytes, Access access) {
  World& world = World::get();
  const Lock lock(world.mutex);
  const auto place = world.ranges.look(address, bytes, access);
  if (place.found == DeviceRanges::Found::yes) return place.alias;
  std::fprintf(stderr, "fake_cuda: a kernel's illegal %s of %zu bytes at device address 0x%llx\n",
               access == Access::read ? "read" : "write", bytes,
               static_cast<unsigned long long>(address));
  throw IllegalAddress{};
}

using Parameters = std::vector<std::vector<std::byte>>;

CUresult execute(const Kernel& kernel, const Launch& launch, Parameters& copied, Lock& lock) {
  std::vector<void*> parameters;
  for (std::vector<std::byte>& parameter : copied) parameters.push_back(parameter.data());
  CUresult result = CUDA_SUCCESS;
  lock.unlock();
  try {
    kernel.run(launch, parameters.data());
  } catch (const IllegalAddress&) {
    result = CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  lock.lock();
  return result;
}

}  // namespace

const std::byte* device_read(std::uint64_t device_address, std::size_t bytes) {
  return reach(device_address, bytes, Access::read);
}

std::byte* device_write(std::uint64_t device_address, std::size_t bytes) {
  return reach(device_address, bytes, Access::read_write);
}

}  // namespace batchcast::fake_cuda

extern "C" {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return unsafe_with_context([&](World& world, Lock&, Context& context) {
    if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (world.settings.module_fails) return CUDA_ERROR_NO_BINARY_FOR_GPU;
    const std::uint64_t handle = world.new_handle();
    world.modules.emplace(handle, Module{&context});
    *module = to_handle<CUmodule>(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleUnload(CUmodule handle) {
  return unsafe_with_context<Kind::undo>([&](World& world, Lock&, Context&) {
    const std::uint64_t number = number_of(handle);
    std::erase_if(world.functions, [&](const auto& f) { return f.second.module == number; });
    return world.modules.erase(number) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  return with_context([&](World& world, Lock&, Context&) {
    const auto module = world.modules.find(number_of(handle));
    if (module == world.modules.end()) return CUDA_ERROR_INVALID_HANDLE;
    for (const Kernel* const kernel : kernels()) {
      if (std::string_view(kernel->name) != name) continue;
      const std::uint64_t made = world.new_handle();
      world.functions.emplace(made, Function{module->second.context, module->first, kernel});
      *function = to_handle<CUfunction>(made);
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_NOT_FOUND;
  });
}

CUresult cuLaunchKernel(CUfunction handle, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream on, void** parameters, void** extra) {
  return with_context([&](World& world, Lock&, Context& context) -> CUresult {
    const auto function = world.functions.find(number_of(handle));
    const auto stream = find_stream(world, context, on);
    if (function == world.functions.end() || !stream ||
        function->second.context != stream->context || stream->context != &context) {
      return CUDA_ERROR_INVALID_HANDLE;
    }
    const Launch launch{grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes};
    if (extra != nullptr || grid_x == 0 || grid_y == 0 || grid_z == 0 || grid_y > 65535 ||
        grid_z > 65535 || grid_x > 2147483647U || block_x == 0 || block_y == 0 || block_z == 0 ||
        std::uint64_t{block_x} * block_y * block_z > 1024 || shared_bytes > 48 * 1024) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const CUresult barred = barred_use(world, *stream); barred != CUDA_SUCCESS) return barred;
    if (const CUresult lost = world.count_operation(context); lost != CUDA_SUCCESS) return lost;
    const bool fails = ++world.since.launches == world.settings.launch_fails;
    ++world.counters.launches;
    const Kernel* const kernel = function->second.kernel;
    auto copied = std::make_shared<Parameters>();
    for (std::size_t i = 0; i < kernel->parameter_bytes.size(); ++i) {
      const auto* const from = static_cast<const std::byte*>(parameters[i]);
      copied->emplace_back(from, from + kernel->parameter_bytes[i]);
    }
    enqueue(world, stream, {[=](World&, Lock& held) {
              if (fails) return CUDA_ERROR_LAUNCH_FAILED;
              return execute(*kernel, launch, *copied, held);
            }});
    return CUDA_SUCCESS;
  });
}

}  // extern "C"
