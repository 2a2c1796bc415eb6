// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/policy_space.hpp"

#include "data/portable_math.hpp"

#include <algorithm>
#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::array<AutoAugmentPair, 25> imagenet_pairs = {{
    {{{Operation::posterize, 4, 8}, {Operation::rotate, 6, 9}}},
    {{{Operation::solarize, 6, 5}, {Operation::autocontrast, 6, 0}}},
    {{{Operation::equalize, 8, 0}, {Operation::equalize, 6, 0}}},
    {{{Operation::posterize, 6, 7}, {Operation::posterize, 6, 6}}},
    {{{Operation::equalize, 4, 0}, {Operation::solarize, 2, 4}}},
    {{{Operation::equalize, 4, 0}, {Operation::rotate, 8, 8}}},
    {{{Operation::solarize, 6, 3}, {Operation::equalize, 6, 0}}},
    {{{Operation::posterize, 8, 5}, {Operation::equalize, 10, 0}}},
    {{{Operation::rotate, 2, 3}, {Operation::solarize, 6, 8}}},
    {{{Operation::equalize, 6, 0}, {Operation::posterize, 4, 6}}},
    {{{Operation::rotate, 8, 8}, {Operation::color, 4, 0}}},
    {{{Operation::rotate, 4, 9}, {Operation::equalize, 6, 0}}},
    {{{Operation::equalize, 0, 0}, {Operation::equalize, 8, 0}}},
    {{{Operation::invert, 6, 0}, {Operation::equalize, 10, 0}}},
    {{{Operation::color, 6, 4}, {Operation::contrast, 10, 8}}},
    {{{Operation::rotate, 8, 8}, {Operation::color, 10, 2}}},
    {{{Operation::color, 8, 8}, {Operation::solarize, 8, 7}}},
    {{{Operation::sharpness, 4, 7}, {Operation::invert, 6, 0}}},
    {{{Operation::shear_x, 6, 5}, {Operation::equalize, 10, 0}}},
    {{{Operation::color, 4, 0}, {Operation::equalize, 6, 0}}},
    {{{Operation::equalize, 4, 0}, {Operation::solarize, 2, 4}}},
    {{{Operation::solarize, 6, 5}, {Operation::autocontrast, 6, 0}}},
    {{{Operation::invert, 6, 0}, {Operation::equalize, 10, 0}}},
    {{{Operation::color, 6, 4}, {Operation::contrast, 10, 8}}},
    {{{Operation::equalize, 8, 0}, {Operation::equalize, 6, 0}}},
}};

constexpr std::array<AutoAugmentPair, 25> cifar10_pairs = {{
    {{{Operation::invert, 1, 0}, {Operation::contrast, 2, 6}}},
    {{{Operation::rotate, 7, 2}, {Operation::translate_x, 3, 9}}},
    {{{Operation::sharpness, 8, 1}, {Operation::sharpness, 9, 3}}},
    {{{Operation::shear_y, 5, 8}, {Operation::translate_y, 7, 9}}},
    {{{Operation::autocontrast, 5, 0}, {Operation::equalize, 9, 0}}},
    {{{Operation::shear_y, 2, 7}, {Operation::posterize, 3, 7}}},
    {{{Operation::color, 4, 3}, {Operation::brightness, 6, 7}}},
    {{{Operation::sharpness, 3, 9}, {Operation::brightness, 7, 9}}},
    {{{Operation::equalize, 6, 0}, {Operation::equalize, 5, 0}}},
    {{{Operation::contrast, 6, 7}, {Operation::sharpness, 6, 5}}},
    {{{Operation::color, 7, 7}, {Operation::translate_x, 5, 8}}},
    {{{Operation::equalize, 3, 0}, {Operation::autocontrast, 4, 0}}},
    {{{Operation::translate_y, 4, 3}, {Operation::sharpness, 2, 6}}},
    {{{Operation::brightness, 9, 6}, {Operation::color, 2, 8}}},
    {{{Operation::solarize, 5, 2}, {Operation::invert, 0, 0}}},
    {{{Operation::equalize, 2, 0}, {Operation::autocontrast, 6, 0}}},
    {{{Operation::equalize, 2, 0}, {Operation::equalize, 6, 0}}},
    {{{Operation::color, 9, 9}, {Operation::equalize, 6, 0}}},
    {{{Operation::autocontrast, 8, 0}, {Operation::solarize, 2, 8}}},
    {{{Operation::brightness, 1, 3}, {Operation::color, 7, 0}}},
    {{{Operation::solarize, 4, 5}, {Operation::autocontrast, 9, 0}}},
    {{{Operation::translate_y, 9, 9}, {Operation::translate_y, 7, 9}}},
    {{{Operation::autocontrast, 9, 0}, {Operation::solarize, 8, 3}}},
    {{{Operation::equalize, 8, 0}, {Operation::invert, 1, 0}}},
    {{{Operation::translate_y, 7, 9}, {Operation::autocontrast, 9, 0}}},
}};

constexpr std::array<AutoAugmentPair, 25> svhn_pairs = {{
    {{{Operation::shear_x, 9, 4}, {Operation::invert, 2, 0}}},
    {{{Operation::shear_y, 9, 8}, {Operation::invert, 7, 0}}},
    {{{Operation::equalize, 6, 0}, {Operation::solarize, 6, 6}}},
    {{{Operation::invert, 9, 0}, {Operation::equalize, 6, 0}}},
    {{{Operation::equalize, 6, 0}, {Operation::rotate, 9, 3}}},
    {{{Operation::shear_x, 9, 4}, {Operation::autocontrast, 8, 0}}},
    {{{Operation::shear_y, 9, 8}, {Operation::invert, 4, 0}}},
    {{{Operation::shear_y, 9, 5}, {Operation::solarize, 2, 6}}},
    {{{Operation::invert, 9, 0}, {Operation::autocontrast, 8, 0}}},
    {{{Operation::equalize, 6, 0}, {Operation::rotate, 9, 3}}},
    {{{Operation::shear_x, 9, 4}, {Operation::solarize, 3, 3}}},
    {{{Operation::shear_y, 8, 8}, {Operation::invert, 7, 0}}},
    {{{Operation::equalize, 9, 0}, {Operation::translate_y, 6, 6}}},
    {{{Operation::invert, 9, 0}, {Operation::equalize, 6, 0}}},
    {{{Operation::contrast, 3, 3}, {Operation::rotate, 8, 4}}},
    {{{Operation::invert, 8, 0}, {Operation::translate_y, 0, 2}}},
    {{{Operation::shear_y, 7, 6}, {Operation::solarize, 4, 8}}},
    {{{Operation::invert, 6, 0}, {Operation::rotate, 8, 4}}},
    {{{Operation::shear_y, 3, 7}, {Operation::translate_x, 9, 3}}},
    {{{Operation::shear_x, 1, 6}, {Operation::invert, 6, 0}}},
    {{{Operation::solarize, 7, 2}, {Operation::translate_y, 6, 7}}},
    {{{Operation::shear_y, 8, 4}, {Operation::invert, 8, 0}}},
    {{{Operation::shear_x, 7, 9}, {Operation::translate_y, 8, 3}}},
    {{{Operation::shear_y, 8, 5}, {Operation::autocontrast, 7, 0}}},
    {{{Operation::shear_x, 7, 2}, {Operation::invert, 1, 0}}},
}};

// As torch.linspace: the upper half is counted from its end, and product and sum are rounded at
// once. The product is exact in a double.
float at_linear(float from, float to, int bins, int bin) noexcept {
  const float step = (to - from) / static_cast<float>(bins - 1);
  const auto steps = [step](int count) { return static_cast<double>(step) * count; };
  if (bin < bins / 2) return static_cast<float>(static_cast<double>(from) + steps(bin));
  return static_cast<float>(static_cast<double>(to) - steps(bins - 1 - bin));
}

float bits_left(const PolicySpace& space, int bins, int bin) noexcept {
  const double per_bit = static_cast<double>(bins - 1) / static_cast<double>(space.posterize_by);
  const float fewer = static_cast<float>(bin) / static_cast<float>(per_bit);
  return static_cast<float>(round_half_even(static_cast<double>(space.posterize_from - fewer)));
}

float translation(const PolicySpace& space, std::int32_t side) noexcept {
  if (!space.translates_by_share) return static_cast<float>(space.translate);
  // torchvision divides for a third, and multiplies for the other share.
  if (space.translate == 1.0 / 3.0) return static_cast<float>(static_cast<double>(side) / 3.0);
  return static_cast<float>(space.translate * static_cast<double>(side));
}

using Warp = void (*)(const ImageView&, const ImageView&, double, const WarpOptions&) noexcept;

void turn(const ImageView& in, const ImageView& out, double degrees,
          const WarpOptions& options) noexcept {
  rotate(in, out, degrees, std::nullopt, options);
}

Warp warp_of(Operation operation) noexcept {
  switch (operation) {
    case Operation::shear_x:
      return shear_x;
    case Operation::shear_y:
      return shear_y;
    case Operation::translate_x:
      return translate_x;
    case Operation::translate_y:
      return translate_y;
    case Operation::rotate:
      return turn;
    default:
      return nullptr;
  }
}

}  // namespace

std::optional<double> magnitude_of(const PolicySpace& space, Operation operation, int bins, int bin,
                                   ImageSize size) noexcept {
  const auto up_to = [&](float most) { return static_cast<double>(at_linear(0, most, bins, bin)); };
  switch (operation) {
    case Operation::shear_x:
    case Operation::shear_y:
      return up_to(space.shear);
    case Operation::translate_x:
      return up_to(translation(space, size.width));
    case Operation::translate_y:
      return up_to(translation(space, size.height));
    case Operation::rotate:
      return up_to(space.rotate);
    case Operation::brightness:
    case Operation::color:
    case Operation::contrast:
    case Operation::sharpness:
      return up_to(space.enhance);
    case Operation::posterize:
      return static_cast<double>(bits_left(space, bins, bin));
    case Operation::solarize:
      return static_cast<double>(at_linear(1, 0, bins, bin));
    case Operation::identity:
    case Operation::autocontrast:
    case Operation::equalize:
    case Operation::invert:
    case Operation::solarize_add:
    case Operation::desaturate:
    case Operation::gaussian_blur:
      break;
  }
  return std::nullopt;
}

std::size_t operation_scratch_bytes(ImageSize size, std::int32_t channels) noexcept {
  return std::max(ImageView{nullptr, size, channels}.byte_count(),
                  sharpness_scratch_bytes(size, channels));
}

void apply_operation(const ImageView& image, Operation operation, double magnitude,
                     const WarpOptions& options, std::span<std::byte> scratch) noexcept {
  if (const Warp warp = warp_of(operation)) {
    ImageView before = image;
    before.data = reinterpret_cast<std::uint8_t*>(scratch.data());
    std::memcpy(before.data, image.data, image.byte_count());
    return warp(before, image, magnitude, options);
  }
  switch (operation) {
    case Operation::brightness:
      return adjust_brightness(image, 1 + magnitude);
    case Operation::color:
      return adjust_saturation(image, 1 + magnitude);
    case Operation::contrast:
      return adjust_contrast(image, 1 + magnitude);
    case Operation::sharpness:
      return adjust_sharpness(image, 1 + magnitude, scratch);
    case Operation::posterize:
      return posterize(image, static_cast<int>(magnitude));
    case Operation::solarize:
      return solarize(image, 255 * magnitude);
    case Operation::autocontrast:
      return autocontrast(image);
    case Operation::equalize:
      return equalize(image);
    case Operation::invert:
      return invert(image);
    default:
      return;
  }
}

std::span<const AutoAugmentPair, 25> auto_augment_pairs(AutoAugmentPolicy policy) noexcept {
  if (policy == AutoAugmentPolicy::cifar10) return cifar10_pairs;
  return policy == AutoAugmentPolicy::svhn ? svhn_pairs : imagenet_pairs;
}

}  // namespace batchcast::inline v0_1::detail
