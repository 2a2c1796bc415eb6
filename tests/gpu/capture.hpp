// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>
#include <batchcast/cuda/driver.hpp>

#include <dlfcn.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

// Graphs that a trainer captures, with functions of the driver that the library itself never calls.
namespace batchcast::testing {

using Graph = void*;  ///< CUgraph, CUgraphExec

template <class Function>
[[nodiscard]] Function* driver_function(const char* symbol) {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW);
  void* const found = driver == nullptr ? nullptr : ::dlsym(driver, symbol);
  if (found == nullptr) throw std::runtime_error(std::string(symbol) + " is not there");
  return reinterpret_cast<Function*>(found);
}

/// A stream of somebody else's.
class ForeignStream {
 public:
  explicit ForeignStream(std::shared_ptr<detail::cuda::Device> device, unsigned flags = 1)
      : device_(std::move(device)) {
    const detail::cuda::Device::Current current(*device_);
    detail::cuda::check(*device_, device_->driver().stream_create(&stream_, flags, 0),
                        "cuStreamCreate");
  }
  ~ForeignStream() {
    detail::cuda::quietly(
        *device_, [this](const detail::cuda::Driver& driver) { driver.stream_destroy(stream_); });
  }
  ForeignStream(const ForeignStream&) = delete;
  ForeignStream& operator=(const ForeignStream&) = delete;
  [[nodiscard]] detail::cuda::CUstream handle() const noexcept { return stream_; }

 private:
  std::shared_ptr<detail::cuda::Device> device_;
  detail::cuda::CUstream stream_ = nullptr;
};

/// A capture on a stream, begun by this thread in the global mode, as libtorch does.
class Capturing {
 public:
  Capturing(std::shared_ptr<detail::cuda::Device> device, void* stream)
      : device_(std::move(device)), stream_(static_cast<detail::cuda::CUstream>(stream)) {
    const detail::cuda::Device::Current current(*device_);
    static const auto begin =
        driver_function<detail::cuda::CUresult(detail::cuda::CUstream, unsigned)>(
            "cuStreamBeginCapture_v2");
    constexpr unsigned global = 0;
    detail::cuda::check(*device_, begin(stream_, global), "cuStreamBeginCapture");
    capturing_ = true;
  }
  ~Capturing() {
    if (capturing_) static_cast<void>(end());
    static const auto destroy = driver_function<detail::cuda::CUresult(Graph)>("cuGraphDestroy");
    if (graph_ != nullptr) destroy(graph_);
  }
  Capturing(const Capturing&) = delete;
  Capturing& operator=(const Capturing&) = delete;

  /// What it came to: 0, or the CUresult that says that something has spoiled it.
  [[nodiscard]] unsigned end() {
    capturing_ = false;
    const detail::cuda::Device::Current current(*device_);
    static const auto end_capture =
        driver_function<detail::cuda::CUresult(detail::cuda::CUstream, Graph*)>(
            "cuStreamEndCapture");
    return end_capture(stream_, &graph_);
  }
  /// Once, on that stream.
  void launch() {
    const detail::cuda::Device::Current current(*device_);
    static const auto instantiate =
        driver_function<detail::cuda::CUresult(Graph*, Graph, unsigned long long)>(
            "cuGraphInstantiateWithFlags");
    static const auto run =
        driver_function<detail::cuda::CUresult(Graph, detail::cuda::CUstream)>("cuGraphLaunch");
    static const auto destroy =
        driver_function<detail::cuda::CUresult(Graph)>("cuGraphExecDestroy");
    Graph made = nullptr;
    detail::cuda::check(*device_, instantiate(&made, graph_, 0), "cuGraphInstantiate");
    detail::cuda::check(*device_, run(made, stream_), "cuGraphLaunch");
    detail::cuda::check(*device_, device_->driver().stream_synchronize(stream_),
                        "cuStreamSynchronize");
    destroy(made);
  }

 private:
  std::shared_ptr<detail::cuda::Device> device_;
  detail::cuda::CUstream stream_;
  Graph graph_ = nullptr;
  bool capturing_ = false;
};

}  // namespace batchcast::testing
