// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/step_chooser.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <string>

namespace batchcast::inline v0_1::detail {
namespace {

void check(const ImageStep& step, std::span<const std::size_t> chosen) {
  for (const std::size_t place : chosen) {
    if (place < step.inner.size() && std::count(chosen.begin(), chosen.end(), place) == 1) {
      continue;
    }
    throw InvalidArgument(
        text("batchcast: the stage `{}` chose its stage {} of {}. Have choose() of your stage give "
             "each place once at most.",
             step.container->name(), place, step.inner.size()));
  }
}

}  // namespace

ImageTarget image_target(const FieldTarget& target, const ImagePlan& plan,
                         std::uint32_t number) noexcept {
  const std::size_t byte_count = target.out.size() / plan.images();
  const bool has_notes = target.notes != nullptr && number % plan.crops == 0;
  return {target.out.subspan(number * byte_count, byte_count),
          has_notes ? &(*target.notes)[number / plan.crops] : nullptr};
}

void check_between(const ImagePlan& plan, ImageSize size) {
  const std::int64_t pixels_max =
      plan.decode ? plan.decode->pixels_max : DecodeStage::Parameters{}.pixels_max;
  if (std::int64_t{size.width} * size.height <= pixels_max) return;
  throw BadSample(
      text("its stages make an image of {} x {} pixels of it, and {} is the most (`pixels_max`)",
           size.width, size.height, pixels_max));
}

void check_element_count(const ImagePlan& plan, std::size_t elements) {
  const std::size_t expected = plan.steps->input().element_count();
  if (elements == expected) return;
  throw InvalidArgument(
      text("batchcast: the stages of a field made an image of {} elements, and {} is what they "
           "said. Have your stage place what its output() promises.",
           elements, expected));
}

void StepChooser::begin(const SampleKey& key, std::vector<Note>* notes) {
  key_ = key;
  notes_ = notes;
  if (!plan_.branches) return;
  own_.clear();
  for (const ImageStep& step : plan_.image_steps) add(step, 0);
}

Geometry StepChooser::place(std::size_t pass, ImageSize size) const {
  Geometry geometry = Geometry::of(size);
  for (const ImagePass::Placing& placing : passes()[pass].geometry) {
    StageContext context(key_, placing.draws.in_view(view_), {}, notes_, nullptr,
                         static_cast<std::int32_t>(part_));
    placing.stage->place(geometry, context);
    if (plan_.is_mask) {
      geometry.fill = geometry.mask_fill.value_or(placing.is_joint ? 0 : geometry.fill);
    }
  }
  if (plan_.is_mask) geometry.interpolation = Interpolation::nearest;
  if (notes_ != nullptr && pass == 0) note(geometry);
  return geometry;
}

void StepChooser::add(const ImageStep& step, std::size_t depth) {
  if (step.container == nullptr) return own_.add(step);
  std::vector<std::size_t>& chosen = chosen_[depth];
  chosen.clear();
  StageContext context(key_, step.draws.in_view(view_), {}, notes_);
  step.container->choose(chosen, context);
  check(step, chosen);
  note(step, chosen);
  for (const std::size_t place : chosen) add(step.inner[place], depth + 1);
}

void StepChooser::note(const ImageStep& step, std::span<const std::size_t> chosen) const {
  if (notes_ == nullptr || !step.container->is_random()) return;
  if (step.container->branching() == Branching::all_or_none) {
    notes_->push_back({step.path, 0, chosen.empty() ? "skipped" : "applied"});
    return;
  }
  for (const std::size_t place : chosen) notes_->push_back({step.path, 0, step.inner[place].path});
}

void StepChooser::note(const Geometry& geometry) const {
  const auto add = [&](std::string_view key, std::int32_t value) {
    notes_->push_back({key, static_cast<double>(value)});
  };
  add("crop_x", geometry.box.x);
  add("crop_y", geometry.box.y);
  add("crop_w", geometry.box.width);
  add("crop_h", geometry.box.height);
  if (geometry.window == Box{0, 0, geometry.resized.width, geometry.resized.height}) return;
  add("window_x", geometry.window.x);
  add("window_y", geometry.window.y);
  add("window_w", geometry.window.width);
  add("window_h", geometry.window.height);
}

}  // namespace batchcast::inline v0_1::detail
