// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/device_ring_layout.hpp"
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
  cuda::DeviceInfo device;
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
