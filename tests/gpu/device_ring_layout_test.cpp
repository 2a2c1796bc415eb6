// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/ring/device_ring_layout.hpp"
#include "../catch.hpp"

using namespace batchcast;
using namespace batchcast::detail;

namespace {

ProducerOptions images(std::uint64_t memory, std::uint64_t device_memory) {
  ProducerOptions options;
  options.schema = {{"image", DType::f32, {3, 32, 32}}, {"label", DType::i64, {}}};
  options.memory = memory;
  options.device_memory = device_memory;
  return options;
}

std::uint64_t host_bytes(const DeviceRingLayout& layout) {
  std::uint64_t total = 0;
  for (const DeviceRingLayout::Field& field : layout.fields) {
    if (!field.on_device) total += field.plan.segment_bytes();
  }
  return total;
}

}  // namespace

TEST_CASE("fields that stay in host memory take no more of it than the host ring", "[gpu]") {
  constexpr std::uint64_t mebibyte = 1 << 20;
  detail::cuda::DeviceInfo device;
  device.granularity = 2 * mebibyte;
  ProducerOptions options = images(16 * mebibyte, 4 * mebibyte);
  options.host_fields = {"image"};  // else 4 MiB of labels would mean 6 GiB of images
  const DeviceRingLayout layout = plan_device_ring(options, device);
  CHECK(layout.capacity > 1'000);
  CHECK(host_bytes(layout) <= 17 * mebibyte);
  CHECK(layout.device_bytes() == 2 * mebibyte);
  CHECK(layout.fields[1].plan.capacity >= layout.capacity);
  CHECK(layout.host_limits);

  options.host_fields = {"label"};
  options.device_memory = 64 * mebibyte;
  CHECK(plan_device_ring(options, device).capacity >= 64 * mebibyte / (3 * 32 * 32 * 4) - 512);
  CHECK_FALSE(plan_device_ring(options, device).host_limits);
}

TEST_CASE("samples on a GPU lie close where that leaves at least half of the memory", "[gpu]") {
  constexpr std::uint64_t mebibyte = 1 << 20;
  constexpr std::uint64_t image_bytes = 224 * 224 * 3;  // 2,048 of them are whole granules: 294 MiB
  detail::cuda::DeviceInfo device;
  device.granularity = 2 * mebibyte;
  ProducerOptions options;
  options.schema = {{"image", DType::u8, {224, 224, 3}}, {"label", DType::i64, {}}};
  options.memory = 64 * mebibyte;
  for (const std::uint64_t memory : {400, 512, 1024, 2048}) {
    options.device_memory = memory * mebibyte;
    const DeviceRingLayout layout = plan_device_ring(options, device);
    CHECK(layout.fields[0].plan.stride_bytes == image_bytes);
    CHECK(2 * layout.device_bytes() >= options.device_memory);
  }
  options.device_memory = 256 * mebibyte;
  const DeviceRingLayout layout = plan_device_ring(options, device);
  CHECK(layout.fields[0].plan.stride_bytes > image_bytes);
  CHECK(layout.capacity > 1'000);
}

TEST_CASE("samples on a GPU that cannot lie close are as many as fit", "[gpu]") {
  detail::cuda::DeviceInfo device;
  device.granularity = 4096;
  ProducerOptions options;
  options.schema = {{"x", DType::u8, {261}}};  // close: 4,096 of them, a megabyte
  options.memory = 1 << 20;
  options.device_memory = 256 << 10;
  const DeviceRingLayout layout = plan_device_ring(options, device);
  CHECK(layout.capacity * 261 >= options.device_memory * 9 / 10 - 4096);
  for (const std::uint64_t samples : {1, 100, 864, 5'000}) {
    options.device_memory = device_memory_for(layout.on_device(), samples, device.granularity);
    CHECK(plan_device_ring(options, device).capacity >= samples);
    options.device_memory += options.device_memory / 3;
    CHECK(plan_device_ring(options, device).capacity >= samples);
  }
}
