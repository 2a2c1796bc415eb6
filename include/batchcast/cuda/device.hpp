// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// The layer between CUDA's driver and the rest: no header of it but driver.hpp and driver_api.hpp
// shows a type of CUDA's. Everything throws GpuUnavailable where there is no driver or no such
// device, and GpuError where a call fails.
namespace batchcast::inline v0_1::detail::cuda {

struct Driver;

/// What there is to know about a GPU before anything is done with it.
struct DeviceInfo {
  unsigned number = 0;  ///< in this process's numbering
  std::string name;
  std::string uuid;  ///< GPU-…; the same in every process and container
  std::uint64_t memory_bytes = 0;
  int capability_major = 0, capability_minor = 0;
  bool virtual_memory = false;       ///< cuMemCreate and its family
  bool exports_descriptors = false;  ///< … of which POSIX file descriptors can be made
  bool legacy_ipc = false;           ///< cuIpcGetMemHandle: not under MIG or on Tegra
  bool registers_read_only = false;  ///< cuMemHostRegister of read-only mappings, if told so
  bool host_page_tables = false;     ///< it uses the host's: such mappings need no telling
  bool mig = false;
  std::uint64_t granularity = 0;  ///< of device rings; 0 without virtual memory
};

/// What a field's bytes on it are a multiple of; where its driver does not say, what an allocator
/// hands out at least.
[[nodiscard]] inline std::uint64_t ring_granularity(const DeviceInfo& device) noexcept {
  return device.granularity != 0 ? device.granularity : std::uint64_t{2} << 20;
}
/// Whether memory that this process has mapped for reading only can be page-locked for it.
[[nodiscard]] inline bool pins_read_only(const DeviceInfo& device) noexcept {
  return device.registers_read_only || device.host_page_tables;
}
/// "cuda:0 (NVIDIA H200)".
[[nodiscard]] std::string name_of(const DeviceInfo& device);

/// All that this process can see. Empty without a driver. Throws GpuError if one of them is lost.
[[nodiscard]] std::vector<DeviceInfo> list_devices();
/// How many that are, lost ones too; 0 without a driver.
[[nodiscard]] unsigned count_devices();
/// The one of that number. Throws GpuError where it is lost.
[[nodiscard]] DeviceInfo look_at_device(unsigned number);
/// Number of the GPU that is this process's: the one that is current on this thread; without, the
/// one of the number in LOCAL_RANK, as torchrun sets it, or the first. Throws GpuUnavailable where
/// this process does not see that many.
[[nodiscard]] unsigned own_device();
/// Why there is no driver, as a sentence; empty where there is one.
[[nodiscard]] std::string why_no_driver();
/// 13000 for CUDA 13.0; 0 without one.
[[nodiscard]] int driver_version() noexcept;

/// This thread has no part in the graphs that others capture while the object lives. Else a capture
/// in the global mode, libtorch's, forbids it most calls, and one that is made all the same spoils
/// that capture. Whatever is called of the driver is called with one of these.
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

/// One GPU in use: retains its primary context, the one that libtorch and the CUDA runtime use too.
/// Shared by all that use it; the last one releases the context. Thread-safe.
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

  /// The device's context is this thread's current one while the object lives, and the thread is
  /// outside captures.
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
