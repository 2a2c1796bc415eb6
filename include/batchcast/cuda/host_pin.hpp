// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail::cuda {

/// How much a driver registers at a time. A copy must not reach across two pieces.
inline constexpr std::uint64_t pin_piece_bytes = std::uint64_t{64} << 20;
/// The size of pieces for callers that cannot split copies. Drivers since R580 refuse 512 GiB at a
/// time, for which their kernel module allocates a table of 2 GiB at once.
inline constexpr std::uint64_t pin_whole_bytes = std::uint64_t{256} << 30;

/// Host memory that is page-locked for all GPUs of this process while the object lives, in pieces
/// of `pin_piece_bytes` or `pin_whole_bytes`. Move-only; the memory must outlive it.
class HostPin {
 public:
  struct Range {
    const std::byte* data = nullptr;  ///< page-aligned
    std::uint64_t bytes = 0;
    bool read_only = false;  ///< the mapping is read-only: needs pins_read_only(DeviceInfo)
    bool whole = false;      ///< in pieces as large as can be
  };
  /// Throws GpuError, which says where to look for the cause.
  HostPin(std::shared_ptr<Device> device, const Range& range);
  ~HostPin();
  HostPin(HostPin&& other) noexcept
      : device_(std::move(other.device_)), pieces_(std::exchange(other.pieces_, {})) {}
  HostPin& operator=(HostPin&&) = delete;

 private:
  std::shared_ptr<Device> device_;
  std::vector<std::byte*> pieces_;
};

}  // namespace batchcast::inline v0_1::detail::cuda
