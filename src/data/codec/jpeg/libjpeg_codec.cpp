// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdio>
#include <string>
#include <type_traits>

// This comes after <cstdio>, which it needs but does not include.
#include <jpeglib.h>

#include "data/codec/codec.hpp"
#include "data/codec/exif.hpp"

// libjpeg reports failure through longjmp, which must pass no frame that has something to destroy.
// So code between `guarded` and the library holds plain values only.
namespace batchcast::inline v0_1::detail {
namespace {

constexpr int scans_max = 500;  // a few bytes make a scan, and each walks the whole image
constexpr JDIMENSION columns_min = 64;
constexpr std::size_t rows_per_call = 32;

struct State {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  std::array<char, JMSG_LENGTH_MAX> reason{};
  bool exif_seen = false;
  int orientation = 1;
};

State& state_of(j_common_ptr jpeg) noexcept { return *static_cast<State*>(jpeg->client_data); }

[[noreturn]] void fail(State& state, const char* reason) noexcept {
  std::snprintf(state.reason.data(), state.reason.size(), "%s", reason);
  std::longjmp(state.escape, 1);
}

void on_error(j_common_ptr jpeg) {
  State& state = state_of(jpeg);
  (*jpeg->err->format_message)(jpeg, state.reason.data());
  std::longjmp(state.escape, 1);
}

// PIL accepts damage that the library can decode around, and so do we.
void on_message(j_common_ptr jpeg, int level) {
  if (level < 0) ++jpeg->err->num_warnings;
}

void on_output(j_common_ptr /*jpeg*/) {}

// The whole file is in memory: a call for more bytes means that the file ends too early.
boolean on_end_of_input(j_decompress_ptr jpeg) {
  fail(*static_cast<State*>(jpeg->client_data), "it is truncated");
}

void on_progress(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= scans_max) return;
  fail(state_of(jpeg), "it has more than 500 scans");
}

/// Reads EXIF in place; libjpeg's way copies up to 64 KiB for each image.
boolean on_app1(j_decompress_ptr jpeg) {
  State& state = *static_cast<State*>(jpeg->client_data);
  jpeg_source_mgr& source = *jpeg->src;
  const std::span segment(reinterpret_cast<const std::byte*>(source.next_input_byte),
                          source.bytes_in_buffer);
  if (segment.size() < 2) return on_end_of_input(jpeg);
  const std::size_t length =
      std::to_integer<std::size_t>(segment[0]) << 8U | std::to_integer<std::size_t>(segment[1]);
  if (length < 2) fail(state, "the length of a marker is below 2");
  if (length > segment.size()) return on_end_of_input(jpeg);
  const auto exif = exif_of_app1(segment.subspan(2, length - 2));
  if (exif && !state.exif_seen) {
    state.exif_seen = true;
    state.orientation = exif_orientation(*exif);
  }
  source.next_input_byte += length;
  source.bytes_in_buffer -= length;
  return TRUE;
}

void read_header(State& state, std::span<const std::byte> encoded) {
  jpeg_create_decompress(&state.jpeg);
  state.jpeg.progress = &state.progress;
  jpeg_mem_src(&state.jpeg, reinterpret_cast<const unsigned char*>(encoded.data()),
               static_cast<unsigned long>(encoded.size()));
  state.jpeg.src->fill_input_buffer = &on_end_of_input;
  jpeg_set_marker_processor(&state.jpeg, JPEG_APP0 + 1, &on_app1);
  jpeg_read_header(&state.jpeg, TRUE);
  if (state.jpeg.data_precision != 8) fail(state, "its samples have not 8 bits");
  const int components = state.jpeg.num_components;
  if (components != 1 && components != 3 && components != 4) {
    fail(state, "it has neither 1, 3 nor 4 components");
  }
  state.jpeg.out_color_space = components == 4 ? JCS_CMYK : JCS_RGB;
}

/// In a progressive file that lacks scans, libjpeg guesses coefficients from the blocks around. It
/// takes the edge of a crop for the edge of the image.
bool smoothes_blocks(const jpeg_decompress_struct& jpeg) noexcept {
  if (jpeg.coef_bits == nullptr) return false;
  for (int component = 0; component < jpeg.num_components; ++component) {
    const int* bits = jpeg.coef_bits[component];
    if (std::any_of(bits + 1, bits + 10, [](int missing) { return missing != 0; })) return true;
  }
  return false;
}

struct Columns {
  JDIMENSION first = 0;
  JDIMENSION count = 0;
};

/// The columns to decode so that those of `window` come out as they do from the whole image.
/// Upsampling looks at one neighbour on each side. libjpeg does without neighbours where a crop
/// leaves a component a single column.
Columns columns_around(const Box& window, JDIMENSION image_width) noexcept {
  const auto x = static_cast<JDIMENSION>(window.x);
  const JDIMENSION end = std::min(x + static_cast<JDIMENSION>(window.width) + 1, image_width);
  const JDIMENSION last_first = image_width - std::min(image_width, columns_min);
  const JDIMENSION first = std::min(x > 0 ? x - 1 : 0, last_first);
  return {first, std::max(end - first, std::min(image_width, columns_min))};
}

/// A crop's width ignores that scaling down may have done part of a component's upsampling already.
/// With factors of 3 and 4 it comes out too narrow.
bool crops_exactly(const jpeg_decompress_struct& jpeg) noexcept {
  return jpeg.scale_num == jpeg.scale_denom ||
         (jpeg.max_h_samp_factor <= 2 && jpeg.max_v_samp_factor <= 2);
}

/// As PIL does: the samples are inverted, as Adobe's programs write them.
void rgb_from_inverted_cmyk(const std::uint8_t* cmyk, std::uint8_t* rgb,
                            std::size_t pixels) noexcept {
  for (std::size_t i = 0; i < pixels; ++i, cmyk += 4, rgb += 3) {
    const int white = cmyk[3];
    for (int channel = 0; channel < 3; ++channel) {
      const int product = (255 - cmyk[channel]) * white + 128;
      rgb[channel] = static_cast<std::uint8_t>(white - ((product >> 8) + product) / 256);
    }
  }
}

/// Four components are CMYK.
std::int32_t channels_of(int components) noexcept {
  return components == 1 || components == 3 ? components : 0;
}

class JpegCodec final : public ImageCodec {
 public:
  JpegCodec() = default;
  ~JpegCodec() override { close(); }
  JpegCodec(const JpegCodec&) = delete;
  JpegCodec& operator=(const JpegCodec&) = delete;

  ImageInfo open(std::span<const std::byte> encoded) override {
    jpeg_std_error(&state_.errors);
    state_.errors.error_exit = &on_error;
    state_.errors.emit_message = &on_message;
    state_.errors.output_message = &on_output;
    state_.progress.progress_monitor = &on_progress;
    state_.exif_seen = false;
    state_.orientation = 1;
    state_.jpeg.err = &state_.errors;
    state_.jpeg.client_data = &state_;
    guarded([this, &encoded] { read_header(state_, encoded); });
    return {ImageFormat::jpeg,
            {static_cast<std::int32_t>(state_.jpeg.image_width),
             static_cast<std::int32_t>(state_.jpeg.image_height)},
            state_.orientation,
            channels_of(state_.jpeg.num_components),
            8};
  }

  ImageSize scale_down(int scale) override {
    guarded([this, scale] {
      state_.jpeg.scale_num = 1;
      state_.jpeg.scale_denom = static_cast<unsigned>(scale);
      jpeg_calc_output_dimensions(&state_.jpeg);
    });
    return {static_cast<std::int32_t>(state_.jpeg.output_width),
            static_cast<std::int32_t>(state_.jpeg.output_height)};
  }

  RowLayout start(const Box& window) override {
    guarded([this, &window] { start_at(window); });
    return {window.x - static_cast<std::int32_t>(first_column_),
            3 * static_cast<std::size_t>(state_.jpeg.output_width)};
  }

  void read(std::uint8_t* rows, std::size_t stride, std::size_t count) override {
    guarded([=, this] {
      if (is_cmyk()) {
        read_cmyk(rows, stride, count);
      } else {
        read_rgb(rows, stride, count);
      }
    });
  }

  void close() noexcept override {
    // It destroys no more than `jpeg_create_decompress` has reached; nothing here can fail.
    jpeg_destroy_decompress(&state_.jpeg);
  }

 private:
  template <typename Step>
  void guarded(Step step) {
    static_assert(std::is_trivially_destructible_v<Step>);
    if (setjmp(state_.escape) == 0) {
      step();
      return;
    }
    throw BadSample(text("the JPEG cannot be decoded: {}", state_.reason.data()));
  }

  [[nodiscard]] bool is_cmyk() const noexcept { return state_.jpeg.out_color_space == JCS_CMYK; }

  void start_at(const Box& window) {
    jpeg_decompress_struct& jpeg = state_.jpeg;
    jpeg_start_decompress(&jpeg);
    first_column_ = 0;
    row_ = (*jpeg.mem->alloc_sarray)(reinterpret_cast<j_common_ptr>(&jpeg), JPOOL_IMAGE,
                                     4 * jpeg.output_width, 1);
    if (smoothes_blocks(jpeg)) {
      for (int y = 0; y < window.y; ++y) jpeg_read_scanlines(&jpeg, row_, 1);
      return;
    }
    Columns columns = columns_around(window, jpeg.output_width);
    if (columns.count < jpeg.output_width && crops_exactly(jpeg)) {
      jpeg_crop_scanline(&jpeg, &columns.first, &columns.count);
      first_column_ = columns.first;
    }
    if (window.y > 0) jpeg_skip_scanlines(&jpeg, static_cast<JDIMENSION>(window.y));
  }

  void read_rgb(std::uint8_t* rows, std::size_t stride, std::size_t count) {
    std::array<JSAMPROW, rows_per_call> pointers;
    for (std::size_t done = 0; done < count;) {
      const std::size_t batch = std::min(count - done, pointers.size());
      for (std::size_t i = 0; i < batch; ++i) pointers[i] = rows + (done + i) * stride;
      done += jpeg_read_scanlines(&state_.jpeg, pointers.data(), static_cast<JDIMENSION>(batch));
    }
  }

  void read_cmyk(std::uint8_t* rows, std::size_t stride, std::size_t count) {
    for (std::size_t done = 0; done < count; ++done) {
      jpeg_read_scanlines(&state_.jpeg, row_, 1);
      rgb_from_inverted_cmyk(*row_, rows + done * stride, state_.jpeg.output_width);
    }
  }

  State state_;
  JDIMENSION first_column_ = 0;
  JSAMPARRAY row_ = nullptr;  // one, for CMYK and for rows that are read only to skip them
};

}  // namespace

std::unique_ptr<ImageCodec> make_libjpeg_codec() { return std::make_unique<JpegCodec>(); }

}  // namespace batchcast::inline v0_1::detail
