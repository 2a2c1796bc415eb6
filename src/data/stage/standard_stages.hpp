// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/stage/parameter_table.hpp"

// The stages of StageCatalog::standard(), by their files. docs/recipes.md describes them.
namespace batchcast::inline v0_1::detail {

void add_affine(StandardStages& stages);
void add_blur(StandardStages& stages);
void add_color(StandardStages& stages);
void add_containers(StandardStages& stages);
void add_crops(StandardStages& stages);
void add_elastic(StandardStages& stages);
void add_erasing(StandardStages& stages);
void add_finish(StandardStages& stages);
void add_geometry(StandardStages& stages);
void add_ids(StandardStages& stages);
void add_jpeg(StandardStages& stages);
void add_keep_ratio(StandardStages& stages);
void add_letterbox(StandardStages& stages);
void add_noise(StandardStages& stages);
void add_perspective(StandardStages& stages);
void add_policies(StandardStages& stages);
void add_scaling(StandardStages& stages);
void add_tensors(StandardStages& stages);
void add_timm_policies(StandardStages& stages);
void add_tones(StandardStages& stages);

[[nodiscard]] const StandardStages& standard_stages();

/// Whether it is the catalog's horizontal_flip, and not a user's stage of that name.
[[nodiscard]] bool is_horizontal_flip(const Stage& stage) noexcept;

}  // namespace batchcast::inline v0_1::detail
