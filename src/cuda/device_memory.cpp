// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cuda/device_memory.hpp"

#include "cuda/driver.hpp"

#include <batchcast/core/error.hpp>

#include <fcntl.h>

#include <array>
#include <cstdio>
#include <cstring>

namespace batchcast::cuda {
namespace {

std::string amount(std::uint64_t bytes) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text.data();
}

[[noreturn]] void throw_out_of_memory(const Device& device, const std::string& what,
                                      std::uint64_t bytes) {
  throw OutOfMemory("batchcast: " + name_of(device.info()) + " has no room for " + what + ", " +
                    amount(bytes) + ": " + amount(device.free_bytes()) + " of its " +
                    amount(device.info().memory_bytes) +
                    " are free; give the ring less memory there, or end what else uses it");
}

void check_memory(const Device& device, CUresult result, const char* call, const std::string& what,
                  std::uint64_t bytes) {
  if (result == CUDA_ERROR_OUT_OF_MEMORY) throw_out_of_memory(device, what, bytes);
  check(device, result, call);
}

// Neighbours in the same 2 MiB would be shared along with a smaller one.
constexpr std::uint64_t legacy_granularity_bytes = std::uint64_t{2} << 20;

std::string to_hex(const CUipcMemHandle& handle) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (const char each : handle.reserved) {
    hex += digits[static_cast<unsigned char>(each) >> 4];
    hex += digits[static_cast<unsigned char>(each) & 15];
  }
  return hex;
}

bool from_hex(const std::string& hex, CUipcMemHandle& handle) {
  static constexpr char digits[] = "0123456789abcdef";
  if (hex.size() != 2 * sizeof handle.reserved) return false;
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i) {
    const char* high = std::strchr(digits, hex[2 * i]);
    const char* low = std::strchr(digits, hex[2 * i + 1]);
    if (high == nullptr || low == nullptr || *high == '\0' || *low == '\0') return false;
    handle.reserved[i] = static_cast<char>((high - digits) << 4 | (low - digits));
  }
  return true;
}

}  // namespace

// Filled step by step; undoes as many steps as were taken.
struct DeviceSegment::State {
  State(std::shared_ptr<Device> on, const Request& request)
      : device(std::move(on)), name(request.name), bytes(request.bytes), sharing(request.sharing) {}
  ~State() {
    quietly(*device, [this](const Driver& driver) { undo(driver); });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void undo(const Driver& driver) noexcept {
    if (sharing == Sharing::legacy_ipc) {
      if (base != 0 && adopted) driver.ipc_close_mem_handle(base);
      if (base != 0 && !adopted) driver.mem_free(base);
      return;
    }
    for (unsigned i = 0; i < mappings; ++i) driver.mem_unmap(base + i * bytes, bytes);
    if (base != 0) driver.mem_address_free(base, 2 * bytes);
    if (has_handle) driver.mem_release(handle);
  }

  std::shared_ptr<Device> device;
  std::string name;
  std::uint64_t bytes;
  Sharing sharing;
  bool adopted = false;
  DeviceAccess access = DeviceAccess::read_write;
  CUmemGenericAllocationHandle handle = 0;
  bool has_handle = false;
  CUdeviceptr base = 0;
  unsigned mappings = 0;
  FileDescriptor exported;

  void allocate();
  void import(int descriptor);
  void map_twice();
  CUresult set_access(CUmemAccess_flags flags);
};

void DeviceSegment::State::allocate() {
  CUmemAllocationProp wanted{};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device->handle();
  check_memory(*device, device->driver().mem_create(&handle, bytes, &wanted, 0), "cuMemCreate",
               name, bytes);
  has_handle = true;
  // At once: a GPU that cannot (some under MIG) is to be found out before anybody attaches.
  int descriptor = -1;
  check(*device,
        device->driver().mem_export_to_shareable_handle(
            &descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0),
        "cuMemExportToShareableHandle");
  exported = FileDescriptor(descriptor);
  // A program that this process starts would keep the memory alive.
  static_cast<void>(::fcntl(descriptor, F_SETFD, FD_CLOEXEC));
}

void DeviceSegment::State::import(int descriptor) {
  const auto as_handle = reinterpret_cast<void*>(static_cast<std::uintptr_t>(descriptor));
  const CUresult result = device->driver().mem_import_from_shareable_handle(
      &handle, as_handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_HANDLE ||
      result == CUDA_ERROR_OPERATING_SYSTEM || result == CUDA_ERROR_NOT_SUPPORTED) {
    throw Refused("what the producer sent for " + name + " is no memory that " +
                  name_of(device->info()) + " can take: " + reason(device->driver(), result));
  }
  check(*device, result, "cuMemImportFromShareableHandle");
  has_handle = true;
}

void DeviceSegment::State::map_twice() {
  const Driver& driver = device->driver();
  check_memory(*device, driver.mem_address_reserve(&base, 2 * bytes, 0, 0, 0),
               "cuMemAddressReserve", name, bytes);
  for (; mappings < 2; ++mappings) {
    const CUresult result = driver.mem_map(base + mappings * bytes, bytes, 0, handle, 0);
    if (adopted && result == CUDA_ERROR_INVALID_VALUE) {
      throw Refused("the memory that the producer sent for " + name + " does not have " +
                    std::to_string(bytes) + " bytes, as its layout says (" +
                    name_of(device->info()) + ")");
    }
    check_memory(*device, result, "cuMemMap", name, bytes);
  }
}

CUresult DeviceSegment::State::set_access(CUmemAccess_flags flags) {
  CUmemAccessDesc wanted{};
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device->handle();
  wanted.flags = flags;
  return device->driver().mem_set_access(base, 2 * bytes, &wanted, 1);
}

DeviceSegment::DeviceSegment(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
DeviceSegment::~DeviceSegment() = default;
DeviceSegment::DeviceSegment(DeviceSegment&&) noexcept = default;
DeviceSegment& DeviceSegment::operator=(DeviceSegment&&) noexcept = default;

DeviceSegment DeviceSegment::create(std::shared_ptr<Device> device, const Request& request) {
  auto state = std::make_unique<State>(std::move(device), request);
  const Device& on = *state->device;
  const Device::Current current(on);
  if (request.sharing == Sharing::legacy_ipc) {
    const std::uint64_t pieces =
        (request.bytes + legacy_granularity_bytes - 1) / legacy_granularity_bytes;
    check_memory(on, on.driver().mem_alloc(&state->base, pieces * legacy_granularity_bytes),
                 "cuMemAlloc", request.name, request.bytes);
    return DeviceSegment(std::move(state));
  }
  state->allocate();
  state->map_twice();
  check(on, state->set_access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE), "cuMemSetAccess");
  return DeviceSegment(std::move(state));
}

DeviceSegment DeviceSegment::adopt(std::shared_ptr<Device> device, const Request& request,
                                   FileDescriptor descriptor) {
  auto state = std::make_unique<State>(std::move(device), request);
  state->adopted = true;
  state->sharing = Sharing::descriptor;
  const Device& on = *state->device;
  const Device::Current current(on);
  state->import(descriptor.get());
  state->map_twice();
  state->access = DeviceAccess::read_only;
  if (state->set_access(CU_MEM_ACCESS_FLAGS_PROT_READ) != CUDA_SUCCESS) {
    state->access = DeviceAccess::read_write;
    check(on, state->set_access(CU_MEM_ACCESS_FLAGS_PROT_READWRITE), "cuMemSetAccess");
  }
  return DeviceSegment(std::move(state));
}

DeviceSegment DeviceSegment::adopt_legacy(std::shared_ptr<Device> device, const Request& request,
                                          const std::string& hex_handle) {
  auto state = std::make_unique<State>(std::move(device), request);
  state->adopted = true;
  state->sharing = Sharing::legacy_ipc;
  const Device& on = *state->device;
  CUipcMemHandle handle{};
  if (!from_hex(hex_handle, handle)) {
    throw Refused("what the producer sent for " + request.name + " is no CUDA IPC handle");
  }
  const Device::Current current(on);
  const CUresult result =
      on.driver().ipc_open_mem_handle(&state->base, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
  if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_INVALID_HANDLE) {
    throw Refused("the CUDA IPC handle that the producer sent for " + request.name +
                  " leads nowhere on " + name_of(on.info()) + ": " + reason(on.driver(), result) +
                  "; containers must share their process ids (--pid=host)");
  }
  check(on, result, "cuIpcOpenMemHandle");
  return DeviceSegment(std::move(state));
}

std::byte* DeviceSegment::data() const noexcept {
  return reinterpret_cast<std::byte*>(state_->base);
}
std::uint64_t DeviceSegment::bytes() const noexcept { return state_->bytes; }
bool DeviceSegment::mapped_twice() const noexcept { return state_->mappings == 2; }
DeviceAccess DeviceSegment::access() const noexcept { return state_->access; }
int DeviceSegment::export_descriptor() { return state_->exported.get(); }

std::string DeviceSegment::legacy_handle() {
  if (state_->sharing != Sharing::legacy_ipc || state_->adopted) return {};
  const Device& on = *state_->device;
  const Device::Current current(on);
  CUipcMemHandle handle{};
  check(on, on.driver().ipc_get_mem_handle(&handle, state_->base), "cuIpcGetMemHandle");
  return to_hex(handle);
}

DeviceBuffer::DeviceBuffer(std::shared_ptr<Device> device, std::uint64_t bytes)
    : device_(std::move(device)), bytes_(bytes) {
  if (bytes == 0) return;
  const Device::Current current(*device_);
  CUdeviceptr base = 0;
  check_memory(*device_, device_->driver().mem_alloc(&base, bytes), "cuMemAlloc", "a buffer",
               bytes);
  data_ = reinterpret_cast<std::byte*>(base);
}

DeviceBuffer::~DeviceBuffer() {
  if (data_ == nullptr) return;
  quietly(*device_, [this](const Driver& driver) { driver.mem_free(address_of(data_)); });
}

}  // namespace batchcast::cuda
