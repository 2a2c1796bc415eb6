// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/torch/cow_storage.hpp>
#include <batchcast/torch/device_storage.hpp>
#include <batchcast/torch/lease.hpp>

#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>

// What a storage can say later, whether batchcast or torch made it.
namespace batchcast::inline v0_1::detail {

/// The batch that a storage was made over, even if a write has copied it since; null if none.
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

}  // namespace batchcast::inline v0_1::detail
