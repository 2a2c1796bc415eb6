// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/placing.hpp"

#include <batchcast/core/text.hpp>

#include <nlohmann/json.hpp>

namespace batchcast::inline v0_1::detail {
namespace {

void erase_mixing(nlohmann::json& parameters) {
  for (const char* key : {"interpolation", "pillow", "fill", "padding_mode", "mask_fill"}) {
    parameters.erase(key);
  }
  const auto inner = parameters.find("stages");
  if (inner == parameters.end() || !inner->is_array()) return;
  for (nlohmann::json& stage : *inner) {
    if (stage.is_object()) erase_mixing(stage);
  }
}

}  // namespace

bool is_policy(const NamedStage& stage) {
  const Stage& one = *stage.stage;
  return one.kind() == StageKind::pixel && one.moves_pixels() && one.is_random();
}

bool moves_pixels(const NamedStage& stage) {
  return any_stage(stage, [](const NamedStage& one) {
    return is_policy(one) || (one.stage->kind() != StageKind::pixel && one.stage->moves_pixels());
  });
}

bool places_by_size(const NamedStage& stage) {
  return any_stage(stage, [](const NamedStage& one) {
    if (one.stage->kind() == StageKind::warp) return true;
    const GeometryStage* geometry = one.stage->as_geometry();
    if (geometry == nullptr) return false;
    const GeometryTraits traits = geometry->traits();
    return traits.crops || traits.resizes || traits.pads;
  });
}

bool only_scales(const NamedStage& stage) {
  const GeometryStage* geometry = stage.stage->as_geometry();
  if (geometry == nullptr || geometry->is_random()) return false;
  const GeometryTraits traits = geometry->traits();
  return traits.resizes && !traits.crops && !traits.pads;
}

std::string placing_of(const NamedStage& stage, OutputSize size) {
  const std::string name(stage.stage->name());
  nlohmann::json parameters = nlohmann::json::parse(stage.stage->parameters_json(), nullptr, false);
  if (parameters.is_object()) {
    erase_mixing(parameters);
    if (size == OutputSize::ignored && name == "random_resized_crop") parameters.erase("size");
  }
  return text("{} {}", name,
              parameters.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

std::vector<MovingStage> moving_stages(const ResolvedField& field) {
  std::vector<MovingStage> moving;
  for (const NamedStage& stage : field.stages) {
    if (moves_pixels(stage)) moving.push_back({&stage, placing_of(stage, OutputSize::counts)});
  }
  return moving;
}

std::vector<MovingStage> placing_stages(const ResolvedField& field) {
  std::vector<MovingStage> moving = moving_stages(field);
  while (!moving.empty() && only_scales(*moving.back().stage)) moving.pop_back();
  if (!moving.empty()) {
    moving.back().placing = placing_of(*moving.back().stage, OutputSize::ignored);
  }
  return moving;
}

}  // namespace batchcast::inline v0_1::detail
