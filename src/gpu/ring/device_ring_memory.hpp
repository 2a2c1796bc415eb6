// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cuda/device_allocation.hpp"
#include "gpu/ring/device_ring_layout.hpp"

#include <batchcast/core/log.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/producer_options.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/window.hpp>
#include "served/board_memory.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The parts of a device ring: its fields' segments, on the GPU and in sealed host memory, and its
/// board. The producer's mappings are writable. Consumers keep their mappings when this is
/// destroyed.
class DeviceRingMemory {
 public:
  struct Parts {
    std::shared_ptr<detail::cuda::Device> device;
    const ProducerOptions& options;
    const DeviceRingLayout& layout;
    LogCallback log;
  };
  /// Throws GpuUnavailable where the memory cannot be shared, GpuError, OutOfMemory, SystemError.
  explicit DeviceRingMemory(const Parts& parts);
  /// Throws in advance what can be known: GpuUnavailable, GpuError, OutOfMemory.
  static void check(const detail::cuda::Device& device, const DeviceRingLayout& layout);
  DeviceRingMemory(const DeviceRingMemory&) = delete;
  DeviceRingMemory& operator=(const DeviceRingMemory&) = delete;

  /// One per field of the layout. Bases of windows on the device are addresses of the GPU.
  [[nodiscard]] const std::vector<FieldWindow>& windows() const noexcept { return windows_; }
  /// Whether windows on the device continue across their end, as those in host memory do.
  [[nodiscard]] bool mapped_twice() const noexcept {
    return sharing_ == detail::cuda::Sharing::descriptor;
  }
  [[nodiscard]] const Segment& board_segment() const noexcept { return board_.segment(); }
  [[nodiscard]] Board board() noexcept { return board_.board(); }
  /// Adds one segment per field to a welcome, and their descriptors.
  void offer(Welcome& welcome, std::vector<int>& descriptors) const;

 private:
  struct Source {
    SegmentKind kind = SegmentKind::memfd;
    std::uint64_t bytes = 0;
    int descriptor = -1;
    std::string handle;
  };

  void make_on_device(const Parts& parts);
  void allocate(const Parts& parts, detail::cuda::Sharing sharing);
  void make_on_host(const DeviceRingLayout& layout);

  detail::cuda::Sharing sharing_ = detail::cuda::Sharing::descriptor;
  std::vector<detail::cuda::DeviceAllocation> device_segments_;
  std::vector<Segment> host_segments_;
  std::vector<DoubleMapping> host_mappings_;
  std::vector<FieldWindow> windows_;
  std::vector<Source> sources_;  ///< one per field
  BoardMemory board_;
};

}  // namespace batchcast::inline v0_1::detail
