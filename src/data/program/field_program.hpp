// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/schema.hpp>
#include <batchcast/data/recipe.hpp>
#include <batchcast/data/source.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// A field's stages, compiled: what is known before the first sample is worked out here, once.
namespace batchcast::inline v0_1::detail {

/// One part of one sample on its way to a field.
struct PartInput {
  std::span<const std::byte> bytes;
  SampleKey key;
  std::vector<Note>* notes = nullptr;  ///< null: nobody wants to know
};

/// Runs a program; one for each thread, with that thread's buffers.
class FieldRunner {
 public:
  FieldRunner() = default;
  FieldRunner(const FieldRunner&) = delete;
  FieldRunner& operator=(const FieldRunner&) = delete;
  virtual ~FieldRunner() = default;
  /// Writes the whole of `out`, which is as large as the field. Throws BadSample.
  virtual void run(const PartInput& input, std::span<std::byte> out) = 0;
};

class FieldProgram {
 public:
  FieldProgram() = default;
  FieldProgram(const FieldProgram&) = delete;
  FieldProgram& operator=(const FieldProgram&) = delete;
  virtual ~FieldProgram() = default;
  /// What one sample of the field is.
  [[nodiscard]] virtual const TensorSpec& output() const noexcept = 0;
  /// True where the field is its part, byte for byte.
  [[nodiscard]] virtual bool copies() const noexcept { return false; }
  /// The program must outlive it.
  [[nodiscard]] virtual std::unique_ptr<FieldRunner> runner() const = 0;
};

/// A stage and its place in the recipe, which is the number that its draws have.
struct NumberedStage {
  std::shared_ptr<const Stage> stage;
  std::uint32_t number = 0;
};

/// Throws InvalidArgument, naming field and stage, where stages do not fit.
[[nodiscard]] std::unique_ptr<FieldProgram> compile_field(const FieldRecipe& field,
                                                          const PartSpec& part);

/// Whether the field's stages, none of which is null, see its part as an image.
[[nodiscard]] bool is_image_field(const FieldRecipe& field, const PartSpec& part);

[[noreturn]] void refuse_stage(const std::string& field, std::string_view stage,
                               const std::string& why);

}  // namespace batchcast::inline v0_1::detail
