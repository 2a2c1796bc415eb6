// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "data/codec/codec.hpp"
#include "fuzz.hpp"

namespace bc = batchcast;

namespace {

using bc::detail::ImageCodec;
using bc::detail::ImageInfo;

// Small ones break a decoder as well as large ones, sooner.
constexpr std::int64_t pixels_max = 1 << 14;

struct Outcome {
  std::optional<ImageInfo> info;
  std::optional<std::vector<std::uint8_t>> rgb;
};

bc::Box window_of(const bc::ImageSize& size, fuzz::Choices& choices) {
  bc::Box box;
  const auto below = [&](std::int32_t end) {
    return static_cast<std::int32_t>(choices.up_to(static_cast<std::uint32_t>(end - 1)));
  };
  if (choices.up_to(1) == 0) return {0, 0, size.width, size.height};
  box.x = below(size.width);
  box.y = below(size.height);
  box.width = 1 + below(size.width - box.x);
  box.height = 1 + below(size.height - box.y);
  return box;
}

Outcome decode(ImageCodec& codec, std::span<const std::byte> file) {
  Outcome outcome;
  fuzz::Choices choices(file);
  try {
    const ImageInfo info = codec.open(file);
    outcome.info = info;
    if (std::int64_t{info.size.width} * info.size.height <= pixels_max) {
      const bc::Box window = window_of(info.size, choices);
      const std::size_t at_once = 1 + choices.up_to(40);
      const bc::detail::RowLayout layout = codec.start(window);
      const auto width = 3 * static_cast<std::size_t>(window.width);
      const auto height = static_cast<std::size_t>(window.height);
      std::vector<std::uint8_t> rows(layout.byte_count * at_once);
      std::vector<std::uint8_t> rgb;
      for (std::size_t done = 0; done < height; done += at_once) {
        const std::size_t count = std::min(at_once, height - done);
        codec.read(rows.data(), layout.byte_count, count);
        for (std::size_t row = 0; row < count; ++row) {
          const auto* first =
              rows.data() + row * layout.byte_count + 3 * static_cast<std::size_t>(layout.skip);
          rgb.insert(rgb.end(), first, first + width);
        }
      }
      outcome.rgb = std::move(rgb);
    }
  } catch (const bc::BadSample&) {
    outcome.rgb.reset();
  }
  codec.close();
  return outcome;
}

}  // namespace

// Our own decoder of JPEG gives what libjpeg gives, or refuses what it refuses.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::unique_ptr<ImageCodec> ours = bc::detail::make_jpeg_codec();
  static const std::unique_ptr<ImageCodec> library = bc::detail::make_libjpeg_codec();
  const Outcome mine = decode(*ours, fuzz::bytes_of(data, size));
  const Outcome theirs = decode(*library, fuzz::bytes_of(data, size));
  BATCHCAST_ASSERT(mine.info.has_value() == theirs.info.has_value());
  if (mine.info) {
    BATCHCAST_ASSERT(mine.info->size == theirs.info->size);
    BATCHCAST_ASSERT(mine.info->orientation == theirs.info->orientation);
  }
  BATCHCAST_ASSERT(mine.rgb == theirs.rgb);
  return 0;
}
