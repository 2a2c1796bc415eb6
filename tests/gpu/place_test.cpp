// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "../cuda/fake.hpp"
#include "../temporary_folder.hpp"

#include <batchcast/batchcast.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <thread>

using namespace batchcast;
using namespace batchcast::testing;
using Catch::Contains;

// What a GPU means for the host ring of a stream that is served on it.
namespace {

constexpr std::int64_t sample_bytes = 3'000;

ProducerOptions served_on(const Placement& place, const std::string& directory) {
  ProducerOptions options;
  options.stream = "s";
  options.schema = {{"x", DType::u8, {sample_bytes}}, {"y", DType::i64, {}}};
  options.memory = 16 << 20;
  options.places = {place};
  options.device_memory = 1 << 20;
  options.linger_ms = 0;
  options.directory = directory;
  options.log = [](LogLevel, std::string_view) {};
  return options;
}

std::uint64_t stride_on(Producer& producer, Placement placement) {
  ConsumerOptions options;
  options.stream = "s";
  options.batch_size = 8;
  options.directory = producer.directory();
  options.placement = placement;
  options.join = Join::now;  // no epoch ends here, and the one before left this one
  Consumer consumer(options);
  NextBatch next;
  while (next.outcome != Outcome::batch) {  // space may come back only now
    while (auto loan = producer.try_loan(8, 0)) loan->publish();
    next = consumer.try_next(10);
  }
  const Batch* batch = &next.batch;
  return placement.is_host() ? batch->field<std::uint8_t>("x").sample_stride_bytes()
                             : batch->device_field<std::uint8_t>("x").sample_stride_bytes();
}

}  // namespace

TEST_CASE(
    "the host ring's samples lie as far apart as the GPU's, so that runs of them are one copy",
    "[gpu][fake]") {
  const FakeSettings fake("granularity=64K delay_us=0");
  const TemporaryFolder folder;
  {
    ProducerOptions alone = served_on("cuda:0", folder.path());
    alone.places.clear();
    Producer producer(alone);
    CHECK(stride_on(producer, "host") == sample_bytes);
  }
  Producer producer(served_on("cuda:0", folder.path()));
  const std::uint64_t rows = batchcast_fake_cuda_count().row_copies;
  const std::uint64_t on_gpu = stride_on(producer, "cuda:0");
  CHECK(on_gpu > sample_bytes);
  CHECK(stride_on(producer, "host") == on_gpu);
  CHECK(batchcast_fake_cuda_count().row_copies == rows);
}

TEST_CASE("a place that cannot be is refused before memory is taken for the host ring",
          "[gpu][fake]") {
  const TemporaryFolder folder;
  const auto serve = [&](const Placement& place, const char* settings) {
    const FakeSettings fake(settings);
    ProducerOptions options = served_on(place, folder.path());
    options.memory = std::uint64_t{1} << 45;  // too much
    Producer{options};
  };
  SECTION("no such GPU") { CHECK_THROWS_AS(serve("cuda:5", "granularity=64K"), GpuUnavailable); }
  SECTION("too little memory there") {
    CHECK_THROWS_WITH(serve("cuda:0", "granularity=64K memory=512K"),
                      Contains("the ring on cuda:0"));
  }
  SECTION("memory that cannot be shared") {
    CHECK_THROWS_AS(serve("cuda:0", "granularity=64K export=0 mig=1"), GpuUnavailable);
  }
  SECTION("a GPU without a number") {
    const FakeSettings fake("");
    CHECK_THROWS_AS(Producer(served_on("cuda", folder.path())), InvalidArgument);
  }
}
