// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/consumer/delivery.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/core/process_symbol.hpp>

#include <ATen/Context.h>
#include <c10/core/Device.h>
#include <c10/core/Stream.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/version.h>

#include <string>

// What libtorch has to say about a GPU. All of it goes through c10's registries: these headers need
// no CUDA, and neither does a program whose batches stay on the host.
namespace batchcast::inline v0_1 {
namespace detail {

/// The cudaStream_t (CUstream) of one of torch's streams. Newer libtorches have a function for it,
/// older ones only in a library that may not be linked.
template <class Stream>
[[nodiscard]] void* handle_of(const Stream& stream) {
  if constexpr (requires { stream.native_handle(); }) {
    return stream.native_handle();
  } else {
    if (stream.id() == 0) return nullptr;  // the legacy default stream
    // This calls CUDAStream::stream() of a CUDAStream, which holds a Stream and nothing else.
    using Ask = void* (*)(const Stream*);
    static const auto ask =
        reinterpret_cast<Ask>(process_symbol("_ZNK3c104cuda10CUDAStream6streamEv"));
    if (ask != nullptr) return ask(&stream);
    throw InvalidArgument(
        text("batchcast: libtorch {}.{} does not tell the CUDA stream of one of its streams. Link "
             "libc10_cuda.so so that it is found, or train on the default stream.",
             TORCH_VERSION_MAJOR, TORCH_VERSION_MINOR));
  }
}

[[nodiscard]] inline c10::Device torch_device(Placement placement) {
  if (placement.is_host()) return c10::Device(c10::kCPU);
  return c10::Device(c10::kCUDA, static_cast<c10::DeviceIndex>(placement.device()));
}

[[nodiscard]] inline bool torch_has_cuda() noexcept {
  return c10::impl::hasDeviceGuardImpl(c10::kCUDA);
}

template <class Context>
void start_cuda_in(Context& context) {
  if constexpr (requires { context.lazyInitDevice(c10::kCUDA); }) {
    context.lazyInitDevice(c10::kCUDA);
  } else {
    context.lazyInitCUDA();
  }
}

/// Makes sure that libtorch can work on that GPU. Throws GpuUnavailable where it cannot.
inline void use_cuda_of_torch(Placement placement) {
  if (!torch_has_cuda()) {
    throw GpuUnavailable(
        text("batchcast: batches were asked for on {}, but the libtorch of this program has no "
             "CUDA (its libtorch_cuda.so is missing or was not linked). Take a CUDA build of "
             "libtorch, or batches in host memory: placement = \"host\".",
             placement.text()));
  }
  const int gpus = c10::impl::VirtualGuardImpl(c10::kCUDA).deviceCount();
  if (static_cast<int>(placement.device()) >= gpus) {
    throw GpuUnavailable(text(
        "batchcast: batches were asked for on {}, but libtorch sees {} GPUs. See "
        "CUDA_VISIBLE_DEVICES, and whether this libtorch is made for the driver that is installed.",
        placement.text(), gpus));
  }
  if (at::hasCUDA()) start_cuda_in(at::globalContext());
}

/// `placement` with a number where it is "cuda": the GPU that is current in libtorch. Where the
/// process chose none, torch says the first, and then `settled` decides.
[[nodiscard]] inline Placement settled_by_torch(Placement placement) {
  if (!placement.is_own_cuda() || !torch_has_cuda()) return placement;
  const auto current = c10::impl::VirtualGuardImpl(c10::kCUDA).getDevice().index();
  return current > 0 ? Placement::on_cuda(static_cast<unsigned>(current)) : settled(placement);
}

/// The stream that this thread's libtorch calls use on that GPU.
[[nodiscard]] inline void* current_stream_on(Placement placement) {
  use_cuda_of_torch(placement);
  return handle_of(c10::impl::VirtualGuardImpl(c10::kCUDA).getStream(torch_device(placement)));
}

}  // namespace detail

/// Names a further torch stream that reads this batch, as `Batch::use` does. The samples are kept
/// until that stream has passed the point at which the last of its tensors was dropped. The stream
/// that was current when the batch came needs no naming.
inline void use_on(const Batch& batch, const c10::Stream& stream) {
  batch.use(detail::handle_of(stream));
}

}  // namespace batchcast::inline v0_1
