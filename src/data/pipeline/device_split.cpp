// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pipeline/device_split.hpp"

#include "data/image/compile_field.hpp"
#include "data/image/program.hpp"
#include "data/program/pixel_form.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

const PartSpec& part_of(const ResolvedField& field, std::span<const PartSpec> parts) {
  const auto part = std::find_if(parts.begin(), parts.end(),
                                 [&](const PartSpec& other) { return other.name == field.from; });
  if (part == parts.end()) {
    throw InvalidArgument(
        text("batchcast: the field `{}` is to be made from the part `{}`, which this source does "
             "not have.",
             field.name, field.from));
  }
  return *part;
}

/// Why the CPU must do the whole field; empty where it need not.
std::string why_kept(const ResolvedField& field, const ImagePlan& plan) {
  if (field.views != 0) return "it has views, and a GPU finishes fields of one image each";
  if (plan.crops != 1) return "it has several crops, and a GPU finishes fields of one image each";
  if (plan.frames != 0) return "it has frames, and a GPU finishes fields of one image each";
  if (plan.keeps()) return "its pixels are kept as they stand in the file";
  if (plan.format.bgr) return "its channels come blue first, and a GPU leaves their order";
  for (std::size_t i = 0; i < field.stages.size(); ++i) {
    const Stage& stage = *field.stages[i].stage;
    if (stage.kind() == StageKind::tensor && !pixel_form_of(field.stages, i)) {
      return text("`{}` works on the finished image", stage.name());
    }
  }
  if (plan.steps->output().dtype != plan.format.dtype) {
    return "its elements become integers, so nothing is left to do";
  }
  if (plan.format.dtype == DType::u8) return "its elements stay u8, so nothing is left to do";
  return {};
}

bool has_flips(const ResolvedField& field, const NamedStage& flip) {
  const auto is_one = [&](const NamedStage& other) {
    return other.group == flip.group && other.stage->name() == flip.stage->name() &&
           other.stage->is_random();
  };
  return std::any_of(field.stages.begin(), field.stages.end(),
                     [&](const NamedStage& stage) { return any_stage(stage, is_one); });
}

/// The flip before `to`, if the GPU can do it. It cannot where other fields flip alike and this
/// field has several flips: those that stay would no longer match.
const NamedStage* last_flip(const std::vector<ResolvedField>& fields, std::size_t index) {
  const std::vector<NamedStage>& stages = fields[index].stages;
  const auto end = std::find_if(stages.rbegin(), stages.rend(), [](const NamedStage& named) {
    return named.stage->kind() != StageKind::finish;
  });
  if (end == stages.rend() || end->is_joint || !is_horizontal_flip(*end->stage)) return nullptr;
  std::size_t flips = 0;
  for (const NamedStage& stage : stages) {
    for_each_stage(stage, [&](const NamedStage& other) {
      flips += other.stage->name() == end->stage->name() ? 1U : 0U;
    });
  }
  for (std::size_t i = 0; flips > 1 && i < fields.size(); ++i) {
    if (i != index && has_flips(fields[i], *end)) return nullptr;
  }
  return &*end;
}

/// Takes the end off `field`, which keeps the stages before.
FieldFinish take_finish(FieldRecipe& field, const NamedStage* flip, const ImagePlan& plan) {
  FieldFinish finish;
  finish.format = plan.format;
  finish.channels = plan.channels_out;
  const std::vector<std::int64_t>& shape = plan.steps->input().shape;
  const std::size_t height = plan.format.layout == ImageLayout::chw ? 1 : 0;
  finish.size = {static_cast<std::int32_t>(shape[height + 1]),
                 static_cast<std::int32_t>(shape[height])};

  auto& stages = field.stages;
  while (!stages.empty() && stages.back()->kind() == StageKind::finish) stages.pop_back();
  if (flip != nullptr) {
    finish.flip = {flip->stage, flip->stage->as_geometry()};
    finish.flip_draws = flip->draws;
    stages.pop_back();
  }
  stages.push_back(std::make_shared<ToStage>(
      ToStage::Parameters{.dtype = DType::u8, .layout = ImageLayout::hwc}));
  return finish;
}

}  // namespace

bool FieldFinish::flips(const SampleKey& key) const {
  if (!flip) return false;
  // The stage itself draws, so that only one place says how.
  Geometry geometry = Geometry::of({1, 1});
  StageContext context(key, flip_draws, {}, nullptr);
  flip->place(geometry, context);
  return geometry.flip_x;
}

DeviceSplit split_for_device(const Recipe& recipe, std::span<const PartSpec> parts) {
  DeviceSplit split;
  split.host = recipe;
  const std::vector<ResolvedField> fields = resolve(recipe).fields;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const PartSpec& part = part_of(fields[i], parts);
    if (!is_image_field(fields[i], part)) continue;
    const ImagePlan plan = plan_image(fields[i], part);
    if (std::string reason = why_kept(fields[i], plan); !reason.empty()) {
      split.kept.push_back({i, std::move(reason)});
      continue;
    }
    split.finishes.push_back(take_finish(split.host.fields[i], last_flip(fields, i), plan));
    split.finishes.back().field = i;
  }
  return split;
}

}  // namespace batchcast::inline v0_1::detail
