// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"
#include "data/reason.hpp"
#include "data/refuse_at.hpp"

#include <batchcast/core/schema.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/data/source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// A field's stages, compiled: everything known before the first sample is worked out here, once.
namespace batchcast::inline v0_1::detail {

/// One part of one sample on its way to its fields.
struct PartInput {
  std::span<const std::byte> bytes;
  SampleKey key;
};

/// Where one field of the sample goes.
struct FieldTarget {
  std::span<std::byte> out;  ///< as large as the field, all its views
  /// A list for each view; null: the caller wants none.
  std::vector<std::vector<Note>>* notes = nullptr;
  /// A runner for images sets this: the image's size before any stage.
  ImageSize size = {};
};

/// Runs a program. Each thread has one, with its buffers.
class FieldRunner {
 public:
  FieldRunner() = default;
  FieldRunner(const FieldRunner&) = delete;
  FieldRunner& operator=(const FieldRunner&) = delete;
  virtual ~FieldRunner() = default;
  /// Writes the whole of every target, one for each field of the runner. Throws BadSample.
  virtual void run(const PartInput& input, std::span<FieldTarget> targets) = 0;
};

class FieldProgram {
 public:
  FieldProgram() = default;
  FieldProgram(const FieldProgram&) = delete;
  FieldProgram& operator=(const FieldProgram&) = delete;
  virtual ~FieldProgram() = default;
  /// The spec of one sample of the field, with all its views.
  [[nodiscard]] virtual const TensorSpec& output() const noexcept = 0;
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
