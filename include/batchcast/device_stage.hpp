// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Work done once on a GPU for all trainers there, after the copy from host memory.
namespace batchcast::inline v0_1 {

/// One field of consecutive samples in the memory of a GPU.
struct DeviceField {
  std::byte* data = nullptr;  ///< an address of the GPU
  std::uint64_t stride_bytes = 0;
};

/// Samples to work on, all of one epoch.
struct DeviceRun {
  void* stream = nullptr;  ///< CUstream on which all work is enqueued; do not wait for it
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::span<const std::uint64_t> sample_ids = {};  ///< in host memory, until `enqueue` returns
  std::span<const DeviceField> in = {};            ///< the fields of `reads`, in that order
  std::span<const DeviceField> out = {};           ///< the fields of `makes`, in that order
};

/// A stage as one GPU runs it. One thread at a time uses it, with that GPU's primary context
/// current. The destructor runs with it too, unless the GPU is lost, and after all runs have
/// passed.
class DeviceProgram {
 public:
  DeviceProgram() = default;
  DeviceProgram(const DeviceProgram&) = delete;
  DeviceProgram& operator=(const DeviceProgram&) = delete;
  virtual ~DeviceProgram() = default;

  /// Enqueues the work that makes `out` of `in`. Everything else that it needs is allocated before.
  /// Several runs may be in flight, in order. Throws GpuError.
  virtual void enqueue(const DeviceRun& run) = 0;
};

/// What a stage does to the fields of a stream.
struct DevicePlan {
  struct Output {
    FieldSpec spec;
    /// Index of the host field that this field copies unchanged; nothing for a field that is made.
    std::optional<std::size_t> copy_of = std::nullopt;
  };
  std::vector<Output> fields;      ///< the device ring's, without sample_id
  std::vector<std::size_t> reads;  ///< indices of host fields that `enqueue` gets on the device
  /// Indices into `fields` of those without `copy_of`, in order.
  [[nodiscard]] std::vector<std::size_t> makes() const {
    std::vector<std::size_t> made;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (!fields[i].copy_of) made.push_back(i);
    }
    return made;
  }
};

/// A stage that you write (a CUDA kernel, an encoder) derives from it, and
/// ProducerOptions::device_stage gets it. One stage serves all GPUs of a stream; each GPU has a
/// program.
class DeviceStage {
 public:
  DeviceStage() = default;
  DeviceStage(const DeviceStage&) = delete;
  DeviceStage& operator=(const DeviceStage&) = delete;
  virtual ~DeviceStage() = default;

  /// What the stage makes of the host ring's schema (without sample_id). Throws InvalidArgument for
  /// a schema that it cannot take.
  [[nodiscard]] virtual DevicePlan plan(const Schema& host) const = 0;
  /// The recipe on the device ring's board, given the host ring's.
  [[nodiscard]] virtual std::string recipe_json(const std::string& host_recipe_json) const = 0;
  /// The identity of its samples (ProducerOptions::identity), given the host ring's. Empty: none.
  [[nodiscard]] virtual std::string identity(const std::string& /*host_identity*/) const {
    return {};
  }
  /// Whether recipe and position determine every byte that it makes.
  [[nodiscard]] virtual bool pure() const noexcept = 0;
  /// The program for one GPU, whose primary context is current. A run has at most `samples_max`
  /// samples, and at most `runs_max` runs are in flight at a time. Throws GpuError.
  [[nodiscard]] virtual std::unique_ptr<DeviceProgram> prepare(const Schema& host,
                                                               std::uint64_t samples_max,
                                                               std::size_t runs_max) const = 0;
};

}  // namespace batchcast::inline v0_1
