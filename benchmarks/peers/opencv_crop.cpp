// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// What the scripts of this folder do, written in C++ with OpenCV: imdecode, crop, resize, flip,
// normalise to f32 CHW into a batch of 64, in one thread, files read one after another in random
// order. INTER_LINEAR takes the four nearest pixels however far it reduces: it is not antialiased,
// less work than the others do, and other pixels.
// Usage: opencv_crop DIR [--seconds S] [--warm-up S] [--seed N]

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr int kSide = 224;
constexpr std::size_t kBatch = 64;
constexpr std::array<double, 3> kMean = {0.485, 0.456, 0.406};
constexpr std::array<double, 3> kStd = {0.229, 0.224, 0.225};

using Clock = std::chrono::steady_clock;
using Random = std::mt19937_64;

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

std::vector<std::string> list_images(const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".jpg") paths.push_back(entry.path().string());
  }
  if (paths.empty()) throw std::runtime_error("no .jpg below " + folder.string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// As torchvision's RandomResizedCrop draws it.
cv::Rect draw_crop(Random& random, cv::Size image) {
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double area = std::uniform_real_distribution(0.08, 1.0)(random) * image.area();
    const double log_aspect =
        std::uniform_real_distribution(std::log(3.0 / 4), std::log(4.0 / 3))(random);
    const double aspect = std::exp(log_aspect);
    const int width = static_cast<int>(std::lround(std::sqrt(area * aspect)));
    const int height = static_cast<int>(std::lround(std::sqrt(area / aspect)));
    if (width < 1 || width > image.width || height < 1 || height > image.height) continue;
    const int x = std::uniform_int_distribution(0, image.width - width)(random);
    const int y = std::uniform_int_distribution(0, image.height - height)(random);
    return {x, y, width, height};
  }
  const int width = std::min(image.width, image.height * 4 / 3);
  const int height = std::min(image.height, image.width * 4 / 3);
  return {(image.width - width) / 2, (image.height - height) / 2, width, height};
}

class Loader {
 public:
  Loader(std::vector<std::string> paths, std::uint64_t seed)
      : paths_(std::move(paths)), random_(seed), next_(paths_.size()) {
    pixels_.resize(kBatch * 3 * kSide * kSide);
  }

  /// Reads one value of every sample, as a consumer would at least.
  float make_batch() {
    float sum = 0;
    for (std::size_t i = 0; i < kBatch; ++i) {
      float* const sample = pixels_.data() + i * 3 * kSide * kSide;
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
    read(paths_[next_++]);
    cv::imdecode(encoded_, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION, &decoded_);
    if (decoded_.empty()) throw std::runtime_error("cannot decode " + paths_[next_ - 1]);
    const cv::Rect crop = draw_crop(random_, decoded_.size());
    cv::resize(decoded_(crop), resized_, {kSide, kSide}, 0, 0, cv::INTER_LINEAR);
    if (random_() % 2 == 0) cv::flip(resized_, resized_, 1);
    cv::split(resized_, planes_);
    for (int channel = 0; channel < 3; ++channel) {
      const auto c = static_cast<std::size_t>(channel);
      cv::Mat plane(kSide, kSide, CV_32F, out + c * kSide * kSide);
      // BGR in, RGB out.
      planes_[2 - c].convertTo(plane, CV_32F, 1 / (255 * kStd[c]), -kMean[c] / kStd[c]);
    }
  }

  void read(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    encoded_.resize(file ? static_cast<std::size_t>(file.tellg()) : 0);
    file.seekg(0);
    file.read(reinterpret_cast<char*>(encoded_.data()),
              static_cast<std::streamsize>(encoded_.size()));
    if (!file) throw std::runtime_error("cannot read " + path);
  }

  std::vector<std::string> paths_;
  Random random_;
  std::size_t next_;
  std::vector<std::uint8_t> encoded_;
  cv::Mat decoded_;
  cv::Mat resized_;
  std::array<cv::Mat, 3> planes_;
  std::vector<float> pixels_;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void measure(const Options& options) {
  cv::setNumThreads(1);
  Loader loader(list_images(options.folder), options.seed);
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
