// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// The layer between CUDA's driver and the rest: only driver.hpp and driver_api.hpp show a type of
// CUDA's. Everything throws GpuUnavailable where there is no driver or no such device, and GpuError
// where a call fails.
namespace batchcast::inline v0_1::detail::cuda {

struct Driver;

/// What can be known about a GPU before it is used.
struct DeviceInfo {
  unsigned number = 0;  ///< in this process's numbering
  std::string name;
  std::string uuid;  ///< GPU-…; the same in every process and container
  std::uint64_t memory_bytes = 0;
  int capability_major = 0, capability_minor = 0;
  bool virtual_memory = false;       ///< cuMemCreate and its family
  bool exports_descriptors = false;  ///< … of which POSIX file descriptors can be made
  bool legacy_ipc = false;           ///< cuIpcGetMemHandle: not under MIG or on Tegra
  bool registers_read_only = false;  ///< cuMemHostRegister of read-only mappings, with a flag
  bool host_page_tables = false;     ///< it uses the host's: such mappings need no flag
  bool mig = false;
  std::uint64_t granularity = 0;  ///< of device rings; 0 without virtual memory
};

/// A field's bytes on the GPU are a multiple of this. Where its driver does not say, it is the
/// least that an allocator hands out.
[[nodiscard]] inline std::uint64_t ring_granularity(const DeviceInfo& device) noexcept {
  return device.granularity != 0 ? device.granularity : std::uint64_t{2} << 20;
}
/// Whether memory that this process has mapped for reading only can be page-locked for it.
[[nodiscard]] inline bool pins_read_only(const DeviceInfo& device) noexcept {
  return device.registers_read_only || device.host_page_tables;
}
/// "cuda:0 (NVIDIA H200)".
[[nodiscard]] std::string name_of(const DeviceInfo& device);

/// All GPUs that this process sees; empty without a driver. Throws GpuError if one of them is lost.
[[nodiscard]] std::vector<DeviceInfo> list_devices();
/// How many GPUs this process can see, lost ones too; 0 without a driver.
[[nodiscard]] unsigned count_devices();
/// The GPU of that number. Throws GpuError where it is lost.
[[nodiscard]] DeviceInfo look_at_device(unsigned number);
/// Number of this process's GPU: the one that is current on this thread, else the one that
/// LOCAL_RANK numbers (torchrun sets it), else the first. Throws GpuUnavailable where this process
/// does not see that many.
[[nodiscard]] unsigned own_device();
/// Why there is no driver, as a sentence; empty where there is one.
[[nodiscard]] std::string why_no_driver();
/// 13000 for CUDA 13.0; 0 without one.
[[nodiscard]] int driver_version() noexcept;

/// While it lives, this thread has no part in the graphs that other threads capture. A capture in
/// the global mode, as libtorch's, would forbid the thread most calls, and a call in spite of that
/// spoils the capture. Every call of the driver is made with one of these.
class OutsideCaptures {
 public:
  explicit OutsideCaptures(const Driver& driver) noexcept;
  ~OutsideCaptures();
  OutsideCaptures(const OutsideCaptures&) = delete;
  OutsideCaptures& operator=(const OutsideCaptures&) = delete;

 private:
  void exchange() noexcept;

  const Driver& driver_;
  unsigned mode_;  ///< CUstreamCaptureMode
};

/// One GPU in use. It retains the primary context, which libtorch and the CUDA runtime use too. All
/// users share it, and the last one releases the context. Thread-safe.
class Device {
 public:
  [[nodiscard]] static std::shared_ptr<Device> open(unsigned number);
  [[nodiscard]] static std::shared_ptr<Device> open_uuid(const std::string& uuid);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  [[nodiscard]] const DeviceInfo& info() const noexcept { return info_; }
  [[nodiscard]] const Driver& driver() const noexcept { return driver_; }
  /// CUdevice and CUcontext.
  [[nodiscard]] int handle() const noexcept { return handle_; }
  [[nodiscard]] void* context() const noexcept { return context_; }
  /// Bytes of its memory that are free now.
  [[nodiscard]] std::uint64_t free_bytes() const;

  /// While it lives, the device's context is current on this thread, which is outside captures.
  class Current {
   public:
    explicit Current(const Device& device);
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Device& device_;
    OutsideCaptures outside_;
  };

 private:
  Device(const Driver& driver, DeviceInfo info, int handle);

  const Driver& driver_;
  DeviceInfo info_;
  int handle_;
  void* context_ = nullptr;
};

}  // namespace batchcast::inline v0_1::detail::cuda
