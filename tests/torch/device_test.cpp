// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Tensors over batches on a GPU, without one: libtorch is given GPUs whose memory is the host's,
// and batches of the host are told that they are there.
#include "catch.hpp"

#include <batchcast/torch.hpp>

#include <torch/torch.h>

#include "fake_torch_cuda.hpp"
#include "filled_stream.hpp"

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace batchcast {
namespace {

using testing::address_of;
using testing::fake_gpus;
using testing::FakeTorchCuda;
using testing::FilledStream;
using testing::OnGpu;

constexpr bool tensors_show_batches = BATCHCAST_TORCH_HAS_COW != 0;
constexpr const char* gpu = "cuda:1";
constexpr c10::DeviceIndex gpu_index = 1;

/// Tests with a libtorch that has GPUs of its own are those of tests/gpu.
bool there_are_real_ones() {
  if (FakeTorchCuda::possible()) return false;
  WARN("this libtorch has CUDA: nothing tested");
  return true;
}

/// A write as a kernel's; returns where it went.
std::byte* write_zeros(const at::Tensor& tensor) {
  auto* const data = static_cast<std::byte*>(tensor.data_ptr());
  std::memset(data, 0, tensor.nbytes());
  return data;
}

TEST_CASE("Without CUDA in libtorch a batch on a GPU is refused, with what to do") {
  if (there_are_real_ones()) return;
  FilledStream stream(testing::image_schema(), 64);
  const Batch batch = *stream.consumer(16).next();
  const OnGpu on_gpu(batch.fields(), gpu);
  CHECK_THROWS_AS(tensor_of(on_gpu(batch), "image"), GpuUnavailable);
  CHECK_THROWS_WITH(tensor_of(on_gpu(batch), "image"),
                    Catch::Contains("cuda:1") && Catch::Contains("libtorch_cuda.so"));
  CHECK(tensor_of(on_gpu(batch), "sample_id").device().is_cpu());

  ConsumerOptions options = stream.options(16);
  options.placement = gpu;
  CHECK_THROWS_AS(make_shared_data_loader(options), GpuUnavailable);
}

TEST_CASE("A GPU that libtorch does not see is refused by name") {
  if (there_are_real_ones()) return;
  const FakeTorchCuda cuda;
  FilledStream stream(testing::image_schema(), 64);
  const Batch batch = *stream.consumer(16).next();
  const OnGpu on_gpu(batch.fields(), "cuda:2");
  CHECK_THROWS_WITH(tensor_of(on_gpu(batch), "image"),
                    Catch::Contains("cuda:2") && Catch::Contains("sees 2 GPUs"));
}

TEST_CASE("The GPU that is current in libtorch is the one that `cuda` means") {
  if (there_are_real_ones()) return;
  const FakeTorchCuda cuda;
  fake_gpus().device = 1;
  CHECK(detail::settled_by_torch("cuda") == Placement("cuda:1"));
  CHECK(detail::settled_by_torch("cuda:0") == Placement("cuda:0"));
  CHECK(detail::settled_by_torch("host") == Placement());
}

TEST_CASE("A tensor on a GPU has the field's dtype, shape and bytes, and its device's index") {
  if (there_are_real_ones()) return;
  const FakeTorchCuda cuda;
  FilledStream stream({{"f32", DType::f32, {1, 2, 3}},
                       {"odd", DType::u8, {10007}},  // the ring lays these apart
                       {"i16", DType::i16, {4}},
                       {"label", DType::i64, {}}},
                      32);
  Consumer consumer = stream.consumer(7);
  const Batch batch = *consumer.next();
  const OnGpu on_gpu(batch.fields(), gpu, "label");
  const Batch moved = on_gpu(batch);
  for (const char* const field : {"f32", "odd", "i16"}) {
    INFO(field);
    const at::Tensor there = tensor_of(moved, field);
    const at::Tensor here = tensor_of(batch, field);
    CHECK(there.device() == c10::Device(c10::kCUDA, gpu_index));
    CHECK(there.key_set().has_backend(c10::BackendComponent::CUDABit));
    CHECK_FALSE(there.key_set().has_backend(c10::BackendComponent::CPUBit));
    CHECK(there.scalar_type() == here.scalar_type());
    CHECK(there.sizes() == here.sizes());
    CHECK(torch::equal(testing::on_host(there), here));
    CHECK((there.storage().data() == here.storage().data()) == tensors_show_batches);
    if (tensors_show_batches) CHECK(there.strides() == here.strides());
  }
  CHECK(tensor_of(moved, "label").device().is_cpu());
  CHECK(tensor_of(moved, "sample_id").device().is_cpu());
}

TEST_CASE("A tensor on a GPU holds the lease until its last view goes, on whatever thread") {
  if (there_are_real_ones()) return;
  const FakeTorchCuda cuda;
  FilledStream stream(testing::image_schema(), 64);
  Consumer consumer = stream.consumer(16);
  std::vector<at::Tensor> samples;
  {
    const Batch batch = *consumer.next();
    const OnGpu on_gpu(batch.fields(), gpu);
    const BatchMaker<std::vector<at::Tensor>> make(on_gpu.fields(), {});
    samples = make(on_gpu(batch));
    REQUIRE(samples.size() == 16);
    CHECK(samples[5].device() == c10::Device(c10::kCUDA, gpu_index));
    CHECK(torch::equal(testing::on_host(samples[5]), tensor_of(batch, "image")[5]));
  }
  samples.resize(1);
  CHECK(consumer.stats().leases_held == (tensors_show_batches ? 1 : 0));
  if (GENERATE(false, true)) write_zeros(samples[0]);
  std::thread([last = std::move(samples)]() mutable { last.clear(); }).join();
  CHECK(consumer.stats().leases_held == 0);
}

TEST_CASE("Consumers on a GPU with memory of their own write in place") {
  if (there_are_real_ones()) return;
  const FakeTorchCuda cuda;
  FilledStream stream(testing::image_schema(), 64);
  ConsumerOptions options = stream.options(16);
  options.access = Access::private_copy;
  Consumer consumer(options);
  const Batch batch = *consumer.next();
  const OnGpu on_gpu(batch.fields(), gpu);
  const at::Tensor tensor = tensor_of(on_gpu(batch), "image");
  const auto* const place = batch.field<std::byte>("image").data();
  CHECK(write_zeros(tensor) == place);
  CHECK(fake_gpus().copies.empty());
}

TEST_CASE("Streams are told by the handle that CUDA knows them by") {
  if (there_are_real_ones()) return;
  const FakeTorchCuda cuda;
  const auto current = [] { return detail::current_stream_on(gpu); };
  fake_gpus().stream = 7;
#if TORCH_VERSION_MAJOR >= 2
  CHECK(current() == reinterpret_cast<void*>(0x1007));
  fake_gpus().stream = 0;
  CHECK(current() == reinterpret_cast<void*>(0x1000));
#else
  CHECK_THROWS_WITH(current(), Catch::Contains("libc10_cuda.so"));
  fake_gpus().stream = 0;
  CHECK(current() == nullptr);
#endif
}

#if BATCHCAST_TORCH_HAS_COW

TEST_CASE("A write on a GPU copies once, on the current stream, in torch's memory of that GPU") {
  if (there_are_real_ones()) return;
  REQUIRE(detail::copies_on_write_on_gpus());
  const FakeTorchCuda cuda;
  FilledStream stream(testing::image_schema(), 64);
  Consumer consumer = stream.consumer(16);
  at::Tensor before;
  {
    const Batch batch = *consumer.next();
    before = tensor_of(batch, "image").clone();
    const OnGpu on_gpu(batch.fields(), gpu);
    const at::Tensor tensor = tensor_of(on_gpu(batch), "image");
    fake_gpus().stream = 3;
    const auto* const copy = write_zeros(tensor);
    CHECK(copy != batch.field<std::byte>("image").data());
    CHECK(write_zeros(tensor) == copy);
    CHECK(torch::equal(tensor_of(batch, "image"), before));
    CHECK(torch::equal(testing::on_host(tensor), torch::zeros_like(before)));
    CHECK(fake_gpus().allocations == std::vector<c10::DeviceIndex>{gpu_index});
    CHECK(fake_gpus().device == 0);
    REQUIRE(fake_gpus().copies.size() == 1);
    CHECK(fake_gpus().copies[0].device == gpu_index);
    CHECK(fake_gpus().copies[0].stream == 3);
    CHECK(fake_gpus().copies[0].bytes == before.nbytes());
  }
  CHECK(consumer.stats().leases_held == 0);
  Consumer other = stream.consumer(16);
  CHECK(torch::equal(tensor_of(*other.next(), "image"), before));
}

TEST_CASE("What is written over a batch's tensor on a GPU is what it then holds") {
  if (there_are_real_ones()) return;
  const FakeTorchCuda cuda;
  FilledStream stream(testing::image_schema(), 64);
  const Batch batch = *stream.consumer(16).next();
  const OnGpu on_gpu(batch.fields(), gpu);
  const at::Tensor before = tensor_of(batch, "image").clone();
  const at::Tensor tensor = tensor_of(on_gpu(batch), "image");
  const at::Tensor another = tensor_of(on_gpu(batch), "image");
  const at::Tensor clone = tensor.clone();
  CHECK(address_of(tensor) == batch.field<std::byte>("image").data());  // cloning reads
  write_zeros(clone);
  tensor.copy_(clone);
  CHECK(torch::equal(testing::on_host(tensor), torch::zeros_like(before)));
  CHECK(torch::equal(testing::on_host(another), before));
}

TEST_CASE("use_on finds the batch below a tensor, and hands others to torch's record_stream") {
  if (there_are_real_ones()) return;
  const FakeTorchCuda cuda;
  FilledStream stream(testing::image_schema(), 64);
  const Batch batch = *stream.consumer(16).next();
  const OnGpu on_gpu(batch.fields(), gpu);
  const c10::Stream side(c10::Stream::UNSAFE, c10::Device(c10::kCUDA, gpu_index), 5);
  const at::Tensor tensor = tensor_of(on_gpu(batch), "image");
  const Batch* const below = detail::batch_under(tensor.storage());
  REQUIRE(below != nullptr);
  CHECK(below->position() == batch.position());
  use_on(tensor, side);
  CHECK(fake_gpus().recorded_streams.empty());

  SECTION("once it is written both know") {
    write_zeros(tensor);
    CHECK(detail::batch_under(tensor.storage()) == below);
    use_on(tensor, side);
    CHECK(fake_gpus().recorded_streams == std::vector<c10::StreamId>{5});
  }
  SECTION("a tensor of torch's own") {
    const at::Tensor clone = tensor.clone();
    CHECK(detail::batch_under(clone.storage()) == nullptr);
    use_on(clone, side);
    CHECK(fake_gpus().recorded_streams == std::vector<c10::StreamId>{5});
  }
}

#endif

}  // namespace
}  // namespace batchcast
