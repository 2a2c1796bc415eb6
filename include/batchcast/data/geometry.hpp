// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <cstdint>
#include <optional>

namespace batchcast::inline v0_1 {

struct ImageSize {
  std::int32_t width = 0;
  std::int32_t height = 0;

  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

/// A rectangle of pixels.
struct Box {
  std::int32_t x = 0;
  std::int32_t y = 0;
  std::int32_t width = 0;
  std::int32_t height = 0;

  [[nodiscard]] ImageSize size() const noexcept { return {width, height}; }
  friend bool operator==(const Box&, const Box&) = default;
};

/// What lies beyond an image's edge; as torchvision's padding_mode.
enum class PaddingMode : std::uint8_t { constant, edge, reflect, symmetric };

/// How resizing computes pixels, as PIL does it. All but `nearest` use a filter, which is wider
/// where the image shrinks.
enum class Interpolation : std::uint8_t { nearest, bilinear, bicubic, lanczos, box };

/// Which pixels of an image become which of a new one, in one pass. A box of the image is resized
/// as PIL does it, which sees nothing outside the box. A window is taken of the result, and the
/// window is mirrored. It may reach beyond the resized box: `padding` makes the pixels there from
/// those of the resized box. Stages change the geometry in the coordinates of what came out so far.
/// GeometryTraits say which stages fit into one pass.
struct Geometry {
  ImageSize image;    ///< what comes in
  Box box;            ///< inside the image
  ImageSize resized;  ///< of the box
  Box window;         ///< of the resized box
  bool flip_x = false;
  bool flip_y = false;
  PaddingMode padding = PaddingMode::constant;
  std::uint8_t fill = 0;
  /// What masks are padded with. Empty: 0 in a joint, `fill` in a mask's field.
  std::optional<std::uint8_t> mask_fill = std::nullopt;
  Interpolation interpolation = Interpolation::bilinear;
  /// Resize in the order of passes of Pillow 13, not in that of earlier versions.
  bool as_pillow_13 = false;

  /// The image unchanged.
  [[nodiscard]] static Geometry of(ImageSize image) noexcept {
    return {.image = image,
            .box = {0, 0, image.width, image.height},
            .resized = image,
            .window = {0, 0, image.width, image.height}};
  }

  [[nodiscard]] ImageSize output() const noexcept { return window.size(); }
  [[nodiscard]] bool resizes() const noexcept { return resized != box.size(); }
  /// Whether the vertical pass of resizing comes first. The order may change a pixel by one level,
  /// because the values between the passes are rounded to u8. The horizontal pass comes first,
  /// except in Pillow 13 where the height shrinks, and by more than twice as many pixels as the
  /// width.
  [[nodiscard]] bool vertical_pass_first() const noexcept {
    return as_pillow_13 && interpolation != Interpolation::nearest && box.height > resized.height &&
           box.height - resized.height > 2 * (box.width - resized.width);
  }

  /// Keeps only `part` of what came out so far.
  void crop(Box part) noexcept;
  /// Scales what came out so far. No stage may have resized or padded it before.
  void resize(ImageSize size) noexcept;
  /// Grows what came out so far on each side.
  void pad(std::int32_t left, std::int32_t top, std::int32_t right, std::int32_t bottom,
           PaddingMode mode, std::uint8_t fill_value) noexcept;
  void flip_horizontally() noexcept { flip_x = !flip_x; }
  void flip_vertically() noexcept { flip_y = !flip_y; }

  friend bool operator==(const Geometry&, const Geometry&) = default;
};

}  // namespace batchcast::inline v0_1
