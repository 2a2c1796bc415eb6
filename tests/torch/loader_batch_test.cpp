// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The types that batches can have.
#include "loader_support.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace batchcast::testing {
namespace {

using torch::data::Example;
using torch::data::TensorExample;

/// A type of the trainer's own.
struct OwnBatch {
  explicit OwnBatch(const Batch& batch)
      : image(tensor_of(batch, "image")), position(batch.position()) {}
  at::Tensor image;
  std::uint64_t position;
};

/// One that knows nothing of batchcast.
struct Stranger {
  at::Tensor scaled;
  std::int64_t largest_label = 0;
};

}  // namespace
}  // namespace batchcast::testing

template <>
struct batchcast::BatchMaker<batchcast::testing::Stranger> {
  BatchMaker(const FieldTable& fields, const ExampleFields&)
      : image(fields.index_of("image")), label(fields.index_of("label")) {}
  testing::Stranger operator()(const Batch& batch) const {
    return {tensor_of(batch, image) / 4, tensor_of(batch, label).max().item<std::int64_t>()};
  }
  std::size_t image;
  std::size_t label;
};

namespace batchcast::testing {
namespace {

template <class Dictionary>
void check_dictionary() {
  const ServedStream stream;
  const auto loader = make_shared_data_loader<Dictionary>(stream.options(), 4);
  std::uint64_t first = 0;
  for (auto& batch : *loader) {
    const std::uint64_t size = std::min<std::uint64_t>(4, 10 - first);
    CHECK(batch.size() == 3);
    CHECK(see(batch["image"], batch["label"]) == expected(first, size));
    const auto begin = static_cast<std::int64_t>(first);
    CHECK(batch["sample_id"].equal(torch::arange(begin, begin + static_cast<std::int64_t>(size))));
    first += size;
  }
  CHECK(first == 10);
}

TEST_CASE("A batch can be a dictionary of every field", "[loader]") {
  SECTION("map") { check_dictionary<std::map<std::string, torch::Tensor>>(); }
  SECTION("unordered_map") { check_dictionary<std::unordered_map<std::string, torch::Tensor>>(); }
  SECTION("OrderedDict") { check_dictionary<torch::OrderedDict<std::string, torch::Tensor>>(); }
}

TEST_CASE("An OrderedDict has the fields in the stream's order", "[loader]") {
  const ServedStream stream;
  using Dictionary = torch::OrderedDict<std::string, torch::Tensor>;
  const auto loader = make_shared_data_loader<Dictionary>(stream.options(), 4);
  CHECK(loader->begin()->keys() == std::vector<std::string>{"image", "label", "sample_id"});
}

TEST_CASE("A batch can be data alone", "[loader]") {
  const ServedStream stream;
  const auto examples = make_shared_data_loader<TensorExample>(stream.options(), 4);
  auto it = examples->begin();
  const torch::Tensor& converted = *it;
  CHECK(see(converted, torch::arange(4)) == expected(0, 4));
  const auto tensors = make_shared_data_loader<torch::Tensor>(stream.options(), 4);
  CHECK(see(*tensors->begin(), torch::arange(4)) == expected(0, 4));
  const auto labels =
      make_shared_data_loader<torch::Tensor>(stream.options(), 4, {.data = "label"});
  CHECK(labels->begin()->equal(torch::arange(4)));
}

TEST_CASE("A batch can be one element a sample", "[loader]") {
  const ServedStream stream;
  const auto tensors = make_shared_data_loader<std::vector<torch::Tensor>>(stream.options(), 4);
  CHECK(see(torch::stack(*tensors->begin()), torch::arange(4)) == expected(0, 4));
  const auto examples = make_shared_data_loader<std::vector<TensorExample>>(stream.options(), 4);
  auto it = examples->begin();
  REQUIRE(it->size() == 4);
  CHECK(see((*it)[3].data.unsqueeze(0), torch::full({1}, 3, torch::kLong)) == expected(3, 1));
}

TEST_CASE("A write to one sample reaches neither its neighbours nor the ring", "[loader]") {
  const ServedStream stream;
  const auto writes = make_shared_data_loader<std::vector<Example<>>>(stream.options(), 4);
  const auto reads = make_shared_data_loader(stream.options(), 4);
  auto written = writes->begin();
  auto read = reads->begin();
  (*written)[1].data.zero_();
  CHECK((*written)[1].data.abs().sum().item<float>() == 0.0F);
  for (const std::uint64_t i : {0, 2, 3}) {
    const Example<>& sample = (*written)[i];
    CHECK(see(sample.data.unsqueeze(0), sample.target.unsqueeze(0)) == expected(i, 1));
  }
  CHECK(see(*read) == expected(0, 4));
}

TEST_CASE("One sample of a batch that is kept keeps the batch's place", "[loader]") {
  const ServedStream stream;
  const auto loader = make_shared_data_loader<std::vector<Example<>>>(stream.options(), 4);
  Example<> kept;
  for (auto& batch : *loader) {
    if (!kept.data.defined()) kept = batch[2];
  }
  CHECK(loader->stats().leases_held == 1);
  CHECK(see(kept.data.unsqueeze(0), kept.target.unsqueeze(0)) == expected(2, 1));
  kept = {};
  CHECK(loader->stats().leases_held == 0);
}

TEST_CASE("A batch can be of a type of one's own", "[loader]") {
  const ServedStream stream;
  const auto own = make_shared_data_loader<OwnBatch>(stream.options(), 4);
  std::vector<std::uint64_t> positions;
  for (auto& batch : *own) {
    positions.push_back(batch.position);
    CHECK(batch.image.size(1) == 1);
  }
  CHECK(positions == std::vector<std::uint64_t>{0, 4, 8});
  const auto strange = make_shared_data_loader<Stranger>(stream.options(), 4);
  auto it = strange->begin();
  CHECK(it->largest_label == 3);
  CHECK(it->scaled[2][0][0][0].item<float>() == 0.5F);
}

TEST_CASE("Data and target are the fields that were named", "[loader]") {
  const ServedStream stream;
  const auto swapped =
      make_shared_data_loader(stream.options(), 4, {.data = "label", .target = "image"});
  auto it = swapped->begin();
  CHECK(see(it->target, it->data) == expected(0, 4));
  const auto ids = make_shared_data_loader(stream.options(), 4, {.target = "sample_id"});
  CHECK(ids->begin()->target.equal(torch::arange(4)));
}

TEST_CASE("Private copies can be written to, whichever libtorch", "[loader]") {
  const ServedStream stream;
  ConsumerOptions options = stream.options();
  options.access = Access::private_copy;
  const auto writes = make_shared_data_loader(options, 4);
  const auto reads = make_shared_data_loader(stream.options(), 4);
  auto written = writes->begin();
  auto read = reads->begin();
  written->data.sub_(1).div_(2);
  CHECK(written->data[1][0][0][0].item<float>() == 0.0F);
  CHECK(see(*read) == expected(0, 4));
}

}  // namespace
}  // namespace batchcast::testing
