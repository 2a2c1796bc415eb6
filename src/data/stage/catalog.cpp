// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/recipe.hpp>

namespace batchcast::inline v0_1 {

const detail::StandardStages& detail::standard_stages() {
  static const StandardStages stages = [] {
    StandardStages made;
    for (const auto add :
         {add_affine,   add_blur,       add_color,     add_containers,    add_crops,
          add_elastic,  add_erasing,    add_finish,    add_geometry,      add_ids,
          add_jpeg,     add_keep_ratio, add_letterbox, add_noise,         add_perspective,
          add_policies, add_scaling,    add_tensors,   add_timm_policies, add_tones}) {
      add(made);
    }
    return made;
  }();
  return stages;
}

const StageCatalog& StageCatalog::standard() { return detail::standard_stages().catalog(); }

void StageCatalog::add(std::string name, StageFactory factory) {
  if (name.empty() || !factory) {
    throw InvalidArgument("batchcast: a stage needs a name and a factory.");
  }
  if (const auto [place, added] = factories_.try_emplace(name, std::move(factory)); !added) {
    throw InvalidArgument(
        text("batchcast: there is a stage `{}` already. Give yours another name.", place->first));
  }
}

const StageFactory* StageCatalog::find(std::string_view name) const {
  const auto found = factories_.find(name);
  return found == factories_.end() ? nullptr : &found->second;
}

std::vector<std::string> StageCatalog::names() const {
  std::vector<std::string> result;
  for (const auto& [name, factory] : factories_) result.push_back(name);
  return result;
}

}  // namespace batchcast::inline v0_1
