// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/codec/image_support.hpp"
#include "data/pipeline/pipeline_support.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/pipeline.hpp>
#include <batchcast/data/source.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

// A source of images in memory, which counts what is read, and pipelines over it.
namespace batchcast::test {

/// An image and a label for each sample.
class JpegSource final : public Source {
 public:
  explicit JpegSource(std::vector<image_test::Bytes> files) : files_(std::move(files)) {
    for (std::size_t i = 0; i < files_.size(); ++i) labels_.push_back(static_cast<std::int64_t>(i));
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return files_.size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    ++images_read;
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    parts.resize(2);
    const image_test::Bytes& file = files_[sample_id];
    const auto made = parts.make(0, file.size());
    std::copy(file.begin(), file.end(), reinterpret_cast<std::uint8_t*>(made.data()));
    set_label(sample_id, parts);
  }
  void read_wanted(std::uint64_t sample_id, std::span<const std::uint8_t> wanted,
                   SampleParts& parts) const override {
    if (wanted[0] != 0 || reads_all) return read(sample_id, parts);
    ++labels_read;
    parts.resize(2);
    set_label(sample_id, parts);
  }
  [[nodiscard]] std::optional<PartKey> key_of(std::uint64_t sample_id,
                                              std::size_t part) const noexcept override {
    if (!has_keys || part != 0) return std::nullopt;
    return PartKey{{version, sample_id}, changed_ns};
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return "jpeg/" + std::to_string(sample_id);
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_of("jpegs"); }

  void replace(std::uint64_t sample_id, image_test::Bytes file) {
    files_[sample_id] = std::move(file);
  }

  bool has_keys = true;
  bool reads_all = false;  ///< does not know how to read some parts
  std::uint64_t version = 1;
  std::int64_t changed_ns = 1;
  int wait_ms = 0;  ///< before an image, as if it came from a disk
  mutable std::atomic<int> images_read{0};
  mutable std::atomic<int> labels_read{0};

 private:
  void set_label(std::uint64_t sample_id, SampleParts& parts) const {
    parts.set(1, std::as_bytes(std::span(labels_).subspan(sample_id, 1)));
  }

  std::vector<image_test::Bytes> files_;
  std::vector<std::int64_t> labels_;
  std::vector<PartSpec> parts_ = {{.name = "image", .kind = PartKind::image},
                                  {.name = "label", .dtype = DType::i64}};
};

inline std::vector<image_test::Bytes> some_jpegs(std::size_t count, unsigned seed = 7) {
  image_test::Random random(seed);
  std::vector<image_test::Bytes> files;
  for (std::size_t i = 0; i < count; ++i) {
    const ImageSize size{image_test::between(random, 40, 160),
                         image_test::between(random, 40, 160)};
    image_test::JpegOptions options;
    options.quality = 92;
    options.progressive = i % 4 == 3;
    if (i % 2 == 1) options.sampling = {{1, 1}, {1, 1}, {1, 1}};
    files.push_back(image_test::encode_jpeg(image_test::noise(random, size), options));
  }
  return files;
}

inline std::string jpeg_recipe_with(const std::string& decode) {
  return "[[field]]\nname = \"image\"\nstages = [\n" + decode + R"(
  { stage = "random_resized_crop", size = 32 },
  { stage = "horizontal_flip" },
  { stage = "to", dtype = "f32" }]
[[field]]
name = "label"
)";
}
inline const std::string crops = jpeg_recipe_with("  { stage = \"decode\" },");

inline PipelineOptions options_over(std::shared_ptr<const Source> source, const CacheOptions& cache,
                                    const std::string& toml = crops) {
  PipelineOptions options;
  options.source = std::move(source);
  options.recipe = recipe(toml);
  options.seed = 5;
  options.cache = cache;
  return options;
}

}  // namespace batchcast::test
