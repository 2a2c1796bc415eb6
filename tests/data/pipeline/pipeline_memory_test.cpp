// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/image_support.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/pipeline.hpp>

#include "catch.hpp"

#include <malloc.h>

#include <cstring>
#include <memory>

using namespace batchcast;

namespace {

/// Encoded images in memory; every seventh is cut off.
class ImagesInMemory final : public Source {
 public:
  ImagesInMemory() {
    image_test::Random random(5);
    for (int i = 0; i < 28; ++i) {
      const ImageSize size{image_test::between(random, 40, 150),
                           image_test::between(random, 40, 150)};
      const image_test::Picture picture = image_test::noise(random, size);
      image_test::Bytes file = i % 4 == 0 ? image_test::encode_png(picture)
                               : i % 4 == 1
                                   ? image_test::encode_jpeg(picture, {.progressive = true})
                                   : image_test::encode_jpeg(picture);
      if (i % 7 == 6) file.resize(file.size() / 2);
      files_.push_back(std::move(file));
    }
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return files_.size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    parts.resize(1);
    const auto& file = files_[sample_id];
    std::memcpy(parts.make(0, file.size()).data(), file.data(), file.size());
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return std::to_string(sample_id);
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return {}; }

 private:
  std::vector<PartSpec> parts_ = {{"image", PartKind::image}};
  std::vector<image_test::Bytes> files_;
};

std::size_t bytes_in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

TEST_CASE("fifty epochs, broken images among them, take no more memory than two") {
  const Pipeline pipeline({.source = std::make_shared<ImagesInMemory>(),
                           .recipe = Recipe::from_toml(R"(
[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 32 },
  { stage = "color_jitter", brightness = 0.4, hue = 0.1 },
  { stage = "random_affine", degrees = 10, shear = 5, p = 0.7 },
  { stage = "sharpness", sharpness_factor = 1.5 },
  { stage = "elastic", sigma = 1.5, p = 0.5 },
  { stage = "gaussian_blur", kernel_size = 5 },
  { stage = "to" },
  { stage = "random_erasing", p = 0.5 },
])",
                                                       "memory.toml"),
                           .on_bad_sample = OnBadSample::substitute});
  const auto worker = pipeline.worker();
  std::vector<std::byte> bytes(pipeline.schema()[0].byte_count());
  const std::vector<FieldSlots> slots{{bytes.data(), bytes.size()}};
  const auto run = [&](std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t epoch = first; epoch < last; ++epoch) {
      for (std::uint64_t index = 0; index < pipeline.samples_per_epoch(); ++index) {
        std::uint64_t id = 0;
        worker->make({epoch, index, slots, {&id, 1}});
      }
    }
  };
  run(0, 4);
  const std::size_t before = bytes_in_use();
  run(4, 54);
  const std::size_t after = bytes_in_use();
  CAPTURE(before, after);
  CHECK(after <= before + 64 * 1024);
  CHECK(pipeline.bad_samples() == 4);
}
