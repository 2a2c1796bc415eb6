// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/image/program.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Where one of a field's images and its notes go. The first image of a view has its notes.
struct ImageTarget {
  std::span<std::byte> out;
  std::vector<Note>* notes = nullptr;
  std::span<ImageSize> cuts = {};  ///< of its view
  FieldTarget* rows = nullptr;     ///< of pixels on an axis, instead of `out`
};
/// `number` counts the images that are made of each frame.
[[nodiscard]] ImageTarget image_target(FieldTarget& target, const ImagePlan& plan,
                                       std::uint32_t frame, std::uint32_t number) noexcept;

/// Throws InvalidArgument where an image does not have as many elements as the plan's stages
/// promised. A stage that breaks its promise would have the sample written beyond its end.
void check_element_count(const ImagePlan& plan, std::size_t elements);

/// The same of the channels of an image whose pixels are rows.
void check_channels(const ImagePlan& plan, std::int32_t channels);

/// Throws BadSample for an image between two passes that is larger than a decoded image may be. A
/// thin image whose shorter side is enlarged could ask for any amount of memory.
void check_between(const ImagePlan& plan, ImageSize size);

/// Which of a plan's stages run for one of a sample's images, and how they place it.
class StepChooser {
 public:
  /// The plan must outlive it.
  StepChooser(const ImagePlan& plan, std::uint32_t number)
      : plan_(plan), view_(number / plan.crops), part_(number % plan.crops) {}

  void begin(const SampleKey& key, const ImageTarget& target);
  /// Notes the size that comes to a stage which cuts another field alike.
  void note_cut(std::int32_t cut, ImageSize size) const noexcept {
    if (cut >= 0 && !cuts_.empty()) cuts_[static_cast<std::size_t>(cut)] = size;
  }
  [[nodiscard]] std::span<const ImagePass> passes() const noexcept {
    return plan_.branches ? own_.passes() : plan_.passes.passes();
  }
  /// The geometry of a pass for an image of that size.
  [[nodiscard]] Geometry place(std::size_t pass, ImageSize size) const;

 private:
  [[nodiscard]] Geometry place_all(std::size_t pass, ImageSize size) const;
  /// Places the image as if it had the size of the smaller one.
  [[nodiscard]] Geometry place_scaled(std::size_t pass, ImageSize size) const;
  void add(const ImageStep& step, std::size_t depth);
  void note(const ImageStep& step, std::span<const std::size_t> chosen) const;
  void note(const Geometry& geometry) const;
  void note_other_parts(const ImagePass::Placing& placing, const Geometry& before) const;
  [[nodiscard]] std::size_t noted_pass() const;

  const ImagePlan& plan_;
  const std::uint32_t view_;
  const std::uint32_t part_;
  SampleKey key_;
  std::vector<Note>* notes_ = nullptr;
  std::span<ImageSize> cuts_;
  PassList own_;
  std::array<std::vector<std::size_t>, nesting_max> chosen_;
};

}  // namespace batchcast::inline v0_1::detail
