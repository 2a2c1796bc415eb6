// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/jpeg/pixels.hpp"
#include "data/resample/kernels.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "data/codec/image_support.hpp"

using namespace image_test;
using namespace batchcast::detail;

namespace {

using Coefficients = std::vector<std::int16_t>;
using Table = std::array<std::uint16_t, 64>;

// A gray file of one row of blocks with exactly these quantised coefficients.
Bytes file_of(const Coefficients& blocks, const Table& table) {
  const auto count = static_cast<JDIMENSION>(blocks.size() / 64);
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &data, &size);
  jpeg.image_width = 8 * count;
  jpeg.image_height = 8;
  jpeg.input_components = 1;
  jpeg.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&jpeg);
  for (std::size_t i = 0; i < 64; ++i) jpeg.quant_tbl_ptrs[0]->quantval[i] = table[i];
  jpeg.optimize_coding = TRUE;
  auto* const common = reinterpret_cast<j_common_ptr>(&jpeg);
  jvirt_barray_ptr array = jpeg.mem->request_virt_barray(common, JPOOL_IMAGE, TRUE, count, 1, 1);
  jpeg_write_coefficients(&jpeg, &array);
  const JBLOCKARRAY rows = jpeg.mem->access_virt_barray(common, array, 0, 1, TRUE);
  for (std::size_t i = 0; i < blocks.size(); ++i) rows[0][i / 64][i % 64] = blocks[i];
  jpeg_finish_compress(&jpeg);
  Bytes file(data, data + size);
  std::free(data);
  jpeg_destroy_compress(&jpeg);
  return file;
}

struct Decoded {
  std::size_t width = 0, height = 0;
  std::vector<Bytes> planes;  // as the inverse DCT left them
  std::vector<std::size_t> strides;
  Bytes pixels;
};

// Both the samples of each component and what libjpeg makes of them.
Decoded decode(const Bytes& file) {
  Decoded made;
  for (const bool raw : {true, false}) {
    jpeg_decompress_struct jpeg{};
    jpeg_error_mgr errors{};
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&jpeg);
    jpeg_mem_src(&jpeg, file.data(), static_cast<unsigned long>(file.size()));
    jpeg_read_header(&jpeg, TRUE);
    jpeg.raw_data_out = raw ? TRUE : FALSE;
    jpeg_start_decompress(&jpeg);
    made.width = jpeg.output_width;
    made.height = jpeg.output_height;
    if (raw) {
      const auto lines = static_cast<JDIMENSION>(8 * jpeg.max_v_samp_factor);
      const std::size_t bands = (jpeg.output_height + lines - 1) / lines;
      for (int c = 0; c < jpeg.num_components; ++c) {
        const jpeg_component_info& info = jpeg.comp_info[c];
        made.strides.push_back((info.width_in_blocks + 8) * 8);
        made.planes.emplace_back(made.strides.back() * bands * 8 *
                                 static_cast<std::size_t>(info.v_samp_factor));
      }
      for (std::size_t band = 0; band < bands; ++band) {
        std::vector<JSAMPROW> rows[3];
        JSAMPARRAY arrays[3] = {};
        for (int c = 0; c < jpeg.num_components; ++c) {
          const auto n = static_cast<std::size_t>(8 * jpeg.comp_info[c].v_samp_factor);
          for (std::size_t y = 0; y < n; ++y) {
            rows[c].push_back(made.planes[static_cast<std::size_t>(c)].data() +
                              (band * n + y) * made.strides[static_cast<std::size_t>(c)]);
          }
          arrays[c] = rows[c].data();
        }
        jpeg_read_raw_data(&jpeg, arrays, lines);
      }
    } else {
      const std::size_t stride =
          jpeg.output_width * static_cast<std::size_t>(jpeg.output_components);
      made.pixels.resize(stride * jpeg.output_height);
      while (jpeg.output_scanline < jpeg.output_height) {
        JSAMPROW row = made.pixels.data() + jpeg.output_scanline * stride;
        jpeg_read_scanlines(&jpeg, &row, 1);
      }
    }
    jpeg_abort_decompress(&jpeg);
    jpeg_destroy_decompress(&jpeg);
  }
  return made;
}

// Runs check() at each SIMD level.
template <class Check>
void at_each_level(const Check& check) {
  for (const std::int64_t level : simd_levels()) {
    force_simd_level(level);
    INFO("SIMD level " << simd_level_name(level));
    check();
  }
  force_simd_level(0);
}

std::int16_t dequantised(int value, int step) {
  return static_cast<std::int16_t>(static_cast<std::uint16_t>(value * step));
}

}  // namespace

TEST_CASE("JPEG pixels: the inverse DCT is libjpeg's, sparse, dense and overflowing") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  for (int i = 0; i < 120; ++i) {
    const auto count = static_cast<std::size_t>(between(random, 1, 40));
    Table table;
    const int steps_max = i % 4 == 0 ? 1 : i % 4 == 1 ? 16 : 255;
    for (auto& step : table) step = static_cast<std::uint16_t>(between(random, 1, steps_max));
    Coefficients quantised(64 * count);
    for (std::size_t b = 0; b < count; ++b) {
      const int ac_count = between(random, 0, 2) == 0 ? 0 : between(random, 0, 63);
      const int size = between(random, 0, 3) == 0 ? 1023 : between(random, 1, 300);
      // Blocks of low frequencies, all in some files, have a shorter way.
      const bool is_low = i % 3 == 0 || between(random, 0, 3) == 0;
      // Differences of neighbours have eleven bits.
      quantised[64 * b] = static_cast<std::int16_t>(between(random, -size, size));
      for (int n = 0; n < ac_count; ++n) {
        const int at =
            is_low ? 8 * between(random, 0, 3) + between(random, 0, 3) : between(random, 1, 63);
        if (at == 0) continue;
        quantised[64 * b + static_cast<std::size_t>(at)] =
            static_cast<std::int16_t>(between(random, -size, size));
      }
    }
    const Decoded expected = decode(file_of(quantised, table));
    Coefficients blocks(quantised.size());
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      blocks[k] = dequantised(quantised[k], table[k % 64]);
    }
    at_each_level([&] {
      const std::size_t stride = 8 * count + 1;
      Bytes out(8 * stride, 77);
      batchcast::detail::jpeg_inverse_dct(blocks.data(), count, out.data(), stride);
      bool equal = true;
      for (std::size_t y = 0; y < 8; ++y) {
        equal &= std::equal(out.data() + y * stride, out.data() + y * stride + 8 * count,
                            expected.pixels.data() + y * 8 * count);
        equal &= out[y * stride + 8 * count] == 77;
      }
      REQUIRE(equal);
    });
  }
}

TEST_CASE("JPEG pixels: upsampling and colour are libjpeg's") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  struct Sampling {
    int h, v;
  };
  for (int i = 0; i < 48; ++i) {
    const Sampling chroma = std::array<Sampling, 4>{{{1, 1}, {2, 1}, {2, 2}, {1, 2}}}[i % 4];
    const int width = between(random, 6, i < 24 ? 70 : 400);
    const int height = between(random, 1, 40);
    const Decoded whole =
        decode(encode_jpeg(noise(random, {width, height}),
                           {.sampling = {{chroma.h, chroma.v}, {1, 1}, {1, 1}}, .quality = 95}));
    const auto w = static_cast<std::size_t>(chroma.h);
    const auto v = static_cast<std::size_t>(chroma.v);
    const std::size_t samples = (whole.width + w - 1) / w;
    const std::size_t sample_rows = (whole.height + v - 1) / v;
    at_each_level([&] {
      bool equal = true;
      for (std::size_t y = 0; y < whole.height; ++y) {
        Bytes up[2];
        for (std::size_t c = 0; c < 2; ++c) {
          const std::size_t near_y = y / v;
          const std::size_t far_y =
              y % v == 0 ? (near_y == 0 ? 0 : near_y - 1) : std::min(near_y + 1, sample_rows - 1);
          const auto row = [&](std::size_t at) {
            const auto begin = whole.planes[c + 1].begin() +
                               static_cast<std::ptrdiff_t>(at * whole.strides[c + 1]);
            Bytes copy(begin, begin + static_cast<std::ptrdiff_t>(samples));
            copy.resize(samples + jpeg_row_slack,
                        static_cast<std::uint8_t>(between(random, 0, 255)));
            return copy;
          };
          const Bytes near_row = row(near_y);
          const Bytes far_row = row(far_y);
          up[c].resize(w * samples + jpeg_row_slack);
          if (w == 2 && v == 2) {
            jpeg_upsample_h2v2(near_row.data(), far_row.data(), samples, up[c].data());
          } else if (w == 2) {
            jpeg_upsample_h2v1(near_row.data(), samples, up[c].data());
          } else if (v == 2) {
            jpeg_upsample_h1v2(near_row.data(), far_row.data(), y % 2 == 0 ? 1 : 2, samples,
                               up[c].data());
          } else {
            up[c] = near_row;
          }
        }
        const auto luma_at =
            whole.planes[0].begin() + static_cast<std::ptrdiff_t>(y * whole.strides[0]);
        Bytes luma(luma_at, luma_at + static_cast<std::ptrdiff_t>(whole.width));
        luma.resize(whole.width + jpeg_row_slack);
        Bytes rgb(3 * whole.width + jpeg_row_slack);
        jpeg_rgb_from_ycc(luma.data(), up[0].data(), up[1].data(), whole.width, rgb.data());
        equal &= std::equal(rgb.data(), rgb.data() + 3 * whole.width,
                            whole.pixels.data() + 3 * whole.width * y);
      }
      CAPTURE(chroma.h, chroma.v, whole.width, whole.height);
      REQUIRE(equal);
    });
  }
}

TEST_CASE("JPEG pixels: each pair of chroma values has its colour") {
  Bytes luma(256 + jpeg_row_slack), blue(luma.size()), red(luma.size());
  Bytes rgb(3 * 256 + jpeg_row_slack);
  for (std::size_t x = 0; x < 256; ++x) blue[x] = static_cast<std::uint8_t>(x);
  const auto byte = [](int value) { return static_cast<std::uint8_t>(std::clamp(value, 0, 255)); };
  at_each_level([&] {
    bool equal = true;
    for (int cr = 0; cr < 256; ++cr) {
      std::fill(red.begin(), red.end(), byte(cr));
      for (int y = 0; y < 256; y += 15) {
        std::fill(luma.begin(), luma.end(), byte(y));
        jpeg_rgb_from_ycc(luma.data(), blue.data(), red.data(), 256, rgb.data());
        const int r = y + ((91881 * (cr - 128) + 32768) >> 16);
        for (int cb = 0; cb < 256; ++cb) {
          const std::uint8_t* const pixel = rgb.data() + 3 * cb;
          const int g = y + ((-22554 * (cb - 128) - 46802 * (cr - 128) + 32768) >> 16);
          const int b = y + ((116130 * (cb - 128) + 32768) >> 16);
          equal &= pixel[0] == byte(r) && pixel[1] == byte(g) && pixel[2] == byte(b);
        }
      }
    }
    REQUIRE(equal);
  });
}

TEST_CASE("JPEG pixels: rows of any width, within their slack") {
  const auto reference = [](const Bytes& near_row, const Bytes& far_row, std::size_t width) {
    Bytes out(2 * width);
    const auto sum = [&](std::size_t x) { return 3 * near_row[x] + far_row[x]; };
    for (std::size_t x = 0; x < width; ++x) {
      const int left = sum(x == 0 ? 0 : x - 1);
      const int right = sum(std::min(x + 1, width - 1));
      out[2 * x] = static_cast<std::uint8_t>((3 * sum(x) + left + 8) >> 4);
      out[2 * x + 1] = static_cast<std::uint8_t>((3 * sum(x) + right + 7) >> 4);
    }
    return out;
  };
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  Random random(seed);
  at_each_level([&] {
    for (std::size_t width = 1; width < 200; ++width) {
      CAPTURE(width);
      // Exactly as long as allowed, so that a sanitizer sees what goes further.
      Bytes near_row(width + jpeg_row_slack), far_row(width + jpeg_row_slack);
      for (auto& b : near_row) b = static_cast<std::uint8_t>(between(random, 0, 255));
      for (auto& b : far_row) b = static_cast<std::uint8_t>(between(random, 0, 255));
      Bytes out(2 * width + jpeg_row_slack);
      jpeg_upsample_h2v2(near_row.data(), far_row.data(), width, out.data());
      const Bytes expected = reference(near_row, far_row, width);
      REQUIRE(std::equal(expected.begin(), expected.end(), out.begin()));
      jpeg_upsample_h2v1(near_row.data(), width, out.data());
      REQUIRE(out[0] == near_row[0]);
      REQUIRE(out[2 * width - 1] == near_row[width - 1]);
      Bytes single(width + jpeg_row_slack);
      jpeg_upsample_h1v2(near_row.data(), far_row.data(), 2, width, single.data());
      REQUIRE(single[width - 1] == (3 * near_row[width - 1] + far_row[width - 1] + 2) / 4);
      Bytes rgb(3 * width + jpeg_row_slack);
      jpeg_rgb_from_ycc(near_row.data(), far_row.data(), near_row.data(), width, rgb.data());
      jpeg_rgb_from_gray(near_row.data(), width, rgb.data());
      for (std::size_t i = 0; i < 3 * width; ++i) REQUIRE(rgb[i] == near_row[i / 3]);
    }
  });
}
