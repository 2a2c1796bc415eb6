// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"
#include "data/reason.hpp"
#include "data/refuse_at.hpp"

#include <batchcast/core/schema.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/data/maker.hpp>
#include <batchcast/data/source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// A field's stages, compiled: everything known before the first sample is worked out here, once.
namespace batchcast::inline v0_1::detail {

/// One part of one sample on its way to its fields.
struct PartInput {
  std::span<const std::byte> bytes;
  SampleKey key;
  bool is_kept = false;                ///< the bytes are an entry of a cache, and no file
  std::uint64_t* decode_ns = nullptr;  ///< gets what decoding took; null: it is not measured
};

/// Where one field of the sample goes.
struct FieldTarget {
  std::span<std::byte> out = {};  ///< as large as the field, all its views
  /// Of a field on an axis: the runner asks it for memory, once it knows the size, instead of
  /// `out`.
  MadeSample* rows = nullptr;
  std::size_t field = 0;  ///< its number there
  std::size_t axis = 0;   ///< the number of its axis there
  std::size_t row_bytes = 1;
  /// A list for each view; null: the caller wants none.
  std::vector<std::vector<Note>>* notes = nullptr;
  /// A runner for images sets this: the image's size before any stage.
  ImageSize size = {};
  /// Of pixels on an axis, a runner sets this too: the size that they have.
  ImageSize made = {};
  /// Of each view, for each of the field's cuts: the size that comes to it, in units of the field's
  /// scale. A cut that does not run leaves it unchanged.
  std::span<ImageSize> cuts = {};
  /// A runner for images sets this: whether `fast` decoding scaled a JPEG down.
  bool is_scaled_down = false;

  /// Memory in `rows`. Throws BadSample where the ring never has room for that, before it takes
  /// any.
  [[nodiscard]] std::span<std::byte> make_rows(std::size_t byte_count) const {
    rows->set_rows(axis, byte_count / row_bytes);
    return rows->make(field, byte_count);
  }
};

/// A runner throws it where its part is an entry of a cache, and `fast` decoding would scale the
/// file down. An entry cannot be.
struct NeedsFile {};

/// Runs a program. Each thread has one, with its buffers.
class FieldRunner {
 public:
  FieldRunner() = default;
  FieldRunner(const FieldRunner&) = delete;
  FieldRunner& operator=(const FieldRunner&) = delete;
  virtual ~FieldRunner() = default;
  /// Writes the whole of every target, one for each field of the runner. Throws BadSample,
  /// NeedsFile.
  virtual void run(const PartInput& input, std::span<FieldTarget> targets) = 0;
};

class FieldProgram {
 public:
  FieldProgram() = default;
  FieldProgram(const FieldProgram&) = delete;
  FieldProgram& operator=(const FieldProgram&) = delete;
  virtual ~FieldProgram() = default;
  /// The spec of one sample of the field, with all its views; of a field on an axis, of a row.
  [[nodiscard]] virtual const TensorSpec& output() const noexcept = 0;
  /// The axis that the field lies on; empty: none.
  [[nodiscard]] virtual std::string_view axis() const noexcept { return {}; }
  /// True where the field is its part, unchanged.
  [[nodiscard]] virtual bool copies() const noexcept { return false; }
  /// How it decodes its part; null where it does not.
  [[nodiscard]] virtual const DecodeStage::Parameters* decoding() const noexcept { return nullptr; }
  /// Whether one decoding of a part serves both.
  [[nodiscard]] bool shares_decoding(const FieldProgram& other) const noexcept {
    return decoding() != nullptr && other.decoding() != nullptr && *decoding() == *other.decoding();
  }
  /// The names of its stages. Those that share one walk over the elements are together. Empty where
  /// there are none.
  [[nodiscard]] virtual std::vector<std::vector<std::string>> walks() const { return {}; }
  /// A runner for this field and then `others`, which share its decoding. The programs outlive it.
  [[nodiscard]] virtual std::unique_ptr<FieldRunner> runner(
      std::span<const FieldProgram* const> others) const = 0;
};

/// Throws InvalidArgument, naming field and stage.
[[noreturn]] inline void refuse_stage(const std::string& field, const NamedStage& named,
                                      const std::string& why) {
  refuse_at(named.where, text("the stage `{}` of the field `{}` does not fit: {}.",
                              named.stage->name(), field, as_reason(why)));
}

}  // namespace batchcast::inline v0_1::detail
