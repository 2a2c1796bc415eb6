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

/// What the workers of a pipeline share; constant but for the bad samples and what is read ahead.
struct PipelineCore {
  explicit PipelineCore(PipelineOptions options);

  struct Field {
    std::size_t part = 0;
    std::unique_ptr<FieldProgram> program;
    std::size_t byte_count = 0;
    std::optional<std::size_t> part_bytes;  ///< of every sample; nothing: any number
    std::size_t views = 1;
  };

  /// Fields that are made of one part in one go.
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
  bool copies_only = false;  ///< every field is its part as it stands
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

  /// One sample, noting what was drawn; `notes` has lists for each field, one for
  /// each view.
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
  /// Throws BadSample where what is drawn for one image would be done to another of another size.
  void check_sizes() const;
  void read(const Place& place, bool in_order);
  void copy_all(const SampleSlots& slots);
  /// What was read of a field's part. Throws BadSample where it is not as large as its spec says.
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
