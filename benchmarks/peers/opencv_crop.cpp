// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// What the scripts of this folder do, written in C++ with OpenCV: imdecode, crop, resize, flip,
// normalise to f32 CHW into a batch of 64, in one thread, files read one after another in random
// order. INTER_LINEAR takes the four nearest pixels however far it reduces: it is not antialiased,
// less work than the others do, and other pixels.
// Usage: opencv_crop DIR [--seconds S] [--warm-up S] [--seed N]

#include "opencv_image.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr std::size_t kBatch = 64;

using Clock = std::chrono::steady_clock;
using peers::Random;

struct Options {
  std::filesystem::path folder;
  double seconds = 10;
  double warm_up = 3;
  std::uint64_t seed = std::random_device{}();
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view key = argv[i];
    if (!key.starts_with("--") && options.folder.empty()) {
      options.folder = key;
      continue;
    }
    if (++i == argc) throw std::invalid_argument("no value for " + std::string(key));
    if (key == "--seconds") {
      options.seconds = std::stod(argv[i]);
    } else if (key == "--warm-up") {
      options.warm_up = std::stod(argv[i]);
    } else if (key == "--seed") {
      options.seed = std::stoull(argv[i]);
    } else {
      throw std::invalid_argument("unknown option " + std::string(key));
    }
  }
  if (options.folder.empty()) throw std::invalid_argument("which folder?");
  return options;
}

class Loader {
 public:
  Loader(std::vector<std::string> paths, std::uint64_t seed)
      : paths_(std::move(paths)), random_(seed), next_(paths_.size()) {
    pixels_.resize(kBatch * peers::crop_elements);
  }

  /// Reads one value of every sample, as a consumer would at least.
  float make_batch() {
    float sum = 0;
    for (std::size_t i = 0; i < kBatch; ++i) {
      float* const sample = pixels_.data() + i * peers::crop_elements;
      make_sample(sample);
      sum += *sample;
    }
    return sum;
  }

 private:
  void make_sample(float* out) {
    if (next_ == paths_.size()) {
      std::shuffle(paths_.begin(), paths_.end(), random_);
      next_ = 0;
    }
    cropper_.make(paths_[next_++], random_, out);
  }

  std::vector<std::string> paths_;
  Random random_;
  std::size_t next_;
  peers::ImageCropper cropper_;
  std::vector<float> pixels_;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void measure(const Options& options) {
  cv::setNumThreads(1);
  Loader loader(peers::list_images(options.folder), options.seed);
  volatile float sink = 0;
  for (const auto begin = Clock::now(); seconds_since(begin) < options.warm_up;) {
    sink = loader.make_batch();
  }
  const std::clock_t cpu = std::clock();
  const auto begin = Clock::now();
  std::size_t images = 0;
  while (seconds_since(begin) < options.seconds) {
    sink = loader.make_batch();
    images += kBatch;
  }
  const double seconds = seconds_since(begin);
  const double cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  static_cast<void>(sink);
  std::printf(
      "{\"peer\": \"opencv\", \"version\": \"OpenCV %s\", \"images_per_second\": %.1f, "
      "\"images\": %zu, \"seconds\": %.3f, \"cpu_seconds\": %.2f, \"processes\": 1, "
      "\"workers\": 1}\n",
      CV_VERSION, static_cast<double>(images) / seconds, images, seconds, cpu_seconds);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    measure(parse(argc, argv));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "opencv_crop: %s\n", error.what());
    return 1;
  }
}
