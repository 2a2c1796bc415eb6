// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/torch/cow_storage.hpp>
#include <batchcast/torch/lease.hpp>
#include <batchcast/torch/stream.hpp>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/Storage.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

// Storages over a GPU's memory. Trainers map it read-only: a write would end the process's CUDA
// context, so writes have to copy here as well.
namespace batchcast::inline v0_1::detail {

/// torch's own allocator of GPU memory.
[[nodiscard]] inline c10::Allocator& torchs_gpu_allocator() {
  if (at::hasCUDA()) return *at::detail::getCUDAHooks().getCUDADeviceAllocator();
  return *c10::GetAllocator(c10::kCUDA);
}

/// Bytes on a GPU as torch's kernels take them; it does not own them.
[[nodiscard]] inline at::Tensor bytes_on_gpu(void* data, std::size_t size, c10::Device device) {
  const auto elements = static_cast<std::int64_t>(size);
  at::Tensor bytes = at::detail::make_tensor<at::TensorImpl>(
      c10::Storage(c10::Storage::use_byte_size_t(), size, c10::DataPtr(data, device)),
      at::DispatchKeySet(at::DispatchKey::CUDA), c10::scalarTypeToTypeMeta(at::kByte));
  bytes.unsafeGetTensorImpl()->set_sizes_contiguous(at::IntArrayRef(elements));
  return bytes;
}

#if BATCHCAST_TORCH_HAS_COW

/// The batches that tensors on GPUs show, by address: on a write, libtorch knows only the address
/// that it copies from. Thread-safe.
class ShownOnGpus {
 public:
  void add(const void* data, const Batch& batch) {
    const std::lock_guard lock(mutex_);
    shown_.emplace(data, &batch);
  }
  void remove(const void* data, const Batch& batch) {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = shown_.equal_range(data);
    shown_.erase(std::find_if(first, last, [&](const auto& one) { return one.second == &batch; }));
  }
  /// Names the stream to all batches that are shown from that address.
  void use(const void* data, void* stream) {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = shown_.equal_range(data);
    std::for_each(first, last, [&](const auto& one) { one.second->use(stream); });
  }

 private:
  std::mutex mutex_;
  std::unordered_multimap<const void*, const Batch*> shown_;
};

/// The process's list; never destroyed, since tensors may outlive every static.
[[nodiscard]] inline ShownOnGpus& shown_on_gpus() {
  static auto* const shown = new ShownOnGpus();
  return *shown;
}

/// The lease of a tensor on a GPU. Its address finds the batch as long as a write may copy it.
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

/// Copies bytes of one GPU into torch's memory there, with any device current. Its own allocator
/// copies on the legacy default stream, for which the streams of torch's pool do not wait. This one
/// copies on the current stream, on which the write follows. The batch learns of that stream, so
/// that its place in the ring is kept until the copy has read it.
class GpuCopies final : public c10::Allocator {
 public:
  explicit GpuCopies(c10::Device device) : device_(device) {}

  c10::DataPtr allocate(std::size_t size) override {
    const c10::DeviceGuard guard(device_);
    return torchs_gpu_allocator().allocate(size);
  }
  c10::DeleterFnPtr raw_deleter() const override { return torchs_gpu_allocator().raw_deleter(); }
  void copy_data(void* to, const void* from, std::size_t size) const override {
    if (size == 0) return;
    shown_on_gpus().use(
        from, current_stream_on(Placement::on_cuda(static_cast<unsigned>(device_.index()))));
    const at::AutoDispatchBelowADInplaceOrView plainly;
    bytes_on_gpu(to, size, device_).copy_(bytes_on_gpu(const_cast<void*>(from), size, device_));
  }

 private:
  c10::Device device_;
};

/// The process's allocator for each GPU that libtorch sees; never destroyed, since tensors may
/// outlive every static.
[[nodiscard]] inline c10::Allocator& copies_on_gpu(c10::Device device) {
  static std::vector<GpuCopies>* const all = [] {
    const auto gpus = c10::impl::VirtualGuardImpl(c10::kCUDA).deviceCount();
    auto* const made = new std::vector<GpuCopies>();
    for (int i = 0; i < static_cast<int>(gpus); ++i) {
      made->emplace_back(c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(i)));
    }
    return made;
  }();
  return all->at(static_cast<std::size_t>(device.index()));
}

#if BATCHCAST_TORCH_HAS_MATERIALIZERS

/// A storage that copies itself on its first write, by a hook. Later libtorches bind what they make
/// of lazy clones on GPUs to one stream and refuse writes on others. So it has no lazy clones. The
/// bytes under it are kept while it lives.
class CopiedStorage final : public ForeignStorage {
 public:
  CopiedStorage(ForeignBytes bytes, std::size_t size, CopyPlace place)
      : ForeignStorage(bytes.context, static_cast<std::int64_t>(size),
                       c10::DataPtr(bytes.data, bytes.context, bytes.let_go, place.device),
                       place.allocator) {
    set_materializer(copy);
  }

  void release_resources() override {
    c10::StorageImpl::release_resources();
    original_.clear();
  }

 private:
  static void copy(c10::StorageImpl* storage) {
    auto& self = static_cast<CopiedStorage&>(*storage);
    // resize_() gives the storage other memory and keeps the hook.
    if (self.data_ptr().get_context() != self.context()) return;
    self.original_ = self.allocator()->clone(self.data(), self.nbytes());
    std::swap(self.original_, self._mutable_data_ptr_no_checks());
  }

  c10::DataPtr original_;
};

inline c10::Storage storage_of_copies(ForeignBytes bytes, std::size_t size, CopyPlace place) {
  return c10::Storage(c10::make_intrusive<CopiedStorage>(bytes, size, place));
}

#else

inline c10::Storage storage_of_copies(ForeignBytes bytes, std::size_t size, CopyPlace place) {
  return copy_on_write_storage(bytes, size, place);
}

#endif

/// Tries, in host memory, whether this libtorch lets a storage's allocator make the copy.
inline bool try_copies_on_gpus() {
  class Copies final : public c10::Allocator {
   public:
    c10::DataPtr allocate(std::size_t size) override {
      ++made;
      return c10::GetCPUAllocator()->allocate(size);
    }
    void copy_data(void* to, const void* from, std::size_t size) const override {
      std::memcpy(to, from, size);
    }
    int made = 0;
  };
  Copies copies;
  const bool copied = try_copy_on_write([&](ForeignBytes bytes, std::size_t size) {
    return storage_of_copies(bytes, size, {c10::Device(c10::kCPU), &copies});
  });
  return copied && copies.made == 1;
}

/// Whether a first write copies tensors on GPUs. If not, says so once; tensors are then copies.
inline bool copies_on_write_on_gpus() {
  static const bool works = [] {
    const bool tried = try_copies_on_gpus();
    if (!tried) warn_that_tensors_are_copies();
    return tried;
  }();
  return works;
}

#else

inline bool copies_on_write_on_gpus() noexcept { return false; }

#endif

/// Whether a tensor of this batch on a GPU has to be a copy, since nothing else keeps writes off
/// the ring. 1.x and the oldest 2.x have no copy-on-write.
[[nodiscard]] inline bool has_to_copy_on_gpu(const Batch& batch) {
  return !batch.writable() && !copies_on_write_on_gpus();
}

/// The storage of a tensor of a field on a GPU. Names the stream that is current there to the
/// batch. Where `has_to_copy_on_gpu` says so, the tensor is copied before the trainer gets it.
inline c10::Storage storage_on_gpu(const Batch& batch, FieldBytes bytes) {
  batch.use(current_stream_on(batch.placement()));
  const c10::Device device = torch_device(batch.placement());
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

}  // namespace batchcast::inline v0_1::detail
