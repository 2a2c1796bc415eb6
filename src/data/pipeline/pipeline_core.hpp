// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pipeline/bad_samples.hpp"
#include "data/pipeline/read_ahead.hpp"
#include "data/program/field_program.hpp"

#include <batchcast/data/pipeline.hpp>

#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// What a pipeline's workers share: constant, except for the bad samples and the read-ahead.
struct PipelineCore {
  explicit PipelineCore(PipelineOptions options);

  struct Field {
    std::size_t part = 0;
    std::unique_ptr<FieldProgram> program;
    std::size_t byte_count = 0;
    std::optional<std::size_t> part_bytes;  ///< of every sample; empty: any number
    std::size_t views = 1;
  };

  /// Fields that are made from one part together.
  struct Unit {
    std::size_t part = 0;
    std::vector<std::size_t> fields;
  };

  PipelineOptions options;
  Order order;
  std::vector<Field> fields;
  std::vector<Unit> units;
  std::vector<SameSize> same_sizes;
  Schema schema;
  std::string recipe_json;
  Fingerprint identity;
  mutable BadSamples bad_samples;
  bool copies_only = false;  ///< every field is its part, unchanged
  mutable ReadAhead read_ahead;

 private:
  void compile();
  void compile(const ResolvedField& field);
  void join_units();
  void describe();
};

/// One thread's runners and buffers.
class PipelineWorker final : public SampleWorker {
 public:
  explicit PipelineWorker(const PipelineCore& pipeline);
  void make(const SampleSlots& slots) override;
  [[nodiscard]] MakerTimes times() const noexcept override;

  /// Makes one sample and notes the draws; `notes` has lists for each field, one for each view.
  std::uint64_t make_noted(const SampleSlots& slots,
                           std::vector<std::vector<std::vector<Note>>>& notes);

 private:
  struct Place {
    std::uint64_t epoch = 0;
    std::uint64_t index = 0;
    std::uint64_t sample_id = 0;
  };
  std::uint64_t make_one(const Place& place, const SampleSlots& slots, std::size_t slot);
  void attempt(const Place& place, const SampleSlots& slots, std::size_t slot);
  /// Throws BadSample where draws for one image would be used for one of another size.
  void check_sizes() const;
  void read(const Place& place, bool in_order);
  void copy_all(const SampleSlots& slots);
  /// The bytes of a field's part. Throws BadSample where their number is not that of its spec.
  [[nodiscard]] std::span<const std::byte> part_of(const PipelineCore::Field& field) const;

  const PipelineCore& pipeline_;
  std::vector<std::unique_ptr<FieldRunner>> runners_;  ///< by unit
  std::vector<std::vector<FieldTarget>> targets_;      ///< by unit, as its fields
  std::vector<ImageSize> sizes_;                       ///< by field
  SampleParts parts_;
  std::vector<std::vector<std::vector<Note>>>* notes_ = nullptr;
  std::atomic<std::uint64_t> read_ns_{0};
  std::atomic<std::uint64_t> make_ns_{0};
};

}  // namespace batchcast::inline v0_1::detail
