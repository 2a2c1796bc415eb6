// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/torch/cow_storage.hpp>
#include <batchcast/torch/lease.hpp>

#include <c10/core/CPUAllocator.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>
#include <torch/version.h>

#include <cstring>
#include <utility>

namespace batchcast::inline v0_1::detail {

/// A storage that torch owns, with a copy of the bytes.
inline c10::Storage copied_storage(FieldBytes bytes) {
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  c10::DataPtr copy = allocator->allocate(bytes.size);
  std::memcpy(copy.get(), bytes.data, bytes.size);
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes.size, std::move(copy), allocator,
                      /*resizable=*/true);
}

/// The storage of a tensor of a field in host memory. Where writes stay with the trainer it is over
/// the batch's memory. Elsewhere a write copies it first. libtorch 1.x cannot do that: there a
/// write ends the process with the ring's message. The oldest 2.x cannot either; there the tensor
/// is a copy.
inline c10::Storage storage_on_host(const Batch& batch, FieldBytes bytes) {
#if BATCHCAST_TORCH_HAS_COW
  if (!batch.keeps_writes()) {
    return copies_on_write()
               ? copy_on_write_storage({bytes.data, new_lease(batch), delete_lease}, bytes.size)
               : copied_storage(bytes);
  }
#elif TORCH_VERSION_MAJOR >= 2
  if (!batch.keeps_writes()) return copied_storage(bytes);
#endif
  return plain_storage(batch, bytes, c10::Device(c10::kCPU), *c10::GetCPUAllocator());
}

}  // namespace batchcast::inline v0_1::detail
