// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// libjpeg-turbo alone (codec.hpp): only the rows and columns of a random resized crop.

#include "codec.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

// After <cstdio>, which it needs but does not include.
#include <jpeglib.h>

namespace {

using codec::Box;
using codec::File;
using codec::Options;

constexpr JDIMENSION rows_per_call = 16;

void crop_and_skip(jpeg_decompress_struct& jpeg, const Box& box) {
  // Upsampling looks at one pixel to each side.
  JDIMENSION first = box.x > 0 ? box.x - 1 : 0;
  JDIMENSION columns = std::min(box.x + box.width + 1, jpeg.output_width) - first;
  if (columns < jpeg.output_width) jpeg_crop_scanline(&jpeg, &first, &columns);
  if (box.y > 0) jpeg_skip_scanlines(&jpeg, box.y);
}

/// Decodes one image, `rows` being room for some of its rows.
void decode(const File& file, const Options& options, std::mt19937& random, File& rows) {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, file.data(), static_cast<unsigned long>(file.size()));
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = JCS_RGB;
  jpeg_start_decompress(&jpeg);
  Box box{0, 0, jpeg.output_width, jpeg.output_height};
  if (!options.whole) {
    box = codec::random_box(jpeg.output_width, jpeg.output_height, random);
    crop_and_skip(jpeg, box);
  }
  // Rows that begin at multiples of 32 are stored past the caches, which costs a tenth: none does.
  const std::size_t stride = (std::size_t{3} * jpeg.output_width + 63) / 64 * 64;
  if (rows.size() < stride * rows_per_call + 64) rows.resize(stride * rows_per_call + 64);
  std::uint8_t* const first_row =
      rows.data() + 64 - reinterpret_cast<std::uintptr_t>(rows.data()) % 64 - 8;
  JSAMPROW pointers[rows_per_call];
  for (JDIMENSION i = 0; i < rows_per_call; ++i) pointers[i] = first_row + i * stride;
  // Never past the box: a row below it costs as much as its own.
  for (JDIMENSION done = 0; done < box.height;) {
    const JDIMENSION at = done % rows_per_call;
    done +=
        jpeg_read_scanlines(&jpeg, pointers + at, std::min(rows_per_call - at, box.height - done));
  }
  jpeg_destroy_decompress(&jpeg);
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = codec::parse(argc, argv);
  File rows;
  return codec::measure(
      options, codec::read_files(options, {".jpg", ".jpeg", ".JPEG"}),
      [&](const File& file, std::mt19937& random) { decode(file, options, random, rows); });
}
