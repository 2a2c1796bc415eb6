// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "catch.hpp"

#include <batchcast/torch.hpp>

#include <torch/torch.h>

#include "filled_stream.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace batchcast {
namespace {

/// Sample i has i % 4 boxes whose numbers are i, and a label.
class Boxes {
 public:
  Boxes() : producer_(options(folder_.path())) {
    while (auto loan = producer_.loan(8)) {
      std::vector<std::uint64_t> counts;
      for (const std::uint64_t id : loan->sample_ids()) counts.push_back(id % 4);
      REQUIRE(loan->take_rows("boxes", counts));
      for (std::size_t i = 0; i < loan->size(); ++i) {
        const std::uint64_t id = loan->sample_ids()[i];
        for (float& one : loan->rows<float>(i, "boxes").span()) one = static_cast<float>(id);
        loan->field<std::int64_t>("label")[i][0] = static_cast<std::int64_t>(id);
      }
      loan->publish();
    }
  }
  [[nodiscard]] ConsumerOptions joining(std::uint64_t batch_size) const {
    return {.stream = "boxes", .batch_size = batch_size, .directory = folder_.path()};
  }

 private:
  static ProducerOptions options(const std::string& directory) {
    ProducerOptions options;
    options.stream = "boxes";
    options.schema = {{"boxes", DType::f32, Axis{"boxes"}, {2}}, {"label", DType::i64}};
    options.rows_per_sample = {{"boxes", 4}};
    options.samples_per_epoch = 32;
    options.epochs = 1;
    options.linger_ms = 0;
    options.directory = directory;
    return options;
  }

  testing::StreamFolder folder_;
  Producer producer_;
};

TEST_CASE("A ragged field is values over the ring, offsets, and a padded copy") {
  const Boxes stream;
  Consumer consumer(stream.joining(6));
  const Batch batch = *consumer.next();
  const RaggedTensor boxes = ragged_of(batch, "boxes");
  CHECK(boxes.values.sizes() == at::IntArrayRef({0 + 1 + 2 + 3 + 0 + 1, 2}));
  CHECK(boxes.values.data_ptr() == batch.rows<float>("boxes").values().data());
  CHECK(boxes.offsets.equal(torch::tensor({0, 0, 1, 3, 6, 6, 7}, at::kLong)));
  CHECK(boxes.lengths().equal(torch::tensor({0, 1, 2, 3, 0, 1}, at::kLong)));
  const at::Tensor padded = boxes.padded(-1, 4);
  REQUIRE(padded.sizes() == at::IntArrayRef({6, 4, 2}));
  CHECK(padded[2].select(1, 0).equal(torch::tensor({2.F, 2.F, -1.F, -1.F})));
  CHECK(padded[0].eq(-1).all().item<bool>());
  CHECK_THROWS_WITH(tensor_of(batch, "boxes"), Catch::Contains("ragged_of"));
  CHECK_THROWS_AS(ragged_of(batch, "label"), InvalidArgument);
}

TEST_CASE("A dictionary of tensors has values and the offsets of their axis") {
  const Boxes stream;
  using Dictionary = std::map<std::string, at::Tensor>;
  Consumer consumer(stream.joining(32));
  const Batch batch = *consumer.next();
  const BatchMaker<Dictionary> make(batch.fields(), {});
  const Dictionary made = make(batch);
  CHECK(made.at("boxes").size(0) == 48);
  CHECK(made.at("boxes_offsets").size(0) == 33);
  CHECK(made.at("label").size(0) == 32);
  CHECK_THROWS_WITH(BatchMaker<at::Tensor>(batch.fields(), {}), Catch::Contains("ragged_of"));
}

TEST_CASE("A window's batch is one tensor of runs over the ring") {
  const Boxes stream;
  ConsumerOptions options = stream.joining(ConsumerOptions().batch_size);
  options.window = {"boxes", 5, 3, 1};
  Consumer consumer(options);
  const Batch batch = *consumer.next();
  const at::Tensor boxes = tensor_of(batch, "boxes");
  CHECK(boxes.sizes() == at::IntArrayRef({3, 6, 2}));
  CHECK(boxes.strides() == at::IntArrayRef({10, 2, 1}));
  CHECK(boxes.data_ptr() == batch.field<float>("boxes").data());
  CHECK(boxes[0][5].equal(boxes[1][0]));
  // Samples 0 to 10 have 0, 1, 2, 3, 0, 1, 2, 3, 0, 1 and 2 boxes, and the window the first 15.
  const at::Tensor offsets = torch::tensor({0, 0, 1, 3, 6, 6, 7, 9, 12, 12, 13, 15}, at::kLong);
  CHECK(offsets_of(batch).equal(offsets));
  using Dictionary = std::map<std::string, at::Tensor>;
  const Dictionary made = BatchMaker<Dictionary>(detail::field_table_of(consumer), {})(batch);
  CHECK(made.size() == 3);
  CHECK(made.at("boxes").equal(boxes));
  CHECK(made.at("boxes_offsets").equal(offsets));
  CHECK(made.at("sample_id").equal(torch::arange(11, at::kLong)));
  CHECK_THROWS_WITH(tensor_of(batch, "label"), Catch::Contains("axis `boxes` alone"));
}

/// Three images of two channels, of 2 x 3, 0 x 0 and 3 x 1 pixels; the last says another size.
class SizedImages {
 public:
  SizedImages() : producer_(options(folder_.path())) {
    auto loan = *producer_.loan(4);
    const std::vector<std::uint64_t> counts = {6, 0, 3, 4};
    const std::int32_t sizes[4][2] = {{2, 3}, {0, 0}, {3, 1}, {5, 5}};
    REQUIRE(loan.take_rows("pixels", counts));
    for (std::size_t i = 0; i < 4; ++i) {
      std::uint8_t level = static_cast<std::uint8_t>(10 * i);
      for (std::uint8_t& one : loan.rows<std::uint8_t>(i, "image").span()) one = level++;
      const auto size = loan.field<std::int32_t>("image_size")[i];
      size[0] = sizes[i][0];
      size[1] = sizes[i][1];
    }
    loan.publish();
  }
  [[nodiscard]] ConsumerOptions joining(std::uint64_t batch_size) const {
    return {.stream = "images", .batch_size = batch_size, .directory = folder_.path()};
  }

 private:
  static ProducerOptions options(const std::string& directory) {
    ProducerOptions options;
    options.stream = "images";
    options.schema = {{"image", DType::u8, Axis{"pixels"}, {2}}, {"image_size", DType::i32, {2}}};
    options.rows_per_sample = {{"pixels", 4}};
    options.samples_per_epoch = 4;
    options.epochs = 1;
    options.linger_ms = 0;
    options.directory = directory;
    return options;
  }

  testing::StreamFolder folder_;
  Producer producer_;
};

TEST_CASE("Images that keep their sizes are padded to the largest on both sides") {
  const SizedImages stream;
  Consumer consumer(stream.joining(3));
  const Batch batch = *consumer.next();
  const PaddedImages images = padded_images(batch, "image", 99, 2);
  REQUIRE(images.values.sizes() == at::IntArrayRef({3, 4, 4, 2}));
  CHECK(images.sizes.equal(torch::tensor({{2, 3}, {0, 0}, {3, 1}}, at::kInt)));
  const at::Tensor first = images.values[0];
  CHECK(first.slice(0, 0, 2).slice(1, 0, 3).reshape({12}).equal(at::arange(12, at::kByte)));
  CHECK(first.slice(0, 2).eq(99).all().item<bool>());
  CHECK(first.slice(1, 3).eq(99).all().item<bool>());
  CHECK(images.values[1].eq(99).all().item<bool>());
  CHECK(images.values[2].slice(0, 0, 3).slice(1, 0, 1).reshape({6}).equal(
      at::arange(20, 26, at::kByte)));
  CHECK(images.values[2].slice(1, 1).eq(99).all().item<bool>());
}

TEST_CASE("Sizes that do not fit their pixels are refused") {
  const SizedImages stream;
  Consumer consumer(stream.joining(4));
  const Batch batch = *consumer.next();
  CHECK_THROWS_WITH(padded_images(batch, "image"),
                    Catch::Contains("`image_size`") && Catch::Contains("has 4 pixels"));
  const Boxes boxes;
  Consumer other(boxes.joining(4));
  const Batch of_boxes = *other.next();
  CHECK_THROWS_AS(padded_images(of_boxes, "boxes"), InvalidArgument);
}

}  // namespace
}  // namespace batchcast
