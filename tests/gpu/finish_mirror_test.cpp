// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/consumer/host_copy.hpp>
#include "catch.hpp"
#include "finish_support.hpp"

#include <batchcast/consumer.hpp>
#include <batchcast/feeder.hpp>
#include <batchcast/finish_stage.hpp>

#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

// The device stage that finishes images, in a stream that is served on a GPU and in host memory.
namespace batchcast::test {
namespace {

constexpr std::uint64_t samples = 50;
constexpr std::uint64_t epochs = 7;

/// What is wrong with the batch, which lies in host memory; empty if nothing is.
std::string fault_of(const Batch& batch, const Pipeline& pipeline) {
  const Range range{batch.epoch(), batch.position() - batch.epoch() * samples, batch.size()};
  const Made expected = make(pipeline, range);
  for (std::size_t f = 0; f < pipeline.schema().size(); ++f) {
    const FieldSpec& spec = pipeline.schema()[f];
    const auto view = batch.field<std::byte>(spec.name);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::byte* sample = expected.fields[f].data() + i * spec.byte_count();
      if (std::memcmp(view[i].data(), sample, spec.byte_count()) != 0) {
        return spec.name + " of position " + std::to_string(batch.position() + i);
      }
    }
  }
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (batch.sample_ids()[i] != expected.ids[i]) return "an id";
  }
  return {};
}

struct Read {
  std::uint64_t samples = 0;
  std::string fault;
  std::string recipe_json;
  std::string identity;
  bool pure = false;
  Schema schema;
};

Read read_all(const ConsumerOptions& options, const Pipeline& pipeline) {
  Read read;
  try {
    Consumer consumer(options);
    read.recipe_json = consumer.recipe_json();
    read.identity = consumer.identity();
    read.pure = consumer.pure();
    read.schema = consumer.schema();
    do {
      for (const Batch& batch : consumer) {
        const std::string fault = options.placement.is_host()
                                      ? fault_of(batch, pipeline)
                                      : fault_of(detail::copy_to_host(batch), pipeline);
        if (read.fault.empty()) read.fault = fault;
        read.samples += batch.size();
      }
    } while (consumer.has_next_epoch());
  } catch (const StreamFinished&) {
  } catch (const std::exception& error) {
    read.fault = error.what();
  }
  return read;
}

}  // namespace

TEST_CASE("Finish: trainers on a GPU get the whole recipe, those in host memory u8 pixels",
          "[gpu][finish]") {
  if (!has_kernel()) return;
  const auto options =
      images(samples, {70, 66, 3},
             R"({ stage = "random_crop", size = [64, 64] }, { stage = "horizontal_flip" },)" +
                 to_stage("f16", true) +
                 R"({ stage = "normalize", mean = [0.5, 0.4, 0.3], std = [0.2, 0.3, 0.25] })");
  const FinishOnGpu divided = finish_on_gpu(options);
  const Pipeline whole(options);
  const Pipeline host(divided.host);
  std::string directory = std::filesystem::temp_directory_path() / "batchcast-finish-XXXXXX";
  REQUIRE(::mkdtemp(directory.data()) != nullptr);

  ProducerOptions serving = producer_options(host, "s");
  serving.directory = directory;
  // Both rings wrap: a GPU gives memory in pieces of 2 MiB, which 256 images are the first to fill.
  serving.memory = 1 << 20;
  serving.places = {"cuda:0"};
  serving.device_memory = 8 << 20;
  serving.device_stage = divided.stage;
  serving.epochs = epochs;
  serving.wait_for = 2;
  Read on_gpu;
  Read on_host;
  {
    Producer producer(serving);
    Feeder feeder(producer, host, {.workers = 2});
    const auto consumer = [&](Placement placement, std::uint64_t batch_size) {
      ConsumerOptions asked;
      asked.stream = "s";
      asked.directory = directory;
      asked.placement = placement;
      asked.batch_size = batch_size;
      return asked;
    };
    std::thread other([&] { on_host = read_all(consumer("host", 5), host); });
    on_gpu = read_all(consumer("cuda:0", 7), whole);
    other.join();
    CHECK(producer.finish(10'000));
  }
  std::filesystem::remove_all(directory);

  CHECK(on_gpu.fault == "");
  CHECK(on_gpu.samples == epochs * samples);
  CHECK(on_gpu.schema[1] == FieldSpec{"image", DType::f16, {3, 64, 64}});
  CHECK(on_gpu.recipe_json == whole.recipe_json());
  CHECK(on_gpu.identity == whole.identity().to_hex());
  CHECK(on_gpu.pure);
  CHECK(on_host.fault == "");
  CHECK(on_host.samples == epochs * samples);
  CHECK(on_host.schema[1] == FieldSpec{"image", DType::u8, {64, 64, 3}});
  CHECK(on_host.recipe_json == host.recipe_json());
  CHECK(on_host.identity == host.identity().to_hex());
}

}  // namespace batchcast::test
