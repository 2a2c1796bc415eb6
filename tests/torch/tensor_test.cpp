// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "catch.hpp"

#include <batchcast/torch.hpp>

#include <torch/torch.h>

#include "filled_stream.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace batchcast {
namespace {

using testing::FilledStream;

TEST_CASE("A tensor shows a field's dtype, shape and bytes, over the batch's own memory") {
  const Schema schema = {{"u8", DType::u8, {3, 4}},  {"i8", DType::i8, {5}},
                         {"i16", DType::i16, {2}},   {"i32", DType::i32, {2, 1, 3}},
                         {"i64", DType::i64, {}},    {"f16", DType::f16, {4}},
                         {"bf16", DType::bf16, {4}}, {"f32", DType::f32, {1, 2, 3}},
                         {"f64", DType::f64, {2}},   {"bool", DType::boolean, {8}}};
  const std::vector<at::ScalarType> types = {at::kByte,   at::kChar, at::kShort,    at::kInt,
                                             at::kLong,   at::kHalf, at::kBFloat16, at::kFloat,
                                             at::kDouble, at::kBool};
  FilledStream stream(schema, 32);
  Consumer consumer = stream.consumer(7);
  const Batch batch = *consumer.next();
  for (std::size_t field = 0; field < schema.size(); ++field) {
    INFO(schema[field].name);
    const at::Tensor tensor = tensor_of(batch, schema[field].name);
    CHECK(tensor.scalar_type() == types[field]);
    std::vector<std::int64_t> sizes = {7};
    sizes.insert(sizes.end(), schema[field].shape.begin(), schema[field].shape.end());
    CHECK(tensor.sizes() == at::IntArrayRef(sizes));
    CHECK(tensor.is_contiguous());
    CHECK(tensor.device().is_cpu());
    const auto view = batch.field<std::byte>(field);
    CHECK(testing::address_of(tensor) == view.data());
    CHECK(tensor.nbytes() == view.span().size());
  }
  const at::Tensor ids = tensor_of(batch, "sample_id");
  REQUIRE(ids.scalar_type() == at::kLong);
  for (std::int64_t i = 0; i < 7; ++i) CHECK(ids[i].item<std::int64_t>() == i);
}

TEST_CASE("A field without a torch twin, and a wrong name, are refused by name") {
  FilledStream stream({{"tokens", DType::u16, {4}}, {"label", DType::i64, {}}}, 8);
  Consumer consumer = stream.consumer(4);
  const Batch batch = *consumer.next();
  CHECK_THROWS_WITH(tensor_of(batch, "tokens"), Catch::Contains("`tokens` is u16") &&
                                                    Catch::Contains("stage `to`") &&
                                                    Catch::Contains("saved as i32"));
  CHECK_THROWS_AS(tensor_of(batch, "tokens"), InvalidArgument);
  CHECK_THROWS_WITH(tensor_of(batch, "lable"), Catch::Contains("no field `lable`"));
}

TEST_CASE("Samples that the ring lays apart make tensors of the right values") {
  FilledStream stream({{"odd", DType::u8, {10007}}}, 24, 1 << 20);
  ConsumerOptions options = stream.options(5);
  const bool copies = GENERATE(false, true);  // copies lie together
  if (copies) options.access = Access::private_copy;
  Consumer consumer(options);
  for (int round = 0; round < 4; ++round) {
    const Batch batch = *consumer.next();
    const auto view = batch.field<std::uint8_t>("odd");
    REQUIRE(view.padded() != copies);
    const at::Tensor tensor = tensor_of(batch, "odd");
    CHECK(tensor.is_contiguous() == copies);
    const at::Tensor packed = tensor.contiguous();
    for (std::size_t i = 0; i < view.size(); ++i) {
      const auto* const row = packed[static_cast<std::int64_t>(i)].data_ptr<std::uint8_t>();
      CHECK(std::equal(view[i].begin(), view[i].end(), row));
    }
  }
}

TEST_CASE("The lease is held until the last view is gone, in any order, and whoever is gone") {
  auto stream = std::make_unique<FilledStream>(testing::image_schema(), 64);
  auto consumer = std::make_unique<Consumer>(stream->consumer(16));
  at::Tensor row;
  std::vector<float> expected;
  {
    const Batch batch = *consumer->next();
    const auto seventh = batch.field<float>("image")[7];
    expected.assign(seventh.begin(), seventh.end());
    row = tensor_of(batch, "image")[7];
  }
  CHECK(consumer->stats().leases_held == 1);
  { const Batch second = *consumer->next(); }
  CHECK(consumer->stats().leases_held == 1);

  SECTION("until its last view goes") {
    row = at::Tensor();
    CHECK(consumer->stats().leases_held == 0);
  }
  SECTION("on another thread") {
    std::thread([last = std::move(row)]() mutable { last = at::Tensor(); }).join();
    CHECK(consumer->stats().leases_held == 0);
  }
  SECTION("also when consumer and producer are gone") {
    consumer.reset();
    stream.reset();
    const at::Tensor copy = row.contiguous();
    CHECK(std::equal(expected.begin(), expected.end(), copy.view({-1}).data_ptr<float>()));
  }
}

TEST_CASE("What autograd saves keeps the lease, and backward is right after the batch is gone") {
  FilledStream stream(testing::image_schema(), 64);
  Consumer consumer = stream.consumer(16);
  at::Tensor weight = torch::ones({4, testing::image_elements}, torch::requires_grad());
  at::Tensor loss;
  at::Tensor expected;
  {
    const Batch batch = *consumer.next();
    const at::Tensor input = tensor_of(batch, "image").view({16, -1});
    expected = input.sum(0).expand({4, -1}).clone();
    loss = torch::linear(input, weight).sum();
  }
  { const Batch second = *consumer.next(); }
  CHECK(consumer.stats().leases_held == 1);
  loss.backward();
  loss = at::Tensor();
  CHECK(torch::allclose(weight.grad(), expected));
  CHECK(consumer.stats().leases_held == 0);
}

TEST_CASE("A consumer's own copies make plain tensors that are written in place") {
  FilledStream stream(testing::image_schema(), 64);
  ConsumerOptions options = stream.options(16);
  options.access = Access::private_copy;
  Consumer own(options);
  Consumer other = stream.consumer(16);
  const Batch mine = *own.next();
  const Batch theirs = *other.next();
  at::Tensor tensor = tensor_of(mine, "image");
  const void* const place = testing::address_of(tensor);
  tensor.sub_(3).div_(2);
  CHECK(testing::address_of(tensor) == place);
  CHECK(torch::allclose(tensor, (tensor_of(theirs, "image") - 3) / 2));
}

}  // namespace
}  // namespace batchcast
