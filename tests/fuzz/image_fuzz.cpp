// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <cstring>
#include <optional>
#include <vector>

#include "data/image/decoder.hpp"
#include "fuzz.hpp"

namespace bc = batchcast;

namespace {

// Small ones break a decoder as well as large ones, sooner.
constexpr bc::detail::DecodeLimits limits{.pixels_max = 1 << 14};

struct Pixels {
  bc::Box window;
  std::vector<std::uint8_t> rgb;
};

// What the contract of ImageDecoder allows a caller; nothing where the image is refused.
std::optional<Pixels> decode(bc::detail::ImageDecoder& decoder, std::span<const std::byte> encoded,
                             bool whole) {
  try {
    fuzz::Choices choices(encoded);
    const bc::detail::ImageInfo info = decoder.open(encoded, limits);
    bc::ImageSize size = info.size;
    BATCHCAST_ASSERT(size.width > 0 && size.height > 0);
    BATCHCAST_ASSERT(std::int64_t{size.width} * size.height <= limits.pixels_max);
    BATCHCAST_ASSERT(info.orientation >= 1 && info.orientation <= 8);
    const std::uint32_t scale = choices.up_to(7);
    if (info.format == bc::detail::ImageFormat::jpeg && scale < 4) {
      size = decoder.scale_down(1 << scale);
    }
    Pixels pixels{{0, 0, size.width, size.height}, {}};
    if (!whole) {
      bc::Box& box = pixels.window;
      box.x = static_cast<std::int32_t>(choices.up_to(static_cast<unsigned>(size.width - 1)));
      box.y = static_cast<std::int32_t>(choices.up_to(static_cast<unsigned>(size.height - 1)));
      box.width = static_cast<std::int32_t>(
          1 + choices.up_to(static_cast<unsigned>(size.width - box.x - 1)));
      box.height = static_cast<std::int32_t>(
          1 + choices.up_to(static_cast<unsigned>(size.height - box.y - 1)));
    }
    const bc::detail::RowLayout layout = decoder.start(pixels.window);
    const auto row_bytes = static_cast<std::size_t>(3 * pixels.window.width);
    const auto skip = static_cast<std::size_t>(3 * layout.skip);
    BATCHCAST_ASSERT(layout.skip >= 0 && layout.byte_count >= skip + row_bytes);
    const std::size_t at_once = 1 + choices.up_to(40);
    // No byte more than the contract says, so that a write beyond it is seen.
    std::vector<std::uint8_t> rows(layout.byte_count * at_once);
    std::size_t done = 0;
    while (const std::size_t got = decoder.read(rows.data(), layout.byte_count, at_once)) {
      for (std::size_t row = 0; row < got; ++row) {
        const auto begin =
            rows.begin() + static_cast<std::ptrdiff_t>(row * layout.byte_count + skip);
        pixels.rgb.insert(pixels.rgb.end(), begin, begin + static_cast<std::ptrdiff_t>(row_bytes));
      }
      done += got;
    }
    BATCHCAST_ASSERT(done == static_cast<std::size_t>(pixels.window.height));
    return pixels;
  } catch (const bc::BadSample&) {
    return std::nullopt;
  }
}

void check_same(const Pixels& part, const Pixels& whole) {
  const auto row_bytes = static_cast<std::size_t>(3 * part.window.width);
  for (std::int32_t y = 0; y < part.window.height; ++y) {
    const std::uint8_t* const in_part = part.rgb.data() + static_cast<std::size_t>(y) * row_bytes;
    const std::uint8_t* const in_whole =
        whole.rgb.data() + 3 * (static_cast<std::size_t>(part.window.y + y) *
                                    static_cast<std::size_t>(whole.window.width) +
                                static_cast<std::size_t>(part.window.x));
    BATCHCAST_ASSERT(std::memcmp(in_part, in_whole, row_bytes) == 0);
  }
}

}  // namespace

// An image and a window of it: the window is that part of the whole image, and the decoder can be
// used again after whatever it was given.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static bc::detail::ImageDecoder decoder;
  const std::optional<Pixels> part = decode(decoder, fuzz::bytes_of(data, size), false);
  const std::optional<Pixels> whole = decode(decoder, fuzz::bytes_of(data, size), true);
  if (part && whole) check_same(*part, *whole);
  return 0;
}
