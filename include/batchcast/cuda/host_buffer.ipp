// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/host_buffer.hpp>

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/cuda/driver.hpp>

#include <batchcast/core/error.hpp>

#include <string>

namespace batchcast::inline v0_1::detail::cuda {

BATCHCAST_INLINE HostBuffer::HostBuffer(std::shared_ptr<Device> device, std::uint64_t bytes)
    : OwnedMemory(std::move(device), bytes) {
  const Device::Current current(*device_);
  void* data = nullptr;
  const CUresult result = device_->driver().mem_host_alloc(&data, bytes, mem_host_alloc_portable);
  if (result == CUDA_ERROR_OUT_OF_MEMORY) {
    throw OutOfMemory(
        text("batchcast: the driver of {} could not have {} of host memory page-locked for a "
             "batch: hold fewer or smaller batches, or do without pin",
             name_of(device_->info()), bytes_text(bytes)));
  }
  check(*device_, result, "cuMemHostAlloc");
  data_ = static_cast<std::byte*>(data);
}

BATCHCAST_INLINE HostBuffer::~HostBuffer() {
  if (data_ == nullptr) return;
  quietly(*device_, [this](const Driver& driver) { driver.mem_free_host(data_); });
}

}  // namespace batchcast::inline v0_1::detail::cuda
