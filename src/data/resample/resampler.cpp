// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/resample/resampler.hpp"

#include "data/resample/axis.hpp"
#include "data/resample/kernels.hpp"

#include <batchcast/core/assert.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

namespace {

template <class T>
void grow(std::vector<T>& v, std::size_t size) {
  if (v.size() < size) v.resize(size);
}

constexpr std::size_t with_slack(std::size_t byte_count) noexcept {
  return (byte_count + row_slack - 1) / row_slack * row_slack + row_slack;
}

}  // namespace

/// Rows of one image on their way: pushed → horizontal pass → ring → vertical pass → padding →
/// elements. With the vertical pass first: pushed → ring → vertical pass → horizontal pass →
/// padding → elements. From the horizontal pass on a row is mirrored already. It is planar where
/// that pass or the output is.
struct Resampler::State {
  void begin_rows(const Geometry& geometry);
  void begin_elements(const PixelFormat& format);
  void fill_constant_rows();
  void push_tile(const std::uint8_t* rows, std::size_t stride, std::size_t count);
  void keep(const std::uint8_t* rows, std::size_t stride, std::size_t count);
  void finish_complete_rows();
  void finish_vertical_first(const VerticalRow& from);
  HorizontalTile horizontal_tile(const std::uint8_t* rows, std::size_t stride, std::size_t count);
  void finish_row(std::int32_t row, const std::uint8_t* pixels);
  void make_elements(std::int32_t row, const VerticalRow& from);
  void make_plane(std::size_t channel, const VerticalRow& from, std::byte* to);
  void store_row(std::int32_t row, const std::uint8_t* pixels, std::size_t row_count = 1);
  void push_as_is(const std::uint8_t* rows, std::size_t count);
  const std::uint8_t* arranged(const std::uint8_t* row, std::uint8_t* scratch) const;
  const std::uint8_t* padded(const std::uint8_t* pixels);
  std::uint8_t* ring_row(std::size_t number) {
    return ring.data() + (number & ring_mask) * ring_stride;
  }
  /// The channel that comes out as this one.
  std::size_t source_of_channel(std::size_t c) const noexcept { return swaps ? 2 - c : c; }
  std::size_t width() const noexcept { return static_cast<std::size_t>(x.window_count); }
  std::size_t height() const noexcept { return static_cast<std::size_t>(y.window_count); }

  AxisTapsCache cache;
  AxisPlan x;
  AxisPlan y;
  std::size_t channels = 3;
  std::uint8_t fill = 0;
  PixelFormat format;
  AffinePattern interleaved;
  std::array<AffinePattern, 3> planes;
  bool formatted = false;
  std::byte* out = nullptr;

  bool planar = false;  ///< rows from the horizontal pass on
  bool out_planar = false;
  bool swaps = false;            ///< red and blue
  bool vertical_first = false;   ///< both passes, in the order that is not the usual one
  bool direct = false;           ///< the vertical pass makes elements
  bool as_is = false;            ///< rows need no change but their elements'
  bool arranges = false;         ///< rows that are not resized horizontally still change
  bool pads = false;             ///< a row of the output is more than a row of resized pixels
  std::size_t row_bytes = 0;     ///< of a row that is pushed
  std::size_t middle_bytes = 0;  ///< of a row between the passes
  std::size_t rows_wanted = 0;
  std::size_t rows_pushed = 0;
  std::int32_t next_row = 0;  ///< of the resized box, which the vertical pass makes next
  std::size_t rows_low = 0;   ///< after the vertical pass, where it is first, and before the other
  std::vector<std::uint8_t> low_rows;

  std::size_t ring_mask = 0;
  std::size_t ring_stride = 0;
  std::vector<std::uint8_t> ring;
  std::vector<const std::uint8_t*> ring_rows;
  std::vector<std::uint8_t> columns;
  std::vector<std::uint8_t> made_row;
  std::vector<std::uint8_t> padded_row;
  std::vector<std::uint8_t> joined_row;
  std::vector<std::uint8_t> swapped_row;
  std::vector<std::uint8_t> unused_row;
};

Resampler::Resampler() : state_(std::make_unique<State>()) {}
Resampler::~Resampler() = default;

Box Resampler::begin(const Geometry& geometry, std::int32_t channels, const PixelFormat& format,
                     std::byte* out) {
  State& s = *state_;
  BATCHCAST_ASSERT(channels == 1 || channels == 3);
  s.out = out;
  s.channels = static_cast<std::size_t>(channels);
  s.fill = geometry.fill;
  s.begin_elements(format);
  s.x.begin({.in = geometry.box.width,
             .out = geometry.resized.width,
             .window_first = geometry.window.x,
             .window_count = geometry.window.width,
             .flip = geometry.flip_x,
             .padding = geometry.padding,
             .interpolation = geometry.interpolation},
            s.cache);
  s.y.begin({.in = geometry.box.height,
             .out = geometry.resized.height,
             .window_first = geometry.window.y,
             .window_count = geometry.window.height,
             .flip = geometry.flip_y,
             .padding = geometry.padding,
             .interpolation = geometry.interpolation},
            s.cache);
  if (s.x.count == 0) s.y.want_nothing();
  if (s.y.count == 0) s.x.want_nothing();
  s.begin_rows(geometry);
  return {geometry.box.x + s.x.in_first, geometry.box.y + s.y.in_first, s.x.in_count, s.y.in_count};
}

void Resampler::State::begin_elements(const PixelFormat& wanted) {
  BATCHCAST_ASSERT(wanted.dtype == DType::u8 || wanted.dtype == DType::f32 ||
                   wanted.dtype == DType::f16 || wanted.dtype == DType::bf16);
  out_planar = wanted.layout == ImageLayout::chw && channels == 3;
  swaps = wanted.bgr && channels == 3;
  if (formatted && format == wanted) return;
  formatted = true;
  format = wanted;
  for (std::size_t i = 0; i < interleaved.scale.size(); ++i) {
    interleaved.scale[i] = wanted.scale[i % 3];
    interleaved.bias[i] = wanted.bias[i % 3];
  }
  for (std::size_t c = 0; c < 3; ++c) {
    planes[c].scale.fill(wanted.scale[c]);
    planes[c].bias.fill(wanted.bias[c]);
  }
}

void Resampler::State::begin_rows(const Geometry& geometry) {
  rows_pushed = 0;
  rows_wanted = static_cast<std::size_t>(y.in_count);
  row_bytes = static_cast<std::size_t>(x.in_count) * channels;
  next_row = y.first;
  pads = x.pads || y.pads;
  const bool resizes_y = y.taps != nullptr;
  const bool resizes_x = x.taps != nullptr;
  planar = out_planar || (resizes_x && channels == 3);
  arranges = geometry.flip_x || planar;
  vertical_first = resizes_x && resizes_y && geometry.vertical_pass_first();
  direct = !vertical_first && planar == out_planar && (channels == 1 || planar) && !x.pads &&
           (!y.pads || y.padding == PaddingMode::constant);
  as_is = !resizes_x && !resizes_y && !pads && !geometry.flip_x && !geometry.flip_y;
  middle_bytes = static_cast<std::size_t>(x.count) * channels;
  if (swaps && !out_planar) grow(swapped_row, width() * channels * tile_rows);
  if (as_is && !planar) return;

  ring_stride = with_slack(vertical_first ? row_bytes : middle_bytes);
  grow(made_row, as_is            ? row_bytes * tile_rows
                 : vertical_first ? with_slack(middle_bytes) * tile_rows
                                  : ring_stride);
  if (planar != out_planar) grow(joined_row, width() * channels);
  if (y.pads || x.count == 0 || y.count == 0) fill_constant_rows();
  if (pads) grow(padded_row, with_slack(width() * channels));
  if (!resizes_x && !resizes_y) return;
  const auto taps_max = resizes_y ? static_cast<std::size_t>(y.taps->taps_max) : 1;
  const std::size_t ring_size = std::bit_ceil(taps_max + tile_rows);
  ring_mask = ring_size - 1;
  grow(ring, ring_size * ring_stride);
  grow(ring_rows, taps_max);
  if (!resizes_x) return;
  rows_low = 0;
  if (vertical_first) grow(low_rows, row_bytes * tile_rows);
  grow(unused_row, with_slack(middle_bytes));
  grow(columns, horizontal_scratch_bytes(row_bytes, channels, x.taps->taps_max));
}

void Resampler::State::fill_constant_rows() {
  grow(padded_row, with_slack(width() * channels));
  bool filled = false;
  for (std::int32_t o = 0; o < y.window_count; ++o) {
    if (y.count != 0 && x.count != 0 && y.source_of(o) >= 0) continue;
    if (!std::exchange(filled, true)) std::memset(padded_row.data(), fill, width() * channels);
    store_row(o, padded_row.data());
  }
}

void Resampler::push(const std::uint8_t* rows, std::size_t stride, std::size_t count) {
  State& s = *state_;
  BATCHCAST_ASSERT(count <= s.rows_wanted - s.rows_pushed);
  if (s.x.count == 0 || s.y.count == 0) {
    s.rows_pushed += count;
    return;
  }
  if (s.as_is && stride == s.row_bytes) {
    s.push_as_is(rows, count);
    return;
  }
  while (count != 0) {
    const std::size_t part = std::min(count, tile_rows);
    s.push_tile(rows, stride, part);
    rows += part * stride;
    count -= part;
  }
  if (s.rows_pushed == s.rows_wanted && s.format.dtype == DType::f32) finish_stores_past_caches();
}

/// Rows without gaps between them are one long row.
void Resampler::State::push_as_is(const std::uint8_t* rows, std::size_t count) {
  const std::size_t at_once = planar || swaps ? tile_rows : count;
  while (count != 0) {
    const std::size_t part = std::min(count, at_once);
    const std::size_t pixel_count = part * width();
    if (planar && !swaps && format.dtype == DType::u8) {
      auto* const to = reinterpret_cast<std::uint8_t*>(out) + rows_pushed * width();
      deinterleave(rows, pixel_count, to, width() * height());
    } else {
      if (planar) deinterleave(rows, pixel_count, made_row.data(), pixel_count);
      store_row(static_cast<std::int32_t>(rows_pushed), planar ? made_row.data() : rows, part);
    }
    rows += part * row_bytes;
    rows_pushed += part;
    count -= part;
  }
}

void Resampler::State::push_tile(const std::uint8_t* rows, std::size_t stride, std::size_t count) {
  if (x.taps == nullptr && y.taps == nullptr) {
    for (std::size_t r = 0; r < count; ++r) {
      finish_row(next_row++, arranged(rows + r * stride, made_row.data()));
    }
    rows_pushed += count;
    return;
  }
  keep(rows, stride, count);
  rows_pushed += count;
  if (y.taps != nullptr) {
    finish_complete_rows();
    return;
  }
  for (std::size_t r = rows_pushed - count; r < rows_pushed; ++r) {
    finish_row(next_row++, ring_row(r));
  }
}

/// A row that is not resized horizontally, in the order that rows have between the passes.
const std::uint8_t* Resampler::State::arranged(const std::uint8_t* row,
                                               std::uint8_t* scratch) const {
  const auto pixel_count = static_cast<std::size_t>(x.count);
  if (!arranges) return row;
  if (!x.flip) {
    deinterleave(row, pixel_count, scratch, pixel_count);
  } else {
    mirror(row, pixel_count, channels, planar, scratch);
  }
  return scratch;
}

void Resampler::State::keep(const std::uint8_t* rows, std::size_t stride, std::size_t count) {
  if (x.taps == nullptr || vertical_first) {
    const std::size_t byte_count = vertical_first ? row_bytes : middle_bytes;
    for (std::size_t r = 0; r < count; ++r) {
      std::uint8_t* const kept = ring_row(rows_pushed + r);
      const std::uint8_t* row = rows + r * stride;
      if (!vertical_first) row = arranged(row, kept);
      if (row != kept) std::memcpy(kept, row, byte_count);
    }
    return;
  }
  HorizontalTile tile = horizontal_tile(rows, stride, count);
  for (std::size_t r = 0; r < count; ++r) tile.out[r] = ring_row(rows_pushed + r);
  resample_horizontally(tile);
}

/// A tile whose output is not wanted until the caller says where it goes.
HorizontalTile Resampler::State::horizontal_tile(const std::uint8_t* rows, std::size_t stride,
                                                 std::size_t count) {
  HorizontalTile tile{.rows = rows,
                      .stride = stride,
                      .row_count = count,
                      .row_bytes = row_bytes,
                      .channels = channels,
                      .axis = x.taps,
                      .first_input = x.in_first,
                      .first_output = x.first,
                      .output_count = static_cast<std::size_t>(x.count),
                      .mirrored = x.flip,
                      .columns = columns.data()};
  tile.out.fill(unused_row.data());
  return tile;
}

void Resampler::State::finish_complete_rows() {
  for (; next_row < y.first + y.count; ++next_row) {
    const Taps& taps = y.taps->taps[static_cast<std::size_t>(next_row)];
    const auto from = static_cast<std::size_t>(taps.first - y.in_first);
    const auto count = static_cast<std::size_t>(taps.count);
    if (from + count > rows_pushed) return;
    for (std::size_t t = 0; t < count; ++t) ring_rows[t] = ring_row(from + t);
    const VerticalRow row{.rows = ring_rows.data(),
                          .weights = y.taps->weights_of(taps),
                          .tap_count = count,
                          .overshoots = y.taps->overshoots,
                          .count = vertical_first ? row_bytes : middle_bytes};
    if (vertical_first) {
      finish_vertical_first(row);
    } else if (direct) {
      make_elements(y.place_of(next_row), row);
    } else {
      resample_vertically(row, made_row.data());
      finish_row(next_row, made_row.data());
    }
  }
}

/// Rows wait until a tile is full, which costs as much as a single row.
void Resampler::State::finish_vertical_first(const VerticalRow& from) {
  resample_vertically(from, low_rows.data() + rows_low * row_bytes);
  const bool is_last = next_row + 1 == y.first + y.count;
  if (++rows_low < tile_rows && !is_last) return;
  const std::size_t made_stride = with_slack(middle_bytes);
  HorizontalTile tile = horizontal_tile(low_rows.data(), row_bytes, rows_low);
  for (std::size_t r = 0; r < rows_low; ++r) tile.out[r] = made_row.data() + r * made_stride;
  resample_horizontally(tile);
  const std::int32_t first = next_row + 1 - static_cast<std::int32_t>(rows_low);
  for (std::size_t r = 0; r < rows_low; ++r) {
    finish_row(first + static_cast<std::int32_t>(r), tile.out[r]);
  }
  rows_low = 0;
}

void Resampler::State::make_elements(std::int32_t row, const VerticalRow& from) {
  const std::size_t size = size_of(format.dtype);
  const std::size_t stride = width() * height() * size;
  std::byte* const to = out + static_cast<std::size_t>(row) * width() * size;
  VerticalRow plane = from;
  plane.count = width();
  if (swaps) {
    for (std::size_t c = 0; c < channels; ++c) {
      plane.first = source_of_channel(c) * width();
      make_plane(c, plane, to + c * stride);
    }
    return;
  }
  if (format.dtype != DType::u8) {
    resample_vertically(plane, {.scale = {format.scale[0], format.scale[1], format.scale[2]},
                                .bias = {format.bias[0], format.bias[1], format.bias[2]},
                                .count = channels,
                                .dtype = format.dtype,
                                .out = to,
                                .stride = stride});
    return;
  }
  for (std::size_t c = 0; c < channels; ++c) {
    plane.first = c * width();
    resample_vertically(plane, reinterpret_cast<std::uint8_t*>(to + c * stride));
  }
}

void Resampler::State::make_plane(std::size_t channel, const VerticalRow& from, std::byte* to) {
  if (format.dtype == DType::u8) {
    resample_vertically(from, reinterpret_cast<std::uint8_t*>(to));
    return;
  }
  resample_vertically(from, {.scale = {format.scale[channel]},
                             .bias = {format.bias[channel]},
                             .dtype = format.dtype,
                             .out = to});
}

/// Writes `row` of the resized box to all places that show it.
void Resampler::State::finish_row(std::int32_t row, const std::uint8_t* pixels) {
  if (x.pads) pixels = padded(pixels);
  const std::int32_t shown = y.place_of(row);
  if (shown >= 0 && shown < y.window_count) store_row(shown, pixels);
  if (!y.pads || y.padding == PaddingMode::constant) return;
  for (const std::int32_t o : y.padding_places) {
    if (y.source_of(o) == row) store_row(o, pixels);
  }
}

const std::uint8_t* Resampler::State::padded(const std::uint8_t* pixels) {
  const std::size_t step = planar ? 1 : channels;
  const auto count = static_cast<std::size_t>(x.count);
  const std::size_t planes_count = planar ? 3 : 1;
  const auto [shown_first, shown_count] = x.shown();
  for (std::size_t p = 0; p < planes_count; ++p) {
    const std::uint8_t* const from = pixels + p * count;
    std::uint8_t* const to = padded_row.data() + p * width();
    if (shown_count > 0) {
      const auto first = static_cast<std::size_t>(x.index_of(shown_first));
      std::memcpy(to + static_cast<std::size_t>(shown_first) * step, from + first * step,
                  static_cast<std::size_t>(shown_count) * step);
    }
    for (const std::int32_t o : x.padding_places) {
      const std::int32_t i = x.index_of(o);
      std::uint8_t* const pixel = to + static_cast<std::size_t>(o) * step;
      for (std::size_t c = 0; c < step; ++c) {
        pixel[c] = i < 0 ? fill : from[static_cast<std::size_t>(i) * step + c];
      }
    }
  }
  return padded_row.data();
}

void Resampler::State::store_row(std::int32_t row, const std::uint8_t* pixels,
                                 std::size_t row_count) {
  if (planar && !out_planar) {
    interleave(pixels, width(), width(), joined_row.data());
    pixels = joined_row.data();
  }
  if (swaps && !out_planar) {
    swap_red_and_blue(pixels, width() * row_count, swapped_row.data());
    pixels = swapped_row.data();
  }
  const std::size_t size = size_of(format.dtype);
  const auto first = static_cast<std::size_t>(row) * width();
  const std::size_t plane_count = out_planar ? 3 : 1;
  const std::size_t step = out_planar ? 1 : channels;
  const std::size_t count = width() * row_count * step;
  for (std::size_t p = 0; p < plane_count; ++p) {
    std::byte* const to = out + (p * width() * height() + first * step) * size;
    const std::uint8_t* const from = pixels + (out_planar ? source_of_channel(p) : p) * count;
    if (format.dtype == DType::u8) {
      std::memcpy(to, from, count);
    } else {
      store_elements(from, count, step == 3 ? interleaved : planes[p], format.dtype, to);
    }
  }
}

}  // namespace batchcast::inline v0_1::detail
