// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/step_chooser.hpp"

#include "data/reason.hpp"

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

// An image whose sides are no multiples is a bad sample, as a size that does not fit its partner's.
ImageSize reduced(ImageSize size, std::int32_t scale) {
  const ImageSize small{size.width / scale, size.height / scale};
  if (small.width > 0 && small.height > 0) return small;
  throw BadSample(text("its {} x {} pixels are fewer than its `scale`, which is {}", size.width,
                       size.height, scale));
}

Box enlarged(const Box& box, std::int32_t scale) noexcept {
  return {box.x * scale, box.y * scale, box.width * scale, box.height * scale};
}

// The geometry of an image in which each pixel of the smaller one is `scale` by `scale` pixels.
Geometry enlarged(const Geometry& geometry, ImageSize image, std::int32_t scale) {
  constexpr std::int64_t side_most = std::int64_t{1} << 28;
  const ImageSize large = geometry.output();
  if (std::int64_t{std::max(large.width, large.height)} * scale > side_most) {
    throw BadSample(
        text("its stages and its `scale` make an image of it that is longer than {}", side_most));
  }
  Geometry result = geometry;
  result.image = image;
  result.box = enlarged(geometry.box, scale);
  result.resized = {geometry.resized.width * scale, geometry.resized.height * scale};
  result.window = enlarged(geometry.window, scale);
  return result;
}

}  // namespace

ImageTarget image_target(FieldTarget& target, const ImagePlan& plan, std::uint32_t frame,
                         std::uint32_t number) noexcept {
  const std::uint32_t frames = std::max(plan.frames, 1U);
  const std::uint32_t view = number / plan.crops;
  const std::uint32_t part = number % plan.crops;
  const std::size_t byte_count = target.out.size() / (std::size_t{plan.images()} * frames);
  const std::size_t place = (std::size_t{view} * frames + frame) * plan.crops + part;
  const bool has_notes = target.notes != nullptr && part == 0 && frame == 0;
  const auto cuts = static_cast<std::size_t>(plan.cuts);
  return {target.out.subspan(place * byte_count, byte_count),
          has_notes ? &(*target.notes)[view] : nullptr,
          target.cuts.empty() ? target.cuts : target.cuts.subspan(view * cuts, cuts),
          target.rows == nullptr ? nullptr : &target};
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

void check_channels(const ImagePlan& plan, std::int32_t channels) {
  if (channels == plan.channels_out) return;
  throw InvalidArgument(
      text("batchcast: the stages of a field made an image of {} channels, and {} is what they "
           "said. Have your stage make what its output_channels() promises.",
           channels, plan.channels_out));
}

void StepChooser::begin(const SampleKey& key, const ImageTarget& target) {
  key_ = key;
  notes_ = target.notes;
  cuts_ = target.cuts;
  if (!plan_.branches) return;
  own_.clear();
  for (const ImageStep& step : plan_.image_steps) add(step, 0);
}

Geometry StepChooser::place(std::size_t pass, ImageSize size) const {
  const Geometry geometry = plan_.scale == 1 ? place_all(pass, size) : place_scaled(pass, size);
  if (notes_ != nullptr && pass == noted_pass()) note(geometry);
  return geometry;
}

Geometry StepChooser::place_scaled(std::size_t pass, ImageSize size) const {
  const ImageSize small = reduced(size, plan_.scale);
  try {
    return enlarged(place_all(pass, small), size, plan_.scale);
  } catch (const BadSample& bad) {
    throw BadSample(text("{} (with scale = {} its {} x {} pixels count as {} x {})",
                         as_reason(bad.what()), plan_.scale, size.width, size.height, small.width,
                         small.height));
  }
}

Geometry StepChooser::place_all(std::size_t pass, ImageSize size) const {
  Geometry geometry = Geometry::of(size);
  for (const ImagePass::Placing& placing : passes()[pass].geometry) {
    const Geometry before = geometry;
    note_cut(placing.cut, geometry.output());
    StageContext context(key_, placing.draws.in_view(view_), {}, notes_, nullptr,
                         static_cast<std::int32_t>(part_), placing.path);
    placing.stage->place(geometry, context);
    if (notes_ != nullptr) note_other_parts(placing, before);
    if (plan_.is_mask) {
      geometry.fill = geometry.mask_fill.value_or(placing.is_joint ? 0 : geometry.fill);
    }
  }
  if (plan_.is_mask) geometry.interpolation = Interpolation::nearest;
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
    notes_->push_back({step.path, 0, chosen.empty() ? "skipped" : "applied", step.path});
    return;
  }
  for (const std::size_t place : chosen) {
    notes_->push_back({step.path, 0, step.inner[place].path, step.path});
  }
}

// The lane of the first image has the notes: what the stage does for the others is asked for here.
void StepChooser::note_other_parts(const ImagePass::Placing& placing,
                                   const Geometry& before) const {
  for (std::int32_t part = 1; part < placing.stage->count(); ++part) {
    Geometry other = before;
    StageContext context(key_, placing.draws.in_view(view_), {}, notes_, nullptr, part,
                         placing.path);
    placing.stage->place(other, context);
  }
}

// The first pass with a stage that crops, resizes or pads. Pixel stages and warps before it leave
// the image's size as it is.
std::size_t StepChooser::noted_pass() const {
  const auto sizes = [](const ImagePass& pass) {
    return std::any_of(pass.geometry.begin(), pass.geometry.end(),
                       [](const ImagePass::Placing& placing) {
                         const GeometryTraits traits = placing.stage->traits();
                         return traits.crops || traits.resizes || traits.pads;
                       });
  };
  const std::span<const ImagePass> all = passes();
  const auto found = std::find_if(all.begin(), all.end(), sizes);
  return found == all.end() ? 0 : static_cast<std::size_t>(found - all.begin());
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
