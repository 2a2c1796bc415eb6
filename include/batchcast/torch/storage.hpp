// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/torch/cow_storage.hpp>
#include <batchcast/torch/device_storage.hpp>

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/Storage.h>
#include <torch/version.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

namespace batchcast::inline v0_1::detail {

/// Bytes of one field that the samples of a batch take.
struct FieldBytes {
  std::byte* data = nullptr;
  std::size_t size = 0;
};

/// A reference to a batch as libtorch keeps one: a context and who lets go of it, on whichever
/// thread drops the last view.
inline void* new_lease(const Batch& batch) {
  return std::make_unique<Batch>(batch.share()).release();
}
inline void delete_lease(void* lease) { delete static_cast<Batch*>(lease); }

#if BATCHCAST_TORCH_HAS_COW
/// The same of a tensor on a GPU, which is found by its address as long as it may be copied from.
struct ShownLease final : Batch {
  ShownLease(Batch batch, const void* shown) : Batch(std::move(batch)), data(shown) {
    shown_on_gpus().add(data, *this);
  }
  ~ShownLease() { shown_on_gpus().remove(data, *this); }
  const void* data;
};
inline void* new_shown_lease(const Batch& batch, FieldBytes bytes) {
  Batch* const lease = std::make_unique<ShownLease>(batch.share(), bytes.data).release();
  return lease;
}
inline void delete_shown_lease(void* lease) {
  delete static_cast<ShownLease*>(static_cast<Batch*>(lease));
}
#endif

/// A storage over the batch's own memory, which it keeps. Writes go to that memory: they have to
/// stay with the trainer, or to end the process.
inline c10::Storage plain_storage(const Batch& batch, FieldBytes bytes, c10::Device device,
                                  c10::Allocator& allocator) {
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes.size,
                      c10::DataPtr(bytes.data, new_lease(batch), delete_lease, device), &allocator,
                      /*resizable=*/true);
}
inline c10::Storage plain_storage(const Batch& batch, FieldBytes bytes) {
  return plain_storage(batch, bytes, c10::Device(c10::kCPU), *c10::GetCPUAllocator());
}

/// A storage of torch's own with a copy of the bytes.
inline c10::Storage copied_storage(FieldBytes bytes) {
  c10::Allocator* const allocator = c10::GetCPUAllocator();
  c10::DataPtr copy = allocator->allocate(bytes.size);
  std::memcpy(copy.get(), bytes.data, bytes.size);
  return c10::Storage(c10::Storage::use_byte_size_t(), bytes.size, std::move(copy), allocator,
                      /*resizable=*/true);
}

/// What a batch's tensor stands on: its memory as it is where writes stay with the trainer. Else a
/// write copies it first. libtorch 1.x cannot do that: there a write ends the process with the
/// ring's message. Of 2.x the oldest cannot either; there the tensor is a copy.
inline c10::Storage lease_storage(const Batch& batch, FieldBytes bytes) {
  if (batch.keeps_writes()) return plain_storage(batch, bytes);
#if BATCHCAST_TORCH_HAS_COW
  if (!copies_on_write()) return copied_storage(bytes);
  return copy_on_write_storage({bytes.data, new_lease(batch), delete_lease}, bytes.size);
#elif TORCH_VERSION_MAJOR >= 2
  return copied_storage(bytes);
#else
  return plain_storage(batch, bytes);
#endif
}

/// Whether a tensor of this batch on a GPU has to be a copy, since nothing else keeps writes off
/// the ring: there is no copy-on-write in 1.x and the oldest 2.x.
[[nodiscard]] inline bool has_to_copy_on_gpu(const Batch& batch) {
  return !batch.writable() && !copies_on_write_on_gpus();
}

/// The same on a GPU. Where `has_to_copy_on_gpu` says so nobody may write to it.
inline c10::Storage gpu_lease_storage(const Batch& batch, FieldBytes bytes, c10::Device device) {
#if BATCHCAST_TORCH_HAS_COW
  c10::Allocator& allocator = copies_on_gpu(device);
  if (!batch.writable() && copies_on_write_on_gpus()) {
    return storage_of_copies({bytes.data, new_shown_lease(batch, bytes), delete_shown_lease},
                             bytes.size, {device, &allocator});
  }
#else
  c10::Allocator& allocator = torchs_gpu_allocator();
#endif
  return plain_storage(batch, bytes, device, allocator);
}

/// The batch that a storage was made over, whether or not a write has copied it since; null if
/// none.
[[nodiscard]] inline const Batch* batch_under(const c10::Storage& storage) {
  const c10::StorageImpl* const implementation = storage.unsafeGetStorageImpl();
#if BATCHCAST_TORCH_HAS_COW
  if (const auto* foreign = dynamic_cast<const ForeignStorage*>(implementation)) {
    return static_cast<const Batch*>(foreign->context());
  }
#endif
  const c10::DataPtr& data = implementation->data_ptr();
  return data.get_deleter() == delete_lease ? static_cast<const Batch*>(data.get_context())
                                            : nullptr;
}

/// Whether a storage's bytes are those of a batch, rather than torch's own.
[[nodiscard]] inline bool shows_a_batch(const c10::Storage& storage) {
  const c10::DeleterFnPtr deleter = storage.data_ptr().get_deleter();
#if BATCHCAST_TORCH_HAS_COW
  if (deleter == c10::impl::cow::cow_deleter || deleter == delete_shown_lease) return true;
#endif
  return deleter == delete_lease;
}

/// Lets go of batches that only lazy clones had kept, which are gone by now.
inline void sweep_released_clones() {
#if BATCHCAST_TORCH_HAS_COW
  lingering_pins().sweep();
#endif
}

}  // namespace batchcast::inline v0_1::detail
