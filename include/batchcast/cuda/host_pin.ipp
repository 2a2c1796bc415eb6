// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/host_pin.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/cuda/driver.hpp>

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <string>

namespace batchcast::inline v0_1::detail::cuda {
namespace pin_detail {

// Where the user can find out what prevented it.
inline std::string cure_of(CUresult result) {
  if (result == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) {
    return "other code of this process has registered a part of it";
  }
  // RLIMIT_MEMLOCK does not count: the driver's module pins pages without a look at it.
  return "the kernel's log says why (`dmesg`, lines with NVRM); besides too little memory it can "
         "be "
         "the limit of a control group (memory.max) or a container's seccomp filter that refuses "
         "the driver's ioctl";
}

inline void unregister(const Device& device, const std::vector<std::byte*>& pieces) noexcept {
  quietly(device, [&](const Driver& driver) {
    for (std::byte* piece : pieces) driver.mem_host_unregister(piece);
  });
}

}  // namespace pin_detail

BATCHCAST_INLINE HostPin::HostPin(std::shared_ptr<Device> device, const Range& range)
    : device_(std::move(device)) {
  if (range.read_only && !pins_read_only(device_->info())) {
    throw GpuError(
        text("{} cannot page-lock memory that is mapped read-only: do without pin, or take a newer "
             "driver",
             name_of(device_->info())));
  }
  // Where the GPU uses the host's page tables the flag is not needed, and may not be known.
  const bool tell = range.read_only && !device_->info().host_page_tables;
  const unsigned flags = mem_host_register_portable | (tell ? mem_host_register_read_only : 0u);
  const std::uint64_t piece_bytes = range.whole ? pin_whole_bytes : pin_piece_bytes;
  pieces_.reserve((range.bytes + piece_bytes - 1) / piece_bytes);
  const Device::Current current(*device_);
  for (std::uint64_t done = 0; done < range.bytes; done += piece_bytes) {
    std::byte* piece = const_cast<std::byte*>(range.data) + done;
    const std::uint64_t bytes = std::min(piece_bytes, range.bytes - done);
    const CUresult result = device_->driver().mem_host_register(piece, bytes, flags);
    if (result != CUDA_SUCCESS) {
      pin_detail::unregister(*device_, pieces_);
      fail(device_->driver(), result, "cuMemHostRegister",
           text("{} for bytes {} to {} of {}", name_of(device_->info()), done, done + bytes,
                range.bytes),
           pin_detail::cure_of(result));
    }
    pieces_.push_back(piece);
  }
}

BATCHCAST_INLINE HostPin::~HostPin() {
  if (!pieces_.empty()) pin_detail::unregister(*device_, pieces_);
}

}  // namespace batchcast::inline v0_1::detail::cuda
