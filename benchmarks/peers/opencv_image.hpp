// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// From a JPEG, PNG or WebP file to a normalised crop with OpenCV. INTER_LINEAR takes the four
// nearest pixels however far it reduces: it is not antialiased.
namespace peers {

using Random = std::mt19937_64;

constexpr int crop_side = 224;
constexpr std::size_t crop_elements = std::size_t{3} * crop_side * crop_side;

inline std::vector<std::string> list_images(const std::filesystem::path& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string form = entry.path().extension().string();
    if (form == ".jpg" || form == ".png" || form == ".webp") paths.push_back(entry.path().string());
  }
  if (paths.empty()) throw std::runtime_error("no image below " + folder.string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// As torchvision's RandomResizedCrop draws it.
inline cv::Rect draw_crop(Random& random, cv::Size image) {
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

/// One for each thread: it keeps its buffers.
class ImageCropper {
 public:
  /// The file's pixels, cropped at random, flipped or not, into `out`: `crop_elements` floats, CHW.
  void make(const std::string& path, Random& random, float* out) {
    read(path);
    cv::imdecode(encoded_, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION, &decoded_);
    if (decoded_.empty()) throw std::runtime_error("cannot decode " + path);
    const cv::Rect crop = draw_crop(random, decoded_.size());
    cv::resize(decoded_(crop), resized_, {crop_side, crop_side}, 0, 0, cv::INTER_LINEAR);
    if (random() % 2 == 0) cv::flip(resized_, resized_, 1);
    cv::split(resized_, planes_);
    constexpr std::array<double, 3> mean = {0.485, 0.456, 0.406};
    constexpr std::array<double, 3> deviation = {0.229, 0.224, 0.225};
    for (std::size_t c = 0; c < 3; ++c) {
      cv::Mat plane(crop_side, crop_side, CV_32F, out + c * crop_side * crop_side);
      // BGR in, RGB out.
      planes_[2 - c].convertTo(plane, CV_32F, 1 / (255 * deviation[c]), -mean[c] / deviation[c]);
    }
  }

 private:
  void read(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    encoded_.resize(file ? static_cast<std::size_t>(file.tellg()) : 0);
    file.seekg(0);
    file.read(reinterpret_cast<char*>(encoded_.data()),
              static_cast<std::streamsize>(encoded_.size()));
    if (!file) throw std::runtime_error("cannot read " + path);
  }

  std::vector<std::uint8_t> encoded_;
  cv::Mat decoded_;
  cv::Mat resized_;
  std::array<cv::Mat, 3> planes_;
};

}  // namespace peers
