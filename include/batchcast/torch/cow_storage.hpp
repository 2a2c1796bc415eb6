// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <torch/version.h>

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
#define BATCHCAST_TORCH_HAS_COW 1
#else
#define BATCHCAST_TORCH_HAS_COW 0
#endif

// In earlier versions the deleter of a storage says that a write has to copy it.
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 13)
#define BATCHCAST_TORCH_HAS_MATERIALIZERS 1
#else
#define BATCHCAST_TORCH_HAS_MATERIALIZERS 0
#endif

#if BATCHCAST_TORCH_HAS_COW
#include <c10/core/CPUAllocator.h>
#include <c10/core/Storage.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/impl/COWDeleter.h>
#include <c10/util/Exception.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

// For memory in which a write would end the process: a GPU's, and the ring's where its pages cannot
// be replaced by private ones. On its first write, libtorch 2.x copies a storage whose bytes others
// refer to (lazy clones). Here the ring is always such another: our reference, the pin, makes every
// write copy.
namespace batchcast::inline v0_1::detail {

using CowContext = c10::impl::cow::COWDeleterContext;

/// Foreign bytes, and the function to call once no storage shows them any more.
struct ForeignBytes {
  void* data = nullptr;
  void* context = nullptr;
  c10::DeleterFnPtr let_go = nullptr;
};

/// Where the bytes are, and the allocator that copies them when they are written.
struct CopyPlace {
  c10::Device device = c10::Device(c10::kCPU);
  c10::Allocator* allocator = c10::GetCPUAllocator();
};

/// A storage that can say which bytes it was made over.
class ForeignStorage : public c10::StorageImpl {
 public:
  /// The context of the bytes. It is valid while the storage lives.
  [[nodiscard]] const void* context() const noexcept { return context_; }

 protected:
  ForeignStorage(void* context, std::int64_t size, c10::DataPtr data, c10::Allocator* allocator)
      : c10::StorageImpl(use_byte_size_t(), size, std::move(data), allocator, /*resizable=*/true),
        context_(context) {}

 private:
  void* context_;
};

/// How many references to the bytes there are. libtorch has no public way to ask, but explicit
/// instantiations may name private members.
inline std::int64_t references_of(const CowContext& context);
template <auto Member>
struct CowReferences {
  friend std::int64_t references_of(const CowContext& context) {
    return (context.*Member).load(std::memory_order_acquire);
  }
};
template struct CowReferences<&CowContext::refcount_>;

/// Pins whose tensors are gone while lazy clones of them live. Without the pin the last clone would
/// take over the ring's memory and write to it. Thread-safe.
class LingeringPins {
 public:
  void add(CowContext& pin) {
    const std::lock_guard lock(mutex_);
    pins_.push_back(&pin);
    count_.store(pins_.size(), std::memory_order_relaxed);
  }
  /// Releases the pins that no clone shares any more.
  void sweep() {
    if (count_.load(std::memory_order_relaxed) == 0) return;
    std::vector<CowContext*> over;
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(pins_, [&](CowContext* pin) {
        if (references_of(*pin) != 1) return false;
        over.push_back(pin);
        return true;
      });
      count_.store(pins_.size(), std::memory_order_relaxed);
    }
    for (CowContext* pin : over) c10::impl::cow::cow_deleter(pin);
  }

 private:
  std::mutex mutex_;
  std::vector<CowContext*> pins_;
  std::atomic<std::size_t> count_ = 0;
};

/// The process's list; never destroyed, since tensors may outlive every static.
inline LingeringPins& lingering_pins() {
  static LingeringPins* const pins = new LingeringPins();
  return *pins;
}

/// A copy-on-write storage that keeps a pin on its bytes while it lives.
class PinnedStorage final : public ForeignStorage {
 public:
  PinnedStorage(ForeignBytes bytes, CowContext& pin, std::size_t size, CopyPlace place)
      : ForeignStorage(bytes.context, static_cast<std::int64_t>(size),
                       c10::DataPtr(bytes.data, &pin, c10::impl::cow::cow_deleter, place.device),
                       place.allocator),
        pin_(&pin) {
    pin.increment_refcount();
#if BATCHCAST_TORCH_HAS_MATERIALIZERS
    set_materializer(c10::impl::cow::materialize_cow);
#endif
  }
  PinnedStorage(const PinnedStorage&) = delete;
  PinnedStorage& operator=(const PinnedStorage&) = delete;
  ~PinnedStorage() override { unpin(); }

  void release_resources() override { unpin(); }

 private:
  void unpin() {
    if (pin_ == nullptr) return;
    CowContext* const pin = std::exchange(pin_, nullptr);
    c10::StorageImpl::release_resources();  // our other reference, unless a write took it
    if (references_of(*pin) == 1) {
      c10::impl::cow::cow_deleter(pin);  // waits for a lazy clone that is just copying
    } else {
      lingering_pins().add(*pin);
    }
  }

  CowContext* pin_;
};

/// A storage over `bytes` that copies them on a write. `bytes.let_go` is called once, when the
/// storage and all its lazy clones are gone or have copied. Where the storage goes before its
/// clones, `lingering_pins` calls it in a later sweep, such as the one in the next call of this.
inline c10::Storage copy_on_write_storage(ForeignBytes bytes, std::size_t size,
                                          CopyPlace place = {}) {
  lingering_pins().sweep();
  auto* const context = new CowContext({bytes.context, bytes.let_go});
  return c10::Storage(c10::make_intrusive<PinnedStorage>(bytes, *context, size, place));
}

/// Tries it once. This finds out a libtorch that works differently before a write goes into the
/// ring. `make_storage` gets bytes and their size.
template <class MakeStorage>
bool try_copy_on_write(const MakeStorage& make_storage) {
  struct Scratch {
    std::uint64_t value = 1;
    int let_go = 0;
  };
  Scratch scratch;
  const auto release = [](void* context) { ++static_cast<Scratch*>(context)->let_go; };
  bool copied = false;
  {
    c10::Storage storage =
        make_storage(ForeignBytes{&scratch.value, &scratch, release}, sizeof(scratch.value));
    const bool seen = storage.data() == &scratch.value;
    void* const written = storage.mutable_data();
    std::memset(written, 0, sizeof(scratch.value));
    copied = seen && written != &scratch.value && scratch.value == 1 &&
             storage.mutable_data() == written && storage.data() == written;
  }
  return copied && scratch.let_go == 1;
}

inline void warn_that_tensors_are_copies() {
  TORCH_WARN(
      "batchcast: this libtorch does not copy storages on their first write as expected. Batches "
      "are copied as they are made into tensors.");
}

/// Whether this libtorch copies as expected. If not, it says so once; tensors are then copies.
inline bool copies_on_write() {
  static const bool works = [] {
    const bool tried = try_copy_on_write(
        [](ForeignBytes bytes, std::size_t size) { return copy_on_write_storage(bytes, size); });
    if (!tried) warn_that_tensors_are_copies();
    return tried;
  }();
  return works;
}

}  // namespace batchcast::inline v0_1::detail

#endif

namespace batchcast::inline v0_1::detail {

/// Releases batches that only lazy clones had kept, which are gone by now.
inline void sweep_released_clones() {
#if BATCHCAST_TORCH_HAS_COW
  lingering_pins().sweep();
#endif
}

}  // namespace batchcast::inline v0_1::detail
