// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <cstring>
#include <optional>
#include <vector>

#include "data/codec/decoder.hpp"
#include "fuzz.hpp"

namespace bc = batchcast;

namespace {

// Small ones break a decoder as well as large ones, sooner.
constexpr std::int64_t pixels_max = 1 << 14;

struct Pixels {
  bc::Box window;
  std::size_t pixel_bytes = 3;
  std::vector<std::uint8_t> bytes;
};

/// What is asked for of an image in that mode: with PixelMode::keep what it has, if a recipe could
/// say so, or else what must be refused.
bc::detail::DecodeLimits limits_of(bc::PixelMode mode, const bc::detail::ImageInfo& info) {
  const bool may_be_kept = info.channels > 0 && (info.bits == 8 || info.bits == 16);
  return {.pixels_max = pixels_max,
          .mode = mode,
          .channels = may_be_kept ? info.channels : 1,
          .bits = may_be_kept ? info.bits : 8};
}

std::size_t pixel_bytes_of(const bc::detail::DecodeLimits& limits) {
  if (limits.mode == bc::PixelMode::keep) {
    return static_cast<std::size_t>(limits.channels * limits.bits / 8);
  }
  return limits.mode == bc::PixelMode::rgb ? 3 : 1;
}

bc::Box window_of(fuzz::Choices& choices, const bc::ImageSize& size) {
  bc::Box box;
  box.x = static_cast<std::int32_t>(choices.up_to(static_cast<unsigned>(size.width - 1)));
  box.y = static_cast<std::int32_t>(choices.up_to(static_cast<unsigned>(size.height - 1)));
  box.width =
      static_cast<std::int32_t>(1 + choices.up_to(static_cast<unsigned>(size.width - box.x - 1)));
  box.height =
      static_cast<std::int32_t>(1 + choices.up_to(static_cast<unsigned>(size.height - box.y - 1)));
  return box;
}

/// The rows of `pixels.window`, which is started.
void read_rows(bc::detail::ImageDecoder& decoder, const bc::detail::RowLayout& layout,
               std::size_t at_once, Pixels& pixels) {
  const std::size_t row_bytes = pixels.pixel_bytes * static_cast<std::size_t>(pixels.window.width);
  const std::size_t skip = pixels.pixel_bytes * static_cast<std::size_t>(layout.skip);
  BATCHCAST_ASSERT(layout.skip >= 0 && layout.byte_count >= skip + row_bytes);
  // No byte more than the contract says, so that a write beyond it is seen.
  std::vector<std::uint8_t> rows(layout.byte_count * at_once);
  std::size_t done = 0;
  while (const std::size_t got = decoder.read(rows.data(), layout.byte_count, at_once)) {
    for (std::size_t row = 0; row < got; ++row) {
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(row * layout.byte_count + skip);
      pixels.bytes.insert(pixels.bytes.end(), begin,
                          begin + static_cast<std::ptrdiff_t>(row_bytes));
    }
    done += got;
  }
  BATCHCAST_ASSERT(done == static_cast<std::size_t>(pixels.window.height));
}

// What the contract of ImageDecoder allows a caller; nothing where the image is refused.
std::optional<Pixels> decode(bc::detail::ImageDecoder& decoder, std::span<const std::byte> encoded,
                             bc::PixelMode mode, bool whole) {
  try {
    fuzz::Choices choices(encoded);
    bc::detail::ImageInfo info = decoder.open(encoded, {.pixels_max = pixels_max});
    bc::ImageSize size = info.size;
    BATCHCAST_ASSERT(size.width > 0 && size.height > 0);
    BATCHCAST_ASSERT(std::int64_t{size.width} * size.height <= pixels_max);
    BATCHCAST_ASSERT(info.orientation >= 1 && info.orientation <= 8);
    const bc::detail::DecodeLimits limits = limits_of(mode, info);
    if (mode != bc::PixelMode::rgb) info = decoder.open(encoded, limits);
    const bool keeps = mode == bc::PixelMode::keep;
    BATCHCAST_ASSERT(!keeps || (info.channels == limits.channels && info.bits == limits.bits));
    BATCHCAST_ASSERT(info.size == size);
    const std::uint32_t scale = choices.up_to(7);
    if (info.format == bc::detail::ImageFormat::jpeg && mode == bc::PixelMode::rgb && scale < 4) {
      size = decoder.scale_down(1 << scale);
    }
    Pixels pixels{{0, 0, size.width, size.height}, pixel_bytes_of(limits), {}};
    if (!whole) pixels.window = window_of(choices, size);
    const bc::detail::RowLayout layout = decoder.start(pixels.window);
    read_rows(decoder, layout, 1 + choices.up_to(40), pixels);
    return pixels;
  } catch (const bc::BadSample&) {
    return std::nullopt;
  }
}

void check_same(const Pixels& part, const Pixels& whole) {
  const auto row_bytes = part.pixel_bytes * static_cast<std::size_t>(part.window.width);
  for (std::int32_t y = 0; y < part.window.height; ++y) {
    const std::uint8_t* const in_part = part.bytes.data() + static_cast<std::size_t>(y) * row_bytes;
    const std::uint8_t* const in_whole =
        whole.bytes.data() + whole.pixel_bytes * (static_cast<std::size_t>(part.window.y + y) *
                                                      static_cast<std::size_t>(whole.window.width) +
                                                  static_cast<std::size_t>(part.window.x));
    BATCHCAST_ASSERT(std::memcmp(in_part, in_whole, row_bytes) == 0);
  }
}

}  // namespace

// An image and a window of it, as colours, as it stands in the file and as ids: the window is that
// part of the whole image, and the decoder can be used again after whatever it was given.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static bc::detail::ImageDecoder decoder;
  const std::span<const std::byte> encoded = fuzz::bytes_of(data, size);
  for (const bc::PixelMode mode : {bc::PixelMode::rgb, bc::PixelMode::keep, bc::PixelMode::index}) {
    const std::optional<Pixels> part = decode(decoder, encoded, mode, false);
    const std::optional<Pixels> whole = decode(decoder, encoded, mode, true);
    if (part && whole) check_same(*part, *whole);
  }
  return 0;
}
