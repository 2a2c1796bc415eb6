// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

// What the yardsticks of the pipeline's figures have in common: programs in which one thread does
// nothing but hand images in memory to a codec, by default for a random resized crop of each. They
// share no code with the library that is measured against them.
namespace codec {

using File = std::vector<unsigned char>;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string folder;
  double seconds = 5;
  std::size_t images_max = 2000;
  unsigned seed = 1;
  bool whole = false;
};

struct Box {
  unsigned x, y, width, height;
};

[[noreturn]] inline void usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s FOLDER [--seconds S] [--images N] [--seed N] [--whole]\n"
               "Decodes the first N images below FOLDER over and over; --whole: no crops.\n",
               program);
  std::exit(2);
}

inline Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] {
      if (++i == argc) usage(argv[0]);
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
      usage(argv[0]);
    }
  }
  if (options.folder.empty()) usage(argv[0]);
  return options;
}

inline std::vector<File> read_files(const Options& options,
                                    const std::vector<std::string>& extensions) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(options.folder)) {
    const std::string extension = entry.path().extension().string();
    const bool wanted =
        std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
    if (wanted && entry.is_regular_file()) paths.push_back(entry.path());
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
inline Box random_box(unsigned width, unsigned height, std::mt19937& random) {
  std::uniform_real_distribution<double> scale(0.08, 1.0);
  std::uniform_real_distribution<double> log_ratio(std::log(3.0 / 4.0), std::log(4.0 / 3.0));
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = static_cast<double>(width) * height * scale(random);
    const double ratio = std::exp(log_ratio(random));
    const auto w = static_cast<unsigned>(std::lround(std::sqrt(area * ratio)));
    const auto h = static_cast<unsigned>(std::lround(std::sqrt(area / ratio)));
    if (w == 0 || h == 0 || w > width || h > height) continue;
    return {static_cast<unsigned>(random() % (width - w + 1)),
            static_cast<unsigned>(random() % (height - h + 1)), w, h};
  }
  const unsigned side = std::min(width, height);
  return {(width - side) / 2, (height - side) / 2, side, side};
}

/// Decodes each file once, then all in turns for the time asked for, and prints how it went as
/// JSON. `decode` takes a file and the random numbers. Returns the exit status.
template <class Decode>
int measure(const Options& options, const std::vector<File>& files, const Decode& decode) {
  if (files.empty()) {
    std::fprintf(stderr, "no image of this codec below %s\n", options.folder.c_str());
    return 1;
  }
  std::mt19937 random(options.seed);
  for (const File& file : files) decode(file, random);

  std::size_t count = 0;
  const std::clock_t cpu = std::clock();
  const Clock::time_point start = Clock::now();
  double seconds = 0;
  while (seconds < options.seconds) {
    decode(files[count % files.size()], random);
    ++count;
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  const double cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  std::printf(
      "{\"images_per_second\": %.1f, \"images\": %zu, \"files\": %zu, \"seconds\": %.3f, "
      "\"cpu_seconds\": %.3f, \"whole\": %s}\n",
      static_cast<double>(count) / seconds, count, files.size(), seconds, cpu_seconds,
      options.whole ? "true" : "false");
  return 0;
}

}  // namespace codec
