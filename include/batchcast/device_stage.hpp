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

// Work that is done once on a GPU for all trainers there: between the copy from host memory and the
// device ring.
namespace batchcast::inline v0_1 {

/// One field of consecutive samples in the memory of a GPU.
struct DeviceField {
  std::byte* data = nullptr;  ///< an address of the GPU
  std::uint64_t stride_bytes = 0;
};

/// Samples to be worked on. All of one epoch.
struct DeviceRun {
  void* stream = nullptr;  ///< CUstream: everything is enqueued here, nothing may be waited for
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::span<const std::uint64_t> sample_ids = {};  ///< in host memory, until `enqueue` returns
  std::span<const DeviceField> in = {};            ///< the fields of `reads`, in that order
  std::span<const DeviceField> out = {};           ///< the fields of `makes`, in that order
};

/// A stage as one GPU runs it. One thread at a time, with that GPU's primary context current, at
/// its end too unless the GPU is lost; by then all runs have passed.
class DeviceProgram {
 public:
  DeviceProgram() = default;
  DeviceProgram(const DeviceProgram&) = delete;
  DeviceProgram& operator=(const DeviceProgram&) = delete;
  virtual ~DeviceProgram() = default;

  /// Enqueues what makes `out` of `in`. What it needs besides is allocated beforehand. Several runs
  /// may be in flight, in order. Throws GpuError.
  virtual void enqueue(const DeviceRun& run) = 0;
};

/// What a stage does to the fields of a stream.
struct DevicePlan {
  struct Output {
    FieldSpec spec;
    /// Index of the host field that this one is a plain copy of; nothing for one that is made.
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

/// Derive from it for one of your own (a CUDA kernel, an encoder), and give it to
/// ProducerOptions::device_stage. One stage serves all GPUs of a stream; each has a program.
class DeviceStage {
 public:
  DeviceStage() = default;
  DeviceStage(const DeviceStage&) = delete;
  DeviceStage& operator=(const DeviceStage&) = delete;
  virtual ~DeviceStage() = default;

  /// What comes out of the host ring's schema (without sample_id). Throws InvalidArgument for one
  /// that it cannot take.
  [[nodiscard]] virtual DevicePlan plan(const Schema& host) const = 0;
  /// The recipe that stands on the device ring's board, given the host ring's.
  [[nodiscard]] virtual std::string recipe_json(const std::string& host_recipe_json) const = 0;
  /// The identity of what it makes (ProducerOptions::identity), given the host ring's; empty: none.
  [[nodiscard]] virtual std::string identity(const std::string& /*host_identity*/) const {
    return {};
  }
  /// Whether recipe and position determine every byte that it makes.
  [[nodiscard]] virtual bool pure() const noexcept = 0;
  /// For one GPU, whose primary context is current. `samples_max`: of a run, at most;
  /// `runs_max`: in flight at a time, at most. Throws GpuError.
  [[nodiscard]] virtual std::unique_ptr<DeviceProgram> prepare(const Schema& host,
                                                               std::uint64_t samples_max,
                                                               std::size_t runs_max) const = 0;
};

}  // namespace batchcast::inline v0_1
