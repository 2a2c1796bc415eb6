// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pixels/operations.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// The operations that augmentation policies choose from, and their strengths, as in
// torchvision.transforms.v2.
namespace batchcast::inline v0_1::detail {

enum class Operation : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize,
  invert,
  solarize_add,
  desaturate,
  gaussian_blur,
};

inline constexpr std::array<std::string_view, 18> operation_names = {
    "identity",     "shear_x",  "shear_y",  "translate_x",  "translate_y", "rotate",
    "brightness",   "color",    "contrast", "sharpness",    "posterize",   "solarize",
    "autocontrast", "equalize", "invert",   "solarize_add", "desaturate",  "gaussian_blur"};

[[nodiscard]] constexpr std::string_view name_of(Operation operation) noexcept {
  return operation_names[static_cast<std::size_t>(operation)];
}

/// Whether the operation may also go the other way.
[[nodiscard]] constexpr bool is_signed(Operation operation) noexcept {
  return operation >= Operation::shear_x && operation <= Operation::sharpness;
}

/// How strong a policy makes each operation at most.
struct PolicySpace {
  float shear;
  float rotate;
  float enhance;  ///< brightness, color, contrast, sharpness
  /// Pixels, or a share of the side.
  double translate;
  bool translates_by_share;
  float posterize_from;  ///< bits at no strength
  float posterize_by;    ///< bits fewer at full strength
};

inline constexpr PolicySpace auto_augment_space{0.3F, 30, 0.9F, 150.0 / 331.0, true, 8, 4};
inline constexpr PolicySpace rand_augment_space = auto_augment_space;
inline constexpr PolicySpace trivial_augment_space{0.99F, 135, 0.99F, 32, false, 8, 6};
inline constexpr PolicySpace aug_mix_space{0.3F, 30, 0.9F, 1.0 / 3.0, true, 4, 4};

/// In single precision, as torch.linspace has it. Nothing for operations that have no strength.
/// `bin` is below `bins`, which is at least 2.
[[nodiscard]] std::optional<double> magnitude_of(const PolicySpace& space, Operation operation,
                                                 int bins, int bin, ImageSize size) noexcept;

[[nodiscard]] std::size_t operation_scratch_bytes(ImageSize size, std::int32_t channels) noexcept;
/// Works in place. `scratch` is aligned, of at least operation_scratch_bytes().
void apply_operation(const ImageView& image, Operation operation, double magnitude,
                     const WarpOptions& options, std::span<std::byte> scratch) noexcept;

struct AutoAugmentStep {
  Operation operation;
  std::uint8_t tenths;  ///< of the probability
  std::uint8_t bin;     ///< of 10
};
using AutoAugmentPair = std::array<AutoAugmentStep, 2>;

enum class AutoAugmentPolicy : std::uint8_t { imagenet, cifar10, svhn };
inline constexpr std::array<std::string_view, 3> auto_augment_policy_names = {"imagenet", "cifar10",
                                                                              "svhn"};
/// The 25 pairs, of which each image gets one.
[[nodiscard]] std::span<const AutoAugmentPair, 25> auto_augment_pairs(
    AutoAugmentPolicy policy) noexcept;

}  // namespace batchcast::inline v0_1::detail
