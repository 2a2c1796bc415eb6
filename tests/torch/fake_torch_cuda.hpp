// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/core/field_table.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/torch/storage.hpp>

#include <ATen/EmptyTensor.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/Allocator.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

// What a libtorch without CUDA needs to have tensors on GPUs: devices, streams, an allocator and a
// handful of kernels. Everything is in host memory, happens at once, and is noted.
namespace batchcast::testing {

/// What the fake GPUs were asked to do.
struct FakeGpuNotes {
  struct Copy {
    c10::DeviceIndex device;
    c10::StreamId stream;
    std::size_t bytes;
  };
  std::vector<Copy> copies;
  std::vector<c10::DeviceIndex> allocations;    ///< the device that was current at each
  std::vector<c10::StreamId> recorded_streams;  ///< by record_stream
  c10::DeviceIndex device = 0;                  ///< current
  c10::StreamId stream = 0;                     ///< current on all devices
  std::map<c10::StreamId, void*> handles;       ///< of streams that a driver knows
  /// Where the host sees memory that a driver knows; null of other memory.
  void* (*look)(unsigned long long address, std::size_t bytes) = nullptr;
};

[[nodiscard]] inline FakeGpuNotes& fake_gpus() {
  static FakeGpuNotes* const notes = new FakeGpuNotes();
  return *notes;
}

struct FakeCudaGuard final : c10::impl::DeviceGuardImplInterface {
  using Device = c10::Device;
  using Stream = c10::Stream;

  c10::DeviceType type() const override { return c10::kCUDA; }
  Device exchangeDevice(Device device) const override {
    return {c10::kCUDA, std::exchange(fake_gpus().device, device.index())};
  }
  Device getDevice() const override { return {c10::kCUDA, fake_gpus().device}; }
  void setDevice(Device device) const override { fake_gpus().device = device.index(); }
  void uncheckedSetDevice(Device device) const noexcept override {
    fake_gpus().device = device.index();
  }
  Stream getStream(Device device) const noexcept override {
    return Stream(Stream::UNSAFE, device, fake_gpus().stream);
  }
  Stream exchangeStream(Stream stream) const noexcept override {
    return Stream(Stream::UNSAFE, stream.device(), std::exchange(fake_gpus().stream, stream.id()));
  }
  c10::DeviceIndex deviceCount() const noexcept override { return 2; }
  // Older ones do not ask for it.
  virtual void* getStreamNativeHandle(const Stream stream) const {
    const auto known = fake_gpus().handles.find(stream.id());
    if (known != fake_gpus().handles.end()) return known->second;
    return reinterpret_cast<void*>(0x1000 + stream.id());
  }
};

struct FakeGpuAllocator final : c10::Allocator {
  static c10::DataPtr get(std::size_t size) {
    const c10::DeviceIndex device = fake_gpus().device;
    fake_gpus().allocations.push_back(device);
    void* const data = std::malloc(size + 1);
    return {data, data, std::free, c10::Device(c10::kCUDA, device)};
  }
#if BATCHCAST_TORCH_HAS_COW
  c10::DataPtr allocate(std::size_t size) override { return get(size); }
  void copy_data(void*, const void*, std::size_t) const override {
    TORCH_CHECK(false, "torch's own copy, on the legacy default stream");
  }
#else
  c10::DataPtr allocate(std::size_t size) const override { return get(size); }
#endif
};

/// The same memory as the host sees it.
[[nodiscard]] inline at::Tensor on_host(void* data, const at::Tensor& tensor) {
  return at::from_blob(data, tensor.sizes(), tensor.strides(),
                       at::TensorOptions().dtype(tensor.dtype()));
}
[[nodiscard]] inline at::Tensor on_host(const at::Tensor& tensor) {
  void* const data = static_cast<std::byte*>(tensor.storage().data_ptr().get()) +
                     tensor.storage_offset() * static_cast<std::int64_t>(tensor.itemsize());
  void* seen = nullptr;
  if (fake_gpus().look != nullptr) {
    seen = fake_gpus().look(reinterpret_cast<unsigned long long>(data), tensor.nbytes());
  }
  return on_host(seen != nullptr ? seen : data, tensor);
}

inline at::Tensor& fake_copy(at::Tensor& to, const at::Tensor& from, bool) {
  void* const place = to.data_ptr();  // a write, as of any kernel
  fake_gpus().copies.push_back({to.device().index(), fake_gpus().stream, to.nbytes()});
  on_host(place, to).copy_(on_host(from));
  return to;
}
inline at::Tensor fake_empty(at::IntArrayRef sizes, c10::optional<at::ScalarType> type,
                             c10::optional<at::Layout>, c10::optional<at::Device> device,
                             c10::optional<bool>, c10::optional<at::MemoryFormat> format) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_generic(sizes, c10::GetAllocator(c10::kCUDA),
                                   at::DispatchKeySet(at::DispatchKey::CUDA),
                                   type.value_or(at::kFloat), format);
}
inline at::Tensor fake_empty_strided(at::IntArrayRef sizes, at::IntArrayRef strides,
                                     c10::optional<at::ScalarType> type, c10::optional<at::Layout>,
                                     c10::optional<at::Device> device, c10::optional<bool>) {
  const c10::OptionalDeviceGuard guard(device);
  return at::detail::empty_strided_generic(sizes, strides, c10::GetAllocator(c10::kCUDA),
                                           at::DispatchKeySet(at::DispatchKey::CUDA),
                                           type.value_or(at::kFloat));
}
inline void fake_record_stream(at::Tensor&, c10::Stream stream) {
  fake_gpus().recorded_streams.push_back(stream.id());
}

/// Two GPUs for libtorch while it lives; only where there are none.
class FakeTorchCuda {
 public:
  [[nodiscard]] static bool possible() { return !c10::impl::hasDeviceGuardImpl(c10::kCUDA); }

  FakeTorchCuda() {
    static auto* const kernels = [] {
      c10::SetAllocator(c10::kCUDA, new FakeGpuAllocator());
      auto* const made = new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA,
                                            __FILE__, __LINE__);
      made->impl("copy_", fake_copy);
      made->impl("empty.memory_format", fake_empty);
      made->impl("empty_strided", fake_empty_strided);
      made->impl("record_stream", fake_record_stream);
      return made;
    }();
    static_cast<void>(kernels);
    static const auto* const guard = new FakeCudaGuard();
    set_guard(guard);
    fake_gpus() = {};
  }
  FakeTorchCuda(const FakeTorchCuda&) = delete;
  FakeTorchCuda& operator=(const FakeTorchCuda&) = delete;
  ~FakeTorchCuda() { set_guard(nullptr); }

 private:
  static void set_guard(const c10::impl::DeviceGuardImplInterface* guard) {
    c10::impl::device_guard_impl_registry[static_cast<std::size_t>(c10::kCUDA)].store(guard);
  }
};

/// What a batch shows, to be changed.
BatchContents& contents_of(Batch& batch);
template <auto Member>
struct BatchInside {
  friend BatchContents& contents_of(Batch& batch) { return batch.*Member; }
};
template struct BatchInside<&Batch::contents_>;

/// Batches of a stream as if they were on a GPU, all fields but those.
class OnGpu {
 public:
  OnGpu(const FieldTable& fields, Placement placement, std::string host_field = {})
      : placement_(placement) {
    std::vector<FieldInfo> infos;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      infos.push_back(fields[i]);
      infos[i].on_device = i != fields.sample_id_index() && fields[i].spec.name != host_field;
    }
    fields_ = FieldTable(std::move(infos));
  }
  [[nodiscard]] Batch operator()(const Batch& batch) const {
    Batch moved = batch.share();
    contents_of(moved).fields = &fields_;
    contents_of(moved).placement = placement_;
    return moved;
  }
  [[nodiscard]] const FieldTable& fields() const noexcept { return fields_; }

 private:
  FieldTable fields_;
  Placement placement_;
};

}  // namespace batchcast::testing
