// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The yardstick of the pipeline's figures: what one thread reaches when it does nothing but hand
// JPEGs in memory to libjpeg-turbo, by default only the rows and columns of a random resized crop.
// It shares no code with the library that is measured against it.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

// After <cstdio>, which it needs but does not include.
#include <jpeglib.h>

namespace {

using File = std::vector<unsigned char>;
using Clock = std::chrono::steady_clock;

constexpr JDIMENSION rows_per_call = 16;

struct Options {
  std::string folder;
  double seconds = 5;
  std::size_t images_max = 2000;
  unsigned seed = 1;
  bool whole = false;
};

struct Box {
  JDIMENSION x, y, width, height;
};

[[noreturn]] void usage() {
  std::fputs(
      "usage: jpeg_rows FOLDER [--seconds S] [--images N] [--seed N] [--whole]\n"
      "Decodes the first N JPEGs below FOLDER over and over; --whole: no crops.\n",
      stderr);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (++i == argc) usage();
      return argv[i];
    };
    if (word == "--seconds") {
      options.seconds = std::atof(value());
    } else if (word == "--images") {
      options.images_max = std::strtoul(value(), nullptr, 10);
    } else if (word == "--seed") {
      options.seed = static_cast<unsigned>(std::strtoul(value(), nullptr, 10));
    } else if (word == "--whole") {
      options.whole = true;
    } else if (options.folder.empty() && word[0] != '-') {
      options.folder = word;
    } else {
      usage();
    }
  }
  if (options.folder.empty()) usage();
  return options;
}

std::vector<File> read_files(const Options& options) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.folder)) {
    const std::string extension = entry.path().extension().string();
    const bool is_jpeg = extension == ".jpg" || extension == ".jpeg" || extension == ".JPEG";
    if (is_jpeg && entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  if (paths.size() > options.images_max) paths.resize(options.images_max);
  std::vector<File> files;
  for (const auto& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    files.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return files;
}

/// As torchvision's RandomResizedCrop draws them, by default: 8 to 100% of the area.
Box random_box(JDIMENSION width, JDIMENSION height, std::mt19937& random) {
  std::uniform_real_distribution<double> scale(0.08, 1.0);
  std::uniform_real_distribution<double> log_ratio(std::log(3.0 / 4.0), std::log(4.0 / 3.0));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = static_cast<double>(width) * height * scale(random);
    const double ratio = std::exp(log_ratio(random));
    const auto w = static_cast<JDIMENSION>(std::lround(std::sqrt(area * ratio)));
    const auto h = static_cast<JDIMENSION>(std::lround(std::sqrt(area / ratio)));
    if (w == 0 || h == 0 || w > width || h > height) continue;
    return {static_cast<JDIMENSION>(random() % (width - w + 1)),
            static_cast<JDIMENSION>(random() % (height - h + 1)), w, h};
  }
  const JDIMENSION side = std::min(width, height);
  return {(width - side) / 2, (height - side) / 2, side, side};
}

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
    box = random_box(jpeg.output_width, jpeg.output_height, random);
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
  const Options options = parse(argc, argv);
  const std::vector<File> files = read_files(options);
  if (files.empty()) {
    std::fprintf(stderr, "jpeg_rows: no .jpg or .jpeg below %s\n", options.folder.c_str());
    return 1;
  }
  std::mt19937 random(options.seed);
  File rows;
  for (const File& file : files) decode(file, options, random, rows);

  std::size_t count = 0;
  const Clock::time_point start = Clock::now();
  double seconds = 0;
  while (seconds < options.seconds) {
    decode(files[count % files.size()], options, random, rows);
    ++count;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  std::printf(
      "{\"images_per_second\": %.1f, \"images\": %zu, \"files\": %zu, \"seconds\": %.3f, "
      "\"whole\": %s}\n",
      static_cast<double>(count) / seconds, count, files.size(), seconds,
      options.whole ? "true" : "false");
}
