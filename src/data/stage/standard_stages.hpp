// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>

#include <memory>

// The stages of StageCatalog::standard(), each from its parameters. docs/recipes.md describes them.
namespace batchcast::inline v0_1::detail {

using StagePointer = std::shared_ptr<const Stage>;

[[nodiscard]] StagePointer make_decode(StageParameters& parameters);
[[nodiscard]] StagePointer make_to(StageParameters& parameters);
[[nodiscard]] StagePointer make_normalize(StageParameters& parameters);

[[nodiscard]] StagePointer make_five_crop(StageParameters& parameters);
[[nodiscard]] StagePointer make_ten_crop(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_resized_crop(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_crop(StageParameters& parameters);
[[nodiscard]] StagePointer make_center_crop(StageParameters& parameters);
[[nodiscard]] StagePointer make_resize(StageParameters& parameters);
[[nodiscard]] StagePointer make_pad(StageParameters& parameters);
[[nodiscard]] StagePointer make_horizontal_flip(StageParameters& parameters);
[[nodiscard]] StagePointer make_vertical_flip(StageParameters& parameters);
/// Whether it is one that `make_horizontal_flip` made, and not somebody's own of that name.
[[nodiscard]] bool is_horizontal_flip(const Stage& stage) noexcept;

[[nodiscard]] StagePointer make_color_jitter(StageParameters& parameters);
[[nodiscard]] StagePointer make_grayscale(StageParameters& parameters);

[[nodiscard]] StagePointer make_random_apply(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_choice(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_order(StageParameters& parameters);

[[nodiscard]] StagePointer make_random_resize(StageParameters& parameters);

[[nodiscard]] StagePointer make_rand_augment(StageParameters& parameters);
[[nodiscard]] StagePointer make_timm_rand_augment(StageParameters& parameters);
[[nodiscard]] StagePointer make_trivial_augment_wide(StageParameters& parameters);
[[nodiscard]] StagePointer make_auto_augment(StageParameters& parameters);
[[nodiscard]] StagePointer make_aug_mix(StageParameters& parameters);

[[nodiscard]] StagePointer make_solarize(StageParameters& parameters);
[[nodiscard]] StagePointer make_posterize(StageParameters& parameters);
[[nodiscard]] StagePointer make_autocontrast(StageParameters& parameters);
[[nodiscard]] StagePointer make_equalize(StageParameters& parameters);
[[nodiscard]] StagePointer make_sharpness(StageParameters& parameters);
[[nodiscard]] StagePointer make_invert(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_photometric_distort(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_channel_permutation(StageParameters& parameters);
[[nodiscard]] StagePointer make_gaussian_blur(StageParameters& parameters);

[[nodiscard]] StagePointer make_affine(StageParameters& parameters);
[[nodiscard]] StagePointer make_rotate(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_affine(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_rotation(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_perspective(StageParameters& parameters);
[[nodiscard]] StagePointer make_elastic(StageParameters& parameters);

[[nodiscard]] StagePointer make_random_short_side(StageParameters& parameters);
[[nodiscard]] StagePointer make_scale_jitter(StageParameters& parameters);
[[nodiscard]] StagePointer make_resized_crop(StageParameters& parameters);

[[nodiscard]] StagePointer make_gaussian_noise(StageParameters& parameters);
[[nodiscard]] StagePointer make_random_erasing(StageParameters& parameters);
[[nodiscard]] StagePointer make_slice(StageParameters& parameters);
[[nodiscard]] StagePointer make_reshape(StageParameters& parameters);

}  // namespace batchcast::inline v0_1::detail
