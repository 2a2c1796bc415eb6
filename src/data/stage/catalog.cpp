// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/recipe.hpp>

namespace batchcast::inline v0_1 {

const StageCatalog& StageCatalog::standard() {
  static const StageCatalog catalog = [] {
    StageCatalog made;
    made.add("decode", detail::make_decode);
    made.add("random_resized_crop", detail::make_random_resized_crop);
    made.add("random_crop", detail::make_random_crop);
    made.add("center_crop", detail::make_center_crop);
    made.add("resize", detail::make_resize);
    made.add("pad", detail::make_pad);
    made.add("horizontal_flip", detail::make_horizontal_flip);
    made.add("vertical_flip", detail::make_vertical_flip);
    made.add("color_jitter", detail::make_color_jitter);
    made.add("grayscale", detail::make_grayscale);
    made.add("solarize", detail::make_solarize);
    made.add("posterize", detail::make_posterize);
    made.add("autocontrast", detail::make_autocontrast);
    made.add("equalize", detail::make_equalize);
    made.add("sharpness", detail::make_sharpness);
    made.add("invert", detail::make_invert);
    made.add("random_photometric_distort", detail::make_random_photometric_distort);
    made.add("random_channel_permutation", detail::make_random_channel_permutation);
    made.add("gaussian_blur", detail::make_gaussian_blur);
    made.add("affine", detail::make_affine);
    made.add("rotate", detail::make_rotate);
    made.add("random_affine", detail::make_random_affine);
    made.add("random_rotation", detail::make_random_rotation);
    made.add("random_perspective", detail::make_random_perspective);
    made.add("elastic", detail::make_elastic);
    made.add("random_short_side", detail::make_random_short_side);
    made.add("scale_jitter", detail::make_scale_jitter);
    made.add("resized_crop", detail::make_resized_crop);
    made.add("to", detail::make_to);
    made.add("normalize", detail::make_normalize);
    made.add("gaussian_noise", detail::make_gaussian_noise);
    made.add("random_erasing", detail::make_random_erasing);
    made.add("slice", detail::make_slice);
    made.add("reshape", detail::make_reshape);
    made.add("random_apply", detail::make_random_apply);
    made.add("random_choice", detail::make_random_choice);
    made.add("random_order", detail::make_random_order);
    made.add("five_crop", detail::make_five_crop);
    made.add("ten_crop", detail::make_ten_crop);
    made.add("random_resize", detail::make_random_resize);
    made.add("rand_augment", detail::make_rand_augment);
    made.add("timm_rand_augment", detail::make_timm_rand_augment);
    made.add("trivial_augment_wide", detail::make_trivial_augment_wide);
    made.add("auto_augment", detail::make_auto_augment);
    made.add("aug_mix", detail::make_aug_mix);
    return made;
  }();
  return catalog;
}

void StageCatalog::add(std::string name, StageFactory factory) {
  if (name.empty() || !factory) {
    throw InvalidArgument("batchcast: a stage needs a name and a factory.");
  }
  if (const auto [place, added] = factories_.try_emplace(name, std::move(factory)); !added) {
    throw InvalidArgument("batchcast: there is a stage `" + place->first +
                          "` already. Give yours another name.");
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
