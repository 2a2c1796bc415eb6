// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/schema.hpp>
#include <batchcast/data/fingerprint.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace batchcast::inline v0_1 {

/// Where one field of consecutive samples goes.
struct FieldSlots {
  std::byte* data = nullptr;
  std::size_t stride_bytes = 0;
};

/// Consecutive samples of one epoch and the places to put them.
struct SampleSlots {
  std::uint64_t epoch = 0;
  std::uint64_t index_in_epoch = 0;    ///< of the first
  std::span<const FieldSlots> fields;  ///< as the schema, without sample_id
  std::span<std::uint64_t> sample_ids;

  [[nodiscard]] std::size_t size() const noexcept { return sample_ids.size(); }
};

/// Where a worker's time went.
struct MakerTimes {
  std::uint64_t read_ns = 0;  ///< waiting for the source
  std::uint64_t make_ns = 0;  ///< decoding and the rest
};

/// Makes samples. Each thread has one, which keeps the thread's buffers.
class SampleWorker {
 public:
  virtual ~SampleWorker() = default;
  /// Fills all of `slots`. Throws BadSample, which names the sample, where one cannot be made.
  virtual void make(const SampleSlots& slots) = 0;
  /// Times since this worker began. From any thread.
  [[nodiscard]] virtual MakerTimes times() const noexcept = 0;
};

/// A pure stream: sample(epoch, index in it) is the same bytes in every thread, process and run.
/// Immutable and thread-safe.
class SampleMaker {
 public:
  virtual ~SampleMaker() = default;
  [[nodiscard]] virtual const Schema& schema() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t samples_per_epoch() const noexcept = 0;
  /// Everything that determines the bytes, for the board.
  [[nodiscard]] virtual std::string recipe_json() const = 0;
  /// Two makers have the same only if they make the same bytes.
  [[nodiscard]] virtual Fingerprint identity() const { return fingerprint_of(recipe_json()); }
  /// A worker for one thread. The maker must outlive it.
  [[nodiscard]] virtual std::unique_ptr<SampleWorker> worker() const = 0;
};

}  // namespace batchcast::inline v0_1
