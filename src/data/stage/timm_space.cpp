// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/timm_space.hpp"

#include "data/pixels/box_blur.hpp"

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

// As timm's own order, which is that of the draws.
constexpr std::array<TimmChoice, 15> all_choices = {{{Operation::autocontrast},
                                                     {Operation::equalize},
                                                     {Operation::invert},
                                                     {Operation::rotate},
                                                     {Operation::posterize},
                                                     {Operation::solarize},
                                                     {Operation::solarize_add},
                                                     {Operation::color},
                                                     {Operation::contrast},
                                                     {Operation::brightness},
                                                     {Operation::sharpness},
                                                     {Operation::shear_x},
                                                     {Operation::shear_y},
                                                     {Operation::translate_x},
                                                     {Operation::translate_y}}};

constexpr std::array<TimmChoice, 15> weighted_choices = {{{Operation::rotate, 3},
                                                          {Operation::shear_x, 2},
                                                          {Operation::shear_y, 2},
                                                          {Operation::translate_x, 1},
                                                          {Operation::translate_y, 1},
                                                          {Operation::color, 0.25},
                                                          {Operation::sharpness, 0.25},
                                                          {Operation::autocontrast, 0.25},
                                                          {Operation::solarize, 0.05},
                                                          {Operation::solarize_add, 0.05},
                                                          {Operation::contrast, 0.05},
                                                          {Operation::brightness, 0.05},
                                                          {Operation::equalize, 0.05},
                                                          {Operation::posterize, 0.05},
                                                          {Operation::invert, 0.05}}};

constexpr std::array<TimmChoice, 3> three_choices = {
    {{Operation::solarize}, {Operation::desaturate}, {Operation::gaussian_blur}}};

constexpr std::array<TimmChoice, 14> three_weighted_choices = {{{Operation::solarize, 6},
                                                                {Operation::desaturate, 6},
                                                                {Operation::gaussian_blur, 6},
                                                                {Operation::rotate, 3},
                                                                {Operation::shear_x, 2},
                                                                {Operation::shear_y, 2},
                                                                {Operation::posterize, 1},
                                                                {Operation::autocontrast, 1},
                                                                {Operation::color, 1},
                                                                {Operation::sharpness, 1},
                                                                {Operation::contrast, 1},
                                                                {Operation::brightness, 1},
                                                                {Operation::equalize, 1},
                                                                {Operation::invert, 1}}};

// The policy of TensorFlow's EfficientNet. Operations without a strength have no level here.
constexpr std::array<AutoAugmentPair, 25> v0_pairs = {{
    {{{Operation::equalize, 8, 0}, {Operation::shear_y, 8, 4}}},
    {{{Operation::color, 4, 9}, {Operation::equalize, 6, 0}}},
    {{{Operation::color, 4, 1}, {Operation::rotate, 6, 8}}},
    {{{Operation::solarize, 8, 3}, {Operation::equalize, 4, 0}}},
    {{{Operation::solarize, 4, 2}, {Operation::solarize, 6, 2}}},
    {{{Operation::color, 2, 0}, {Operation::equalize, 8, 0}}},
    {{{Operation::equalize, 4, 0}, {Operation::solarize_add, 8, 3}}},
    {{{Operation::shear_x, 2, 9}, {Operation::rotate, 6, 8}}},
    {{{Operation::color, 6, 1}, {Operation::equalize, 10, 0}}},
    {{{Operation::invert, 4, 0}, {Operation::rotate, 6, 0}}},
    {{{Operation::equalize, 10, 0}, {Operation::shear_y, 6, 3}}},
    {{{Operation::color, 4, 7}, {Operation::equalize, 6, 0}}},
    {{{Operation::posterize, 4, 6}, {Operation::autocontrast, 4, 0}}},
    {{{Operation::solarize, 6, 8}, {Operation::color, 6, 9}}},
    {{{Operation::solarize, 2, 4}, {Operation::rotate, 8, 9}}},
    {{{Operation::rotate, 10, 7}, {Operation::translate_y, 8, 9}}},
    {{{Operation::shear_x, 0, 0}, {Operation::solarize, 8, 4}}},
    {{{Operation::shear_y, 8, 0}, {Operation::color, 6, 4}}},
    {{{Operation::color, 10, 0}, {Operation::rotate, 6, 2}}},
    {{{Operation::equalize, 8, 0}, {Operation::equalize, 0, 0}}},
    {{{Operation::equalize, 10, 0}, {Operation::autocontrast, 6, 0}}},
    {{{Operation::shear_y, 4, 7}, {Operation::solarize_add, 6, 7}}},
    {{{Operation::posterize, 8, 2}, {Operation::solarize, 6, 10}}},
    {{{Operation::solarize, 6, 8}, {Operation::equalize, 6, 0}}},
    {{{Operation::color, 8, 6}, {Operation::rotate, 4, 5}}},
}};

TimmScale posterize_scale(TimmPolicy policy) noexcept {
  if (policy == TimmPolicy::original) return TimmScale::original;
  return policy == TimmPolicy::v0 ? TimmScale::plain : TimmScale::increasing;
}

bool enhances(Operation operation) noexcept {
  return operation >= Operation::brightness && operation <= Operation::sharpness;
}

int bits_kept(TimmScale scale, int bits) noexcept {
  switch (scale) {
    case TimmScale::plain:
      return std::clamp(bits, 0, 8);
    case TimmScale::original:
      return std::clamp(bits + 4, 0, 8);
    default:
      return std::clamp(4 - bits, 0, 8);
  }
}

double blur_radius(const TimmOperation& what, double share) noexcept {
  return what.radius.value_or(std::clamp(0.1 + (2.0 - 0.1) * share, 0.1, 2.0));
}

void enhance(const ImageView& image, Operation operation, double factor,
             std::span<std::byte> scratch) {
  switch (operation) {
    case Operation::brightness:
      return adjust_brightness(image, factor);
    case Operation::color:
      return adjust_saturation(image, factor);
    case Operation::contrast:
      return adjust_contrast(image, factor);
    default:
      return adjust_sharpness(image, factor, scratch);
  }
}

}  // namespace

bool is_signed(const TimmOperation& what) noexcept {
  if (enhances(what.operation) && what.scale != TimmScale::increasing) return false;
  return is_signed(what.operation);
}

std::size_t timm_scratch_bytes(ImageSize size, std::int32_t channels) noexcept {
  return std::max(operation_scratch_bytes(size, channels), pil_blur_scratch_bytes(size, channels));
}

void apply_timm_operation(const ImageView& image, const TimmOperation& what,
                          const WarpOptions& options, std::span<std::byte> scratch) {
  const double share = what.level / 10;
  const double sign = what.negates ? -1 : 1;
  const bool increases = what.scale == TimmScale::increasing;
  const auto whole = [share](int most) { return static_cast<int>(share * most); };
  const auto by = [&](double magnitude) {
    apply_operation(image, what.operation, magnitude, options, scratch);
  };
  const auto moved = [&](const AffineMatrix& matrix) {
    ImageView before = image;
    before.data = reinterpret_cast<std::uint8_t*>(scratch.data());
    std::memcpy(before.data, image.data, image.byte_count());
    warp_affine(before, image, matrix, options);
  };
  const double translation = sign * (share * what.translation);
  switch (what.operation) {
    case Operation::shear_x:
      return moved({1, sign * (share * 0.3), 0, 0, 1, 0});
    case Operation::shear_y:
      return moved({1, 0, 0, sign * (share * 0.3), 1, 0});
    case Operation::translate_x:
      return moved({1, 0, translation * image.size.width, 0, 1, 0});
    case Operation::translate_y:
      return moved({1, 0, 0, 0, 1, translation * image.size.height});
    case Operation::rotate:
      return by(sign * (share * 30));
    case Operation::brightness:
    case Operation::color:
    case Operation::contrast:
    case Operation::sharpness:
      if (!increases) return enhance(image, what.operation, share * 1.8 + 0.1, scratch);
      return by(std::max(sign * (share * 0.9), -0.9));
    case Operation::posterize:
      return posterize(image, bits_kept(what.scale, whole(4)));
    case Operation::solarize: {
      const int weak = std::min(whole(256), 256);
      return solarize(image, increases ? 256 - weak : weak);
    }
    case Operation::solarize_add:
      return solarize_add(image, std::min(whole(110), 128));
    case Operation::desaturate:
      return adjust_saturation(image, 1.0 - std::clamp(0.5 + 0.5 * share, 0.5, 1.0));
    case Operation::gaussian_blur:
      return pil_gaussian_blur(image, blur_radius(what, share), scratch);
    default:
      return by(0);
  }
}

std::span<const TimmChoice> timm_choices(TimmChoices which) noexcept {
  switch (which) {
    case TimmChoices::weights:
      return weighted_choices;
    case TimmChoices::three:
      return three_choices;
    case TimmChoices::three_weighted:
      return three_weighted_choices;
    default:
      return all_choices;
  }
}

std::size_t timm_policy_size(TimmPolicy policy) noexcept {
  return policy == TimmPolicy::three ? three_choices.size() : v0_pairs.size();
}

std::size_t timm_steps(TimmPolicy policy) noexcept { return policy == TimmPolicy::three ? 1 : 2; }

TimmStep timm_step(TimmPolicy policy, std::size_t entry, std::size_t step) noexcept {
  TimmStep made;
  made.operation.scale = TimmScale::plain;
  if (policy == TimmPolicy::three) {
    made.operation.operation = three_choices[entry].operation;
    made.operation.level = made.operation.operation == Operation::solarize ? 5 : 10;
    return made;
  }
  // timm's "original" has the levels that torchvision calls bins.
  const bool is_v0 = policy == TimmPolicy::v0 || policy == TimmPolicy::v0r;
  const auto pairs = is_v0 ? std::span<const AutoAugmentPair, 25>(v0_pairs)
                           : auto_augment_pairs(AutoAugmentPolicy::imagenet);
  const AutoAugmentStep& from = pairs[entry][step];
  made.operation.operation = from.operation;
  made.operation.level = from.bin;
  made.p = from.tenths / 10.0;
  if (from.operation == Operation::posterize) made.operation.scale = posterize_scale(policy);
  return made;
}

}  // namespace batchcast::inline v0_1::detail
