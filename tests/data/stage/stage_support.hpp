// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/data/recipe.hpp>
#include <batchcast/data/stage.hpp>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// Stages, made as a recipe makes them.
namespace batchcast::test {

inline Recipe recipe_with(std::string_view stage) {
  return Recipe::from_toml("[[field]]\nname = \"x\"\nstages = [{ " + std::string(stage) + " }]",
                           "r.toml");
}

/// `parameters` is the inside of an inline table: stage = "resize", size = 8.
inline std::shared_ptr<const Stage> stage_of(std::string_view parameters) {
  return recipe_with(parameters).fields.at(0).stages.at(0).stage;
}

template <class Kind>
std::shared_ptr<const Kind> stage_as(std::string_view parameters) {
  auto stage = std::dynamic_pointer_cast<const Kind>(stage_of(parameters));
  if (!stage) throw std::logic_error("another kind of stage");
  return stage;
}

/// Why a stage is refused; empty if it is not.
inline std::string refusal_of(std::string_view parameters) {
  try {
    static_cast<void>(stage_of(parameters));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

inline Geometry placed(const GeometryStage& stage, ImageSize image, std::uint64_t sample_id = 0,
                       std::vector<Note>* notes = nullptr) {
  Geometry geometry = Geometry::of(image);
  StageContext context({.seed = 5, .epoch = 1, .sample_id = sample_id}, DrawName{2}, {}, notes);
  stage.place(geometry, context);
  return geometry;
}

/// Memory as the runner has it for stages.
class StageScratch {
 public:
  explicit StageScratch(std::size_t bytes) : memory_(bytes + alignment), bytes_(bytes) {}
  [[nodiscard]] std::span<std::byte> span() {
    void* at = memory_.data();
    std::size_t space = memory_.size();
    return {static_cast<std::byte*>(std::align(alignment, bytes_, at, space)), bytes_};
  }

 private:
  static constexpr std::size_t alignment = 64;
  std::vector<std::byte> memory_;
  std::size_t bytes_;
};

/// What a pixel stage makes of an image; what lies beyond the channels that come out is as it was.
inline std::vector<std::uint8_t> run_pixels(const PixelStage& stage,
                                            std::vector<std::uint8_t> pixels, ImageSize size,
                                            std::int32_t channels, std::uint64_t sample_id = 0,
                                            std::vector<Note>* notes = nullptr) {
  StageScratch scratch(stage.scratch_bytes(size, channels));
  StageContext context({.seed = 5, .epoch = 1, .sample_id = sample_id}, DrawName{2}, scratch.span(),
                       notes);
  stage.run({pixels.data(), size, channels}, context);
  return pixels;
}

/// What a warp makes of an image, and nothing where it leaves it as it is.
inline std::vector<std::uint8_t> run_warp(const WarpStage& stage, std::vector<std::uint8_t> pixels,
                                          ImageSize size, std::int32_t channels,
                                          bool is_mask = false, std::uint64_t sample_id = 0,
                                          std::vector<Note>* notes = nullptr) {
  StageScratch scratch(stage.scratch_bytes(size, channels));
  StageContext context({.seed = 5, .epoch = 1, .sample_id = sample_id}, DrawName{2}, scratch.span(),
                       notes);
  std::vector<std::uint8_t> out(pixels.size());
  const bool written =
      stage.run({pixels.data(), size, channels}, {out.data(), size, channels}, is_mask, context);
  return written ? out : std::vector<std::uint8_t>();
}

template <class T>
std::vector<T> run_tensor(const TensorStage& stage, const TensorSpec& spec, std::vector<T> in,
                          std::uint64_t sample_id = 0, std::vector<Note>* notes = nullptr) {
  const TensorSpec made = stage.output(spec);
  std::vector<T> out(made.byte_count() / sizeof(T));
  StageContext context({.seed = 5, .epoch = 1, .sample_id = sample_id}, DrawName{2}, {}, notes,
                       &spec);
  if (stage.in_place()) {
    stage.run(std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(in)), context);
    return in;
  }
  stage.run(std::as_bytes(std::span(in)), std::as_writable_bytes(std::span(out)), context);
  return out;
}

inline double note_of(const std::vector<Note>& notes, std::string_view key) {
  for (const Note& note : notes) {
    if (note.key == key) return note.value;
  }
  throw std::logic_error("no note " + std::string(key));
}

}  // namespace batchcast::test
