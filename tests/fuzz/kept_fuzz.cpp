// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <cstring>
#include <vector>

#include "data/codec/decoder.hpp"
#include "data/codec/jpeg/kept_form.hpp"
#include "data/codec/jpeg/kept_writer.hpp"
#include "fuzz.hpp"

namespace bc = batchcast;

namespace {

using bc::detail::ImageDecoder;

// Small ones break a decoder as well as large ones, sooner.
constexpr std::int64_t pixels_max = 1 << 14;

bc::Box window_of(const bc::ImageSize& size, fuzz::Choices& choices) {
  const auto below = [&](std::int32_t end) {
    return static_cast<std::int32_t>(choices.up_to(static_cast<std::uint32_t>(end - 1)));
  };
  bc::Box box;
  box.x = below(size.width);
  box.y = below(size.height);
  box.width = 1 + below(size.width - box.x);
  box.height = 1 + below(size.height - box.y);
  return box;
}

std::vector<std::uint8_t> rows_of(ImageDecoder& decoder, const bc::Box& window) {
  const bc::detail::RowLayout layout = decoder.start(window);
  std::vector<std::uint8_t> row(layout.byte_count);
  std::vector<std::uint8_t> rgb;
  for (std::int32_t y = 0; y < window.height; ++y) {
    BATCHCAST_ASSERT(decoder.read(row.data(), row.size(), 1) == 1);
    const auto* const first = row.data() + 3 * static_cast<std::size_t>(layout.skip);
    rgb.insert(rgb.end(), first, first + 3 * static_cast<std::size_t>(window.width));
  }
  return rgb;
}

/// A copy of an entry, with the slack behind it and not a byte more.
std::vector<std::byte> with_slack(std::span<const std::byte> entry) {
  std::vector<std::byte> memory(entry.size() + bc::detail::kept_slack);
  if (!entry.empty()) std::memcpy(memory.data(), entry.data(), entry.size());
  return memory;
}

}  // namespace

// The input is a file, whose entry has its pixels, and it is an entry, which may be damaged.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static ImageDecoder decoder;
  static ImageDecoder from_kept;
  static bc::detail::KeptWriter writer;
  const auto input = fuzz::bytes_of(data, size);
  fuzz::Choices choices(input);
  const auto entry = writer.write(input, pixels_max);
  if (!entry.empty()) {
    const auto memory = with_slack(entry);
    const auto kept = std::span(memory).first(entry.size());
    const auto info = decoder.open(input, {.pixels_max = pixels_max});
    const auto same = from_kept.open_kept(kept, {.pixels_max = pixels_max});
    BATCHCAST_ASSERT(info.size == same.size && info.orientation == same.orientation);
    const bc::Box window = window_of(info.size, choices);
    BATCHCAST_ASSERT(rows_of(decoder, window) == rows_of(from_kept, window));
  }
  const auto memory = with_slack(input);
  try {
    const auto kept = std::span(memory).first(input.size());
    const auto info = from_kept.open_kept(kept, {.pixels_max = pixels_max});
    static_cast<void>(rows_of(from_kept, window_of(info.size, choices)));
  } catch (const bc::BadSample&) {
  }
  return 0;
}
