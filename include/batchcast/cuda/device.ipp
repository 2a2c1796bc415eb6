// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/cuda/driver.hpp>

#include <batchcast/core/error.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace batchcast::inline v0_1::detail::cuda {
namespace device_detail {

inline std::string uuid_text(const CUuuid& uuid, bool mig) {
  std::string text = mig ? "MIG" : "GPU";
  for (std::size_t i = 0; i < sizeof uuid.bytes; ++i) {
    std::array<char, 3> hex{};
    std::snprintf(hex.data(), hex.size(), "%02x", static_cast<unsigned char>(uuid.bytes[i]));
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += hex.data();
  }
  return text;
}

inline int attribute(const Driver& driver, const DeviceInfo& info, CUdevice handle,
                     CUdevice_attribute which) {
  int value = 0;
  const CUresult result = driver.device_get_attribute(&value, which, handle);
  // A driver that is older than the attribute lacks the feature.
  if (result == CUDA_ERROR_INVALID_VALUE) return 0;
  check(driver, result, "cuDeviceGetAttribute", info);
  return value;
}

inline std::uint64_t granularity_of(const Driver& driver, const DeviceInfo& info, CUdevice handle) {
  CUmemAllocationProp wanted = exportable_memory(handle);
  if (!info.exports_descriptors) wanted.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  std::size_t granularity = 0;
  check(driver,
        driver.mem_get_allocation_granularity(&granularity, &wanted,
                                              CU_MEM_ALLOC_GRANULARITY_MINIMUM),
        "cuMemGetAllocationGranularity", info);
  return granularity;
}

inline CUdevice handle_of(const Driver& driver, unsigned number) {
  CUdevice handle = 0;
  DeviceInfo unknown;
  unknown.number = number;
  unknown.name = "unknown";
  check(driver, driver.device_get(&handle, static_cast<int>(number)), "cuDeviceGet", unknown);
  return handle;
}

inline DeviceInfo look_at(const Driver& driver, unsigned number, CUdevice handle) {
  DeviceInfo info;
  info.number = number;
  std::array<char, 256> name{};
  check(driver, driver.device_get_name(name.data(), static_cast<int>(name.size()), handle),
        "cuDeviceGetName", info);
  info.name = name.data();
  // No attribute says it, but the name does: "NVIDIA H100 80GB HBM3 MIG 1g.10gb".
  info.mig = info.name.find(" MIG ") != std::string::npos;
  CUuuid uuid{};
  check(driver, driver.device_get_uuid(&uuid, handle), "cuDeviceGetUuid", info);
  info.uuid = uuid_text(uuid, info.mig);
  std::size_t bytes = 0;
  check(driver, driver.device_total_mem(&bytes, handle), "cuDeviceTotalMem", info);
  info.memory_bytes = bytes;
  const auto value = [&](CUdevice_attribute which) {
    return attribute(driver, info, handle, which);
  };
  info.capability_major = value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  info.capability_minor = value(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  info.virtual_memory = value(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) != 0;
  info.exports_descriptors =
      info.virtual_memory &&
      value(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED) != 0;
  info.legacy_ipc = !info.mig && value(CU_DEVICE_ATTRIBUTE_INTEGRATED) == 0;
  info.registers_read_only = value(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED) != 0;
  info.host_page_tables =
      value(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES) != 0;
  if (info.virtual_memory) info.granularity = granularity_of(driver, info, handle);
  return info;
}

inline unsigned count_of(const Driver& driver) {
  int count = 0;
  const CUresult result = driver.device_get_count(&count);
  if (result != CUDA_SUCCESS) fail(driver, result, "cuDeviceGetCount", "this machine");
  return static_cast<unsigned>(count);
}

/// The GPUs that can be used: a lost one does not keep a process from the others.
inline std::vector<DeviceInfo> look_at_usable(const Driver& driver) {
  std::vector<DeviceInfo> all;
  const unsigned count = count_of(driver);
  for (unsigned number = 0; number < count; ++number) {
    try {
      all.push_back(look_at(driver, number, handle_of(driver, number)));
    } catch (const GpuError&) {
    }
  }
  return all;
}

/// The GPU whose context is current on this thread; nothing without one.
inline std::optional<unsigned> current_device(const Driver& driver, unsigned count) {
  CUcontext context = nullptr;
  CUdevice current = 0;
  if (driver.ctx_get_current(&context) != CUDA_SUCCESS || context == nullptr) return std::nullopt;
  if (driver.ctx_get_device(&current) != CUDA_SUCCESS) return std::nullopt;
  for (unsigned number = 0; number < count; ++number) {
    if (handle_of(driver, number) == current) return number;
  }
  return std::nullopt;
}

// Settings of the process decide which GPUs it can see. The text says which settings did.
inline std::string what_is_visible(const std::vector<DeviceInfo>& all) {
  std::string seen = all.empty() ? "no GPU" : "";
  for (const DeviceInfo& info : all) {
    seen += text("{}{} {}", seen.empty() ? "" : ", ", name_of(info), info.uuid);
  }
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr) seen += text(" (CUDA_VISIBLE_DEVICES={})", visible);
  return seen;
}

}  // namespace device_detail

BATCHCAST_INLINE std::string name_of(const DeviceInfo& device) {
  return text("cuda:{} ({})", device.number, device.name);
}

BATCHCAST_INLINE std::vector<DeviceInfo> list_devices() {
  std::vector<DeviceInfo> all;
  const unsigned count = count_devices();
  for (unsigned number = 0; number < count; ++number) all.push_back(look_at_device(number));
  return all;
}

BATCHCAST_INLINE unsigned count_devices() {
  const Driver* driver = find_driver();
  if (driver == nullptr) return 0;
  const OutsideCaptures outside(*driver);
  return device_detail::count_of(*driver);
}

BATCHCAST_INLINE DeviceInfo look_at_device(unsigned number) {
  const Driver& driver = need_driver();
  const OutsideCaptures outside(driver);
  return device_detail::look_at(driver, number, device_detail::handle_of(driver, number));
}

BATCHCAST_INLINE unsigned own_device() {
  const Driver& driver = need_driver();
  const OutsideCaptures outside(driver);
  const unsigned count = device_detail::count_of(driver);
  if (const auto current = device_detail::current_device(driver, count)) return *current;
  const char* const rank = std::getenv("LOCAL_RANK");
  // A launcher may show each process the GPU of its rank, and no other.
  if (rank == nullptr || *rank == '\0' || count == 1) return 0;
  char* end = nullptr;
  const unsigned long number = std::strtoul(rank, &end, 10);
  if (*end == '\0' && number < count) return static_cast<unsigned>(number);
  throw GpuUnavailable(
      text("batchcast: `cuda` is the GPU of this process, and LOCAL_RANK={} names none of those "
           "that it sees: {}. Start as many processes as there are GPUs, or name one (`cuda:0`)",
           rank, device_detail::what_is_visible(device_detail::look_at_usable(driver))));
}

BATCHCAST_INLINE std::shared_ptr<Device> Device::open(unsigned number) {
  const Driver& driver = need_driver();
  const OutsideCaptures outside(driver);
  if (number >= device_detail::count_of(driver)) {
    throw GpuUnavailable(
        text("batchcast: there is no cuda:{}: this process sees {}", number,
             device_detail::what_is_visible(device_detail::look_at_usable(driver))));
  }
  const CUdevice handle = device_detail::handle_of(driver, number);
  return std::shared_ptr<Device>(
      new Device(driver, device_detail::look_at(driver, number, handle), handle));
}

BATCHCAST_INLINE std::shared_ptr<Device> Device::open_uuid(const std::string& uuid) {
  const Driver& driver = need_driver();
  const OutsideCaptures outside(driver);
  const std::vector<DeviceInfo> all = device_detail::look_at_usable(driver);
  for (const DeviceInfo& info : all) {
    if (info.uuid != uuid) continue;
    return std::shared_ptr<Device>(
        new Device(driver, info, device_detail::handle_of(driver, info.number)));
  }
  throw GpuUnavailable(text("batchcast: this process does not see the GPU {}, only {}", uuid,
                            device_detail::what_is_visible(all)));
}

BATCHCAST_INLINE Device::Device(const Driver& driver, DeviceInfo info, int handle)
    : driver_(driver), info_(std::move(info)), handle_(handle) {
  CUcontext context = nullptr;
  check(driver, driver.device_primary_ctx_retain(&context, handle), "cuDevicePrimaryCtxRetain",
        info_);
  context_ = context;
}

BATCHCAST_INLINE Device::~Device() {
  if (!driver_.of_this_process()) return;
  const OutsideCaptures outside(driver_);
  driver_.device_primary_ctx_release(handle_);
}

BATCHCAST_INLINE std::uint64_t Device::free_bytes() const {
  const Current current(*this);
  std::size_t free = 0;
  std::size_t total = 0;
  check(*this, driver_.mem_get_info(&free, &total), "cuMemGetInfo");
  return free;
}

BATCHCAST_INLINE OutsideCaptures::OutsideCaptures(const Driver& driver) noexcept
    : driver_(driver), mode_(CU_STREAM_CAPTURE_MODE_RELAXED) {
  exchange();
}

BATCHCAST_INLINE OutsideCaptures::~OutsideCaptures() { exchange(); }

BATCHCAST_INLINE void OutsideCaptures::exchange() noexcept {
  auto mode = static_cast<CUstreamCaptureMode>(mode_);
  driver_.thread_exchange_stream_capture_mode(&mode);
  mode_ = mode;
}

BATCHCAST_INLINE Device::Current::Current(const Device& device)
    : device_(device), outside_(device.driver()) {
  check(device, device.driver().ctx_push_current(static_cast<CUcontext>(device.context())),
        "cuCtxPushCurrent");
}

BATCHCAST_INLINE Device::Current::~Current() {
  CUcontext popped = nullptr;
  device_.driver().ctx_pop_current(&popped);
}

}  // namespace batchcast::inline v0_1::detail::cuda
