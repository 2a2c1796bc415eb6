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
};
[[nodiscard]] ImageTarget image_target(const FieldTarget& target, const ImagePlan& plan,
                                       std::uint32_t number) noexcept;

/// Throws InvalidArgument where an image does not have as many elements as the plan's stages
/// promised. A stage that breaks its promise would have the sample written beyond its end.
void check_element_count(const ImagePlan& plan, std::size_t elements);

/// Throws BadSample for an image between two passes that is larger than a decoded image may be. A
/// thin image whose shorter side is enlarged could ask for any amount of memory.
void check_between(const ImagePlan& plan, ImageSize size);

/// Which of a plan's stages run for one of a sample's images, and how they place it.
class StepChooser {
 public:
  /// The plan must outlive it.
  StepChooser(const ImagePlan& plan, std::uint32_t number)
      : plan_(plan), view_(number / plan.crops), part_(number % plan.crops) {}

  void begin(const SampleKey& key, std::vector<Note>* notes);
  [[nodiscard]] std::span<const ImagePass> passes() const noexcept {
    return plan_.branches ? own_.passes() : plan_.passes.passes();
  }
  /// The geometry of a pass for an image of that size.
  [[nodiscard]] Geometry place(std::size_t pass, ImageSize size) const;

 private:
  void add(const ImageStep& step, std::size_t depth);
  void note(const ImageStep& step, std::span<const std::size_t> chosen) const;
  void note(const Geometry& geometry) const;

  const ImagePlan& plan_;
  const std::uint32_t view_;
  const std::uint32_t part_;
  SampleKey key_;
  std::vector<Note>* notes_ = nullptr;
  PassList own_;
  std::array<std::vector<std::size_t>, nesting_max> chosen_;
};

}  // namespace batchcast::inline v0_1::detail
