// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/driver.hpp>
#include <batchcast/cuda/stream.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/device_stage.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

// What the benchmarks on a GPU share.
namespace batchcast::bench {

inline constexpr const char* stream_name = "gpu-bench";

/// `--name VALUE` words, and no others. Throws InvalidArgument.
class Words {
 public:
  Words(int argc, char** argv) {
    for (int i = 1; i < argc; i += 2) {
      const std::string name = argv[i];
      if (name.rfind("--", 0) != 0 || i + 1 == argc) {
        throw InvalidArgument("what is `" + name + "`? Say --name VALUE");
      }
      values_[name.substr(2)] = argv[i + 1];
    }
  }
  /// Takes one out.
  template <class T>
  void read(const char* name, T& value) {
    const auto found = values_.find(name);
    if (found == values_.end()) return;
    if constexpr (std::is_same_v<T, std::string>) {
      value = found->second;
    } else if constexpr (std::is_floating_point_v<T>) {
      value = static_cast<T>(std::stod(found->second));
    } else {
      value = static_cast<T>(std::stoull(found->second));
    }
    values_.erase(found);
  }
  void check_all_read() const {
    if (!values_.empty()) throw InvalidArgument("there is no --" + values_.begin()->first);
  }

 private:
  std::map<std::string, std::string> values_;
};

inline void print_line(const nlohmann::json& value) {
  std::puts(value.dump().c_str());
  std::fflush(stdout);
}

/// A kernel that the driver compiles; null where the driver cannot, as with the tests' own
/// driver. Its module is never unloaded: the process ends first.
[[nodiscard]] inline detail::cuda::CUfunction kernel_of(const detail::cuda::Device& device,
                                                        const char* ptx, const char* name) {
  const detail::cuda::Device::Current current(device);
  detail::cuda::CUmodule module = nullptr;
  detail::cuda::CUfunction kernel = nullptr;
  if (device.driver().module_load_data(&module, ptx) != detail::cuda::CUDA_SUCCESS ||
      device.driver().module_get_function(&kernel, module, name) != detail::cuda::CUDA_SUCCESS) {
    return nullptr;
  }
  return kernel;
}

/// What a training step begins with: a kernel that does nothing is launched on a stream of this
/// process's own.
class Launcher {
 public:
  explicit Launcher(std::shared_ptr<detail::cuda::Device> device)
      : device_(std::move(device)),
        stream_(device_),
        scratch_(device_, 64),
        nothing_(kernel_of(*device_, nothing_ptx, "nothing")) {}

  /// What a driver makes at the first launch is there afterwards.
  void launch_once() {
    launch(scratch_.data());
    stream_.wait();
  }
  [[nodiscard]] void* stream() const noexcept { return stream_.handle(); }
  /// "kernel"; "copy" where nothing can compile one, as with the tests' own driver.
  [[nodiscard]] const char* what() const noexcept {
    return nothing_ != nullptr ? "kernel" : "copy";
  }

  void launch(const std::byte* device_data) {
    if (nothing_ == nullptr) return stream_.copy_on_device(scratch_.data(), device_data, 8);
    const detail::cuda::Device::Current current(*device_);
    detail::cuda::CUdeviceptr data = detail::cuda::address_of(device_data);
    void* arguments[] = {&data};
    detail::cuda::check(
        *device_,
        device_->driver().launch_kernel(nothing_, 1, 1, 1, 32, 1, 1, 0,
                                        static_cast<detail::cuda::CUstream>(stream_.handle()),
                                        arguments, nullptr),
        "cuLaunchKernel");
  }

 private:
  static constexpr const char* nothing_ptx =
      ".version 7.0\n.target sm_80\n.address_size 64\n"
      ".visible .entry nothing(.param .u64 data) { ret; }\n";

  std::shared_ptr<detail::cuda::Device> device_;
  detail::cuda::Stream stream_;
  detail::cuda::DeviceBuffer scratch_;
  detail::cuda::CUfunction nothing_ = nullptr;
};

/// Samples of any size without a byte crossing the bus: `data` is whatever the device ring holds,
/// `sent_ns` is copied. So what is left is the hand-off.
class Untouched : public DeviceStage {
 public:
  explicit Untouched(std::uint64_t sample_bytes) : sample_bytes_(sample_bytes) {}

  [[nodiscard]] static Schema host_schema() { return {{"sent_ns", DType::u64, {}}}; }

  [[nodiscard]] DevicePlan plan(const Schema&) const override {
    DevicePlan plan;
    plan.fields.push_back(
        {.spec = {"data", DType::u8, {static_cast<std::int64_t>(sample_bytes_)}}});
    plan.fields.push_back({.spec = {"sent_ns", DType::u64, {}}, .copy_of = 0});
    return plan;
  }
  [[nodiscard]] std::string recipe_json(const std::string&) const override { return {}; }
  [[nodiscard]] bool pure() const noexcept override { return false; }
  [[nodiscard]] std::unique_ptr<DeviceProgram> prepare(const Schema&, std::uint64_t,
                                                       std::size_t) const override {
    struct Nothing : DeviceProgram {
      void enqueue(const DeviceRun&) override {}
    };
    return std::make_unique<Nothing>();
  }

 private:
  std::uint64_t sample_bytes_;
};

}  // namespace batchcast::bench
