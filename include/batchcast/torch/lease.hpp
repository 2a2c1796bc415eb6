// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>

#include <c10/core/Allocator.h>
#include <c10/core/Device.h>
#include <c10/core/Storage.h>

#include <cstddef>
#include <memory>

namespace batchcast::inline v0_1::detail {

/// The bytes of one field of all samples of a batch.
struct FieldBytes {
  std::byte* data = nullptr;
  std::size_t size = 0;
};

/// A reference to a batch as libtorch keeps one: a context, and a function that releases it on the
/// thread that drops the last view.
inline void* new_lease(const Batch& batch) {
  return std::make_unique<Batch>(batch.share()).release();
}
inline void delete_lease(void* lease) { delete static_cast<Batch*>(lease); }

/// A storage over the batch's memory, which it keeps. Writes go to that memory: they have to stay
/// with the trainer, or to end the process.
inline c10::Storage plain_storage(const Batch& batch, FieldBytes bytes, c10::Device device,
                                  c10::Allocator& allocator) {
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes.size,
                      c10::DataPtr(bytes.data, new_lease(batch), delete_lease, device), &allocator,
                      /*resizable=*/true);
}

}  // namespace batchcast::inline v0_1::detail
