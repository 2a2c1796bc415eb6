// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/device_split.hpp"

#include "data/image/program.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

const PartSpec& part_of(const FieldRecipe& field, std::span<const PartSpec> parts) {
  const std::string& name = field.from.empty() ? field.name : field.from;
  const auto part = std::find_if(parts.begin(), parts.end(),
                                 [&](const PartSpec& other) { return other.name == name; });
  if (part == parts.end()) {
    throw InvalidArgument("batchcast: the field `" + field.name +
                          "` is to be made from the part `" + name +
                          "`, which this source does not have.");
  }
  return *part;
}

/// Why the CPU must do all of it; empty where it need not.
std::string why_kept(const FieldRecipe& field, const ImagePlan& plan) {
  for (const auto& stage : field.stages) {
    if (stage->kind() == StageKind::tensor) {
      return "`" + std::string(stage->name()) + "` works on the finished image";
    }
  }
  if (plan.format.dtype == DType::u8) return "its elements stay u8, so nothing is left to do";
  return {};
}

/// Takes the end off `field`, which keeps what comes before.
FieldFinish take_finish(FieldRecipe& field, std::size_t index, const ImagePlan& plan) {
  FieldFinish finish;
  finish.field = index;
  finish.format = plan.format;
  finish.channels = plan.channels_out;
  const std::vector<std::int64_t>& shape = plan.steps->input().shape;
  const std::size_t height = plan.format.layout == ImageLayout::chw ? 1 : 0;
  finish.size = {static_cast<std::int32_t>(shape[height + 1]),
                 static_cast<std::int32_t>(shape[height])};

  auto& stages = field.stages;
  while (!stages.empty() && stages.back()->kind() == StageKind::finish) stages.pop_back();
  if (!stages.empty() && is_horizontal_flip(*stages.back())) {
    finish.flip = std::dynamic_pointer_cast<const GeometryStage>(stages.back());
    finish.flip_number = static_cast<std::uint32_t>(stages.size() - 1);
    stages.pop_back();
  }
  stages.push_back(std::make_shared<ToStage>(
      ToStage::Parameters{.dtype = DType::u8, .layout = ImageLayout::hwc}));
  return finish;
}

}  // namespace

bool FieldFinish::flips(const SampleKey& key) const {
  if (!flip) return false;
  // The stage itself draws, so that there is one place that says how.
  Geometry geometry = Geometry::of({1, 1});
  StageContext context(key, flip_number, {}, nullptr);
  flip->place(geometry, context);
  return geometry.flip_x;
}

DeviceSplit split_for_device(const Recipe& recipe, std::span<const PartSpec> parts) {
  DeviceSplit split;
  split.host = recipe;
  for (std::size_t i = 0; i < split.host.fields.size(); ++i) {
    FieldRecipe& field = split.host.fields[i];
    const PartSpec& part = part_of(field, parts);
    if (!is_image_field(field, part)) continue;
    const ImagePlan plan = plan_image(field, part);
    if (std::string reason = why_kept(field, plan); !reason.empty()) {
      split.kept.push_back({i, std::move(reason)});
    } else {
      split.finishes.push_back(take_finish(field, i, plan));
    }
  }
  return split;
}

}  // namespace batchcast::inline v0_1::detail
