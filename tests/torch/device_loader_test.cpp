// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Loaders over a ring on a GPU, and over a pinned one: the driver is the tests' own, and libtorch
// is given GPUs.
#include "catch.hpp"

#include <batchcast/torch.hpp>

#include <torch/torch.h>

#include "fake_torch_cuda.hpp"
#include "filled_stream.hpp"
#include "gpu/consumer_scene.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace batchcast {
namespace {

using testing::eventually;
using testing::fake_gpus;
using testing::FakeSettings;
using testing::FakeTorchCuda;
using testing::FilledStream;
using testing::HeldStream;

constexpr const char* small_pages = "granularity=4K";
constexpr const char* pins_the_ring = "granularity=4K read_only_register=1";

TEST_CASE("Batches of a pinned ring are on the host, and go back by themselves") {
  if (!FakeTorchCuda::possible()) return;
  // The ring itself, or copies.
  const FakeSettings driver(GENERATE(small_pages, pins_the_ring));
  const FakeTorchCuda cuda;
  fake_gpus().handles = {{0, nullptr}};
  FilledStream stream(testing::image_schema(), 64);
  ConsumerOptions options = stream.options(16);
  options.pin = true;
  SharedDataset<> dataset(options);
  CHECK(dataset.get_batch(16)->data.device().is_cpu());
  int batches = 1;
  while (dataset.get_batch(16)) ++batches;
  CHECK(batches == 4);
  CHECK(eventually([&] { return stream.producer().stats().consumers.at(0).lag == 0; }));
}

#if BATCHCAST_TORCH_HAS_COW  // else tensors are copies, by kernels that these GPUs lack

ConsumerOptions on_the_gpu(const FilledStream& stream) {
  ConsumerOptions options = stream.options(16);
  options.placement = "cuda:0";
  return options;
}

/// A tensor on a GPU as the host sees it.
at::Tensor look_at(const at::Tensor& tensor) {
  const auto address = reinterpret_cast<unsigned long long>(tensor.storage().data());
  return testing::on_host(batchcast_fake_cuda_look(address, tensor.nbytes()), tensor);
}

TEST_CASE("A loader placed on a GPU gives tensors over the ring there") {
  if (!FakeTorchCuda::possible()) return;
  const FakeSettings driver(small_pages);
  const FakeTorchCuda cuda;
  fake_gpus().handles = {{0, nullptr}};  // what the driver does not know is never passed
  FilledStream stream(testing::image_schema(), 64, 1 << 20, {"cuda:0"});
  auto loader = make_shared_data_loader(on_the_gpu(stream));
  auto on_host = make_shared_data_loader(stream.options(16));
  auto expected = on_host->begin();
  int batches = 0;
  for (auto& batch : *loader) {
    REQUIRE(batch.data.device() == c10::Device(c10::kCUDA, 0));
    CHECK(batch.target.is_cuda());
    CHECK(torch::equal(look_at(batch.data), expected->data));
    CHECK(torch::equal(look_at(batch.target), expected->target));
    // That of the last batch is back once its stream has passed the drop.
    CHECK(eventually([&] { return loader->stats().leases_held == 1; }));
    ++batches;
    if (batches < 4) ++expected;
  }
  CHECK(batches == 4);
  CHECK(eventually([&] { return loader->stats().leases_held == 0; }));
  CHECK(fake_gpus().copies.empty());
}

/// One batch of a stream on a GPU, used on the stream 1 in some way. Tells how many leases are
/// held.
struct Use {
  const char* name;
  std::function<std::function<std::uint64_t()>(const FilledStream&)> run;
};

c10::Stream side_stream() {
  return c10::Stream(c10::Stream::UNSAFE, c10::Device(c10::kCUDA, 0), 1);
}

/// `loader` is asked while stream 1 is current, and what it gave is dropped while it is not.
template <class Loader>
std::function<std::uint64_t()> asked_on_side_stream(std::shared_ptr<Loader> loader) {
  fake_gpus().stream = 1;
  {
    auto batch = loader->begin();
    static_cast<void>(batch->data);
    fake_gpus().stream = 0;
  }
  return [loader] { return loader->stats().leases_held; };
}

const std::vector<Use>& uses() {
  static const std::vector<Use> all = {
      {"current when a loader is asked",
       [](const FilledStream& stream) {
         return asked_on_side_stream(std::shared_ptr(
             make_shared_data_loader<torch::data::TensorExample>(on_the_gpu(stream))));
       }},
      {"current when a loader over pinned memory is asked",
       [](const FilledStream& stream) {
         ConsumerOptions options = stream.options(16);
         options.pin = true;
         return asked_on_side_stream(
             std::shared_ptr(make_shared_data_loader<torch::data::TensorExample>(options)));
       }},
      {"current when a tensor is made",
       [](const FilledStream& stream) {
         auto consumer = std::make_shared<Consumer>(on_the_gpu(stream));
         const Batch batch = *consumer->next();
         fake_gpus().stream = 1;
         static_cast<void>(tensor_of(batch, "image"));
         fake_gpus().stream = 0;
         return [consumer] { return consumer->stats().leases_held; };
       }},
      {"current when a tensor is written, which copies it",
       [](const FilledStream& stream) {
         auto consumer = std::make_shared<Consumer>(on_the_gpu(stream));
         const at::Tensor tensor = tensor_of(*consumer->next(), "image");
         fake_gpus().stream = 1;
         static_cast<void>(tensor.data_ptr());
         fake_gpus().stream = 0;
         CHECK(fake_gpus().copies.size() == 1);
         return [consumer] { return consumer->stats().leases_held; };
       }},
      {"named for a tensor",
       [](const FilledStream& stream) {
         auto consumer = std::make_shared<Consumer>(on_the_gpu(stream));
         use_on(tensor_of(*consumer->next(), "image"), side_stream());
         return [consumer] { return consumer->stats().leases_held; };
       }},
  };
  return all;
}

TEST_CASE("A batch's place is kept until torch's stream that uses it has passed") {
  if (!FakeTorchCuda::possible()) return;
  for (const Use& use : uses()) {
    INFO(use.name);
    const FakeSettings driver(pins_the_ring);
    const FakeTorchCuda cuda;
    HeldStream side;
    fake_gpus().handles = {{0, nullptr}, {1, side.handle()}};
    fake_gpus().look = batchcast_fake_cuda_look;
    FilledStream stream(testing::image_schema(), 64, 1 << 20, {"cuda:0"});
    const auto leases_held = use.run(stream);
    CHECK_FALSE(eventually([&] { return leases_held() == 0; }, 50));
    side.release();
    CHECK(eventually([&] { return leases_held() == 0; }));
  }
}

#endif

}  // namespace
}  // namespace batchcast
