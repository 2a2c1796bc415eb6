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

/// How pixels are made of others where the size changes, as PIL does it: all but `nearest` with a
/// filter that widens where it shrinks.
enum class Interpolation : std::uint8_t { nearest, bilinear, bicubic, lanczos, box };

/// Which pixels of an image become which of a new one, in one pass: a box of the image is resized
/// (as PIL does it, which sees nothing outside the box), a window is taken of the
/// result, and that is mirrored. The window may reach beyond the resized box: padding, whose pixels
/// come from the resized box by `padding`. Stages change it in the coordinates of what came out so
/// far; which of them fit into one pass, GeometryTraits say.
struct Geometry {
  ImageSize image;    ///< what comes in
  Box box;            ///< of it, inside it
  ImageSize resized;  ///< of the box
  Box window;         ///< of the resized box
  bool flip_x = false;
  bool flip_y = false;
  PaddingMode padding = PaddingMode::constant;
  std::uint8_t fill = 0;
  /// What masks are padded with; nothing: 0 in a joint, and `fill` by a mask's own stage.
  std::optional<std::uint8_t> mask_fill = std::nullopt;
  Interpolation interpolation = Interpolation::bilinear;
  /// Resized in the order of passes of Pillow 13, not of those before it.
  bool as_pillow_13 = false;

  /// The image as it is.
  [[nodiscard]] static Geometry of(ImageSize image) noexcept {
    return {.image = image,
            .box = {0, 0, image.width, image.height},
            .resized = image,
            .window = {0, 0, image.width, image.height}};
  }

  [[nodiscard]] ImageSize output() const noexcept { return window.size(); }
  [[nodiscard]] bool resizes() const noexcept { return resized != box.size(); }
  /// Which of the two passes of resizing comes first may change a pixel by one level, for what lies
  /// between them is rounded to u8. It is the horizontal one, but in Pillow 13 where the height
  /// shrinks, and by more than twice as many pixels as the width.
  [[nodiscard]] bool vertical_pass_first() const noexcept {
    return as_pillow_13 && interpolation != Interpolation::nearest && box.height > resized.height &&
           box.height - resized.height > 2 * (box.width - resized.width);
  }

  /// Takes `part` of what came out so far.
  void crop(Box part) noexcept;
  /// Scales what came out so far, of which nothing may be resized or padded yet.
  void resize(ImageSize size) noexcept;
  /// Grows what came out so far on each side.
  void pad(std::int32_t left, std::int32_t top, std::int32_t right, std::int32_t bottom,
           PaddingMode mode, std::uint8_t fill_value) noexcept;
  void flip_horizontally() noexcept { flip_x = !flip_x; }
  void flip_vertically() noexcept { flip_y = !flip_y; }

  friend bool operator==(const Geometry&, const Geometry&) = default;
};

}  // namespace batchcast::inline v0_1
