// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "core/span_buffer.hpp"
#include "data/cache/sample_cache.hpp"
#include "data/pipeline/bad_samples.hpp"
#include "data/pipeline/read_ahead.hpp"
#include "data/program/field_program.hpp"

#include <batchcast/data/pipeline.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The field on the axis `tokens` that has 0 where a token is not trained.
inline constexpr std::string_view loss_mask_name = "loss_mask";

/// Of each field, a list for each view.
using NoteLists = std::vector<std::vector<std::vector<Note>>>;

/// What a pipeline's workers share: constant, except for the bad samples and the read-ahead.
struct PipelineCore {
  explicit PipelineCore(PipelineOptions options);

  struct Field {
    std::size_t part = 0;
    std::unique_ptr<FieldProgram> program;
    std::size_t byte_count = 0;
    std::optional<std::size_t> part_bytes;  ///< of every sample; empty: any number
    std::size_t views = 1;
    std::int32_t scale = 1;
    std::size_t cuts = 0;  ///< that other fields share, of one view
    /// Set: the field is the size of that one's images, and has no program.
    std::optional<std::size_t> size_of = std::nullopt;
    int axis = -1;  ///< its number, where the field lies on one
    std::size_t row_bytes = 0;

    [[nodiscard]] bool on_axis() const noexcept { return axis >= 0; }
  };
  /// An axis of the schema.
  struct Rows {
    std::string name;
    std::shared_ptr<const RowLengths> lengths;  ///< that the source says; null: none
  };

  /// Fields that are made from one part together.
  struct Unit {
    std::size_t part = 0;
    std::vector<std::size_t> fields;
  };

  std::optional<TokenAccount> token_account;  ///< set before the options
  PipelineOptions options;                    ///< its source asks the cache, if there is one
  std::shared_ptr<const Source> uncached;     ///< the source behind that
  std::shared_ptr<SampleCache> cache;         ///< may be null
  Order order;
  std::vector<Field> fields;
  std::vector<Unit> units;
  std::vector<SameSize> same_sizes;
  Schema schema;
  std::vector<Rows> axes;
  std::string recipe_json;
  Fingerprint identity;
  mutable BadSamples bad_samples;
  bool copies_only = false;                 ///< every field is its part, unchanged
  bool fills_in_place = false;              ///< see SampleMaker
  std::optional<std::size_t> tokens_field;  ///< the first one on the axis `tokens`
  std::optional<std::size_t> mask_field;    ///< on that axis, says which tokens are trained
  mutable std::atomic<std::uint64_t> made_tokens{0};
  mutable std::atomic<std::uint64_t> trained_tokens{0};
  mutable std::optional<ReadAhead> read_ahead;  ///< always there, once compiled

  void lay_out(const Grid& grid);

 private:
  void compile();
  void compile(const ResolvedField& field);
  void add_cache();
  void join_units();
  void add_sizes();
  void settle_axes();
  void describe();
  void start_read_ahead();
};

/// One thread's runners and buffers.
class PipelineWorker final : public SampleWorker {
 public:
  explicit PipelineWorker(const PipelineCore& pipeline);
  void follow(Substitutions& substitutions) override { substitutions_ = &substitutions; }
  void make(const SampleSlots& slots) override;
  void make_apart(std::uint64_t epoch, std::uint64_t index_in_epoch, MadeSample& made) override;
  [[nodiscard]] MakerTimes times() const noexcept override;
  void note_in(SpanBuffer& spans) override { spans_ = &spans; }

  /// Makes one sample and notes the draws; `notes` has lists for each field, one for each view.
  void make_noted(const SampleSlots& slots, NoteLists& notes);
  void make_noted(std::uint64_t epoch, std::uint64_t index_in_epoch, MadeSample& made,
                  NoteLists& notes);

 private:
  struct Place {
    std::uint64_t epoch = 0;
    std::uint64_t index = 0;
    std::uint64_t sample_id = 0;
  };
  /// A slot of a loan, or a sample apart from it.
  struct Goal {
    const SampleSlots* slots = nullptr;
    std::size_t slot = 0;
    MadeSample* apart = nullptr;
  };
  /// Makes the sample, and notes how long that took.
  std::uint64_t make_one(const Place& place, const Goal& goal);
  std::uint64_t make_or_replace(const Place& place, const Goal& goal);
  [[nodiscard]] std::uint64_t position_of(const Place& place) const noexcept {
    return place.epoch * pipeline_.order.samples_per_epoch() + place.index;
  }
  /// The id of the sample that was put there, by this producer or one before.
  [[nodiscard]] std::optional<std::uint64_t> stand_in_at(const Place& place) const;
  void make_whole(const Place& place, const Goal& goal, bool in_order);
  void attempt(const Place& place, const Goal& goal);
  void run(const Place& place, const Goal& goal, std::uint64_t* decode_ns);
  /// Returns whether it used the entries that there were.
  bool attempt_kept(const Place& place, const Goal& goal);
  /// By files instead of entries.
  void attempt_uncached(const Place& place, const Goal& goal);
  [[nodiscard]] FieldTarget target_of(std::size_t field, const Goal& goal);
  /// Throws BadSample unless all fields on an axis have equally many rows, as the source said.
  void settle_rows(std::uint64_t sample_id, MadeSample& made) const;
  /// Writes the fields that are sizes of images.
  void write_sizes(const Goal& goal);
  [[nodiscard]] std::uint64_t rows_of(std::uint64_t sample_id, std::size_t axis, std::size_t field,
                                      std::size_t byte_count) const;
  /// Throws BadSample where draws for one image would be used for one of another size.
  void check_sizes() const;
  [[nodiscard]] bool have_same_size(const SameSize& pair) const noexcept;
  [[nodiscard]] bool are_cut_alike(const SameSize& pair) const noexcept;
  [[nodiscard]] std::string why_other_size(const SameSize& pair) const;
  void read(const Place& place, bool in_order);
  [[nodiscard]] bool uses_entries() const noexcept;
  void copy_all(const SampleSlots& slots);
  void copy_rows(const SampleSlots& slots);
  void append_parts(std::uint64_t sample_id, const SampleSlots& slots);
  void count_tokens(const MadeSample& made);
  void note_tokens(const MadeTokens& counted) const noexcept;
  /// The bytes of a field's part. Throws BadSample where their number is not that of its spec.
  [[nodiscard]] std::span<const std::byte> part_of(const PipelineCore::Field& field) const;

  const PipelineCore& pipeline_;
  Substitutions* substitutions_ = nullptr;             ///< where they are kept
  std::vector<std::unique_ptr<FieldRunner>> runners_;  ///< by unit
  std::vector<std::vector<FieldTarget>> targets_;      ///< by unit, as its fields
  std::vector<ImageSize> sizes_;                       ///< by field, before any stage
  std::vector<ImageSize> made_sizes_;                  ///< by field, of pixels on an axis
  std::vector<std::vector<ImageSize>> cut_sizes_;      ///< by field, as FieldTarget has them
  std::vector<std::byte*> at_;                         ///< by field, where the next rows go
  SampleParts parts_;
  std::unique_ptr<SampleKeeper> keeper_;  ///< where there is a cache
  std::vector<std::uint8_t> scaled_;      ///< by part: whether `fast` decoding scaled it down
  MadeTokens counted_;                    ///< of the samples that are being copied
  std::uint64_t samples_ = 0;             ///< that were made, to measure some of them
  std::uint64_t attempts_ = 0;            ///< the same, to split some
  NoteLists* notes_ = nullptr;
  SpanBuffer* spans_ = nullptr;  ///< null: it is not traced
  std::atomic<std::uint64_t> read_ns_{0};
  std::atomic<std::uint64_t> make_ns_{0};
  std::atomic<std::uint64_t> split_make_ns_{0};
  std::atomic<std::uint64_t> split_decode_ns_{0};
};

}  // namespace batchcast::inline v0_1::detail
