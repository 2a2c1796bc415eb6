// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "device_ring_support.hpp"

#include <batchcast/core/error.hpp>

#include <batchcast/cuda/driver.hpp>
#include <batchcast/cuda/stream.hpp>

#include <atomic>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// Makes a field that holds each image twice, the second time after the first.
class Twice final : public DeviceStage {
 public:
  mutable std::atomic<std::size_t> samples_max{0}, runs_max{0};
  mutable std::atomic<int> ended_in_context{0}, ended{0};
  std::atomic<int> fails_at{0};

  [[nodiscard]] DevicePlan plan(const Schema& host) const override {
    if (host[0].name != "image") throw InvalidArgument("no image");
    DevicePlan plan;
    plan.fields = {{host[1], 1}, {{"twice", DType::u8, {2, 16, 16, 4}}, std::nullopt}};
    plan.reads = {0};
    return plan;
  }
  [[nodiscard]] std::string recipe_json(const std::string& host) const override {
    return R"({"twice":)" + host + "}";
  }
  [[nodiscard]] bool pure() const noexcept override { return false; }
  [[nodiscard]] std::unique_ptr<DeviceProgram> prepare(const Schema&, std::uint64_t samples,
                                                       std::size_t runs) const override {
    samples_max = samples;
    runs_max = runs;
    return std::make_unique<Program>(*this);
  }

 private:
  struct Program final : DeviceProgram {
    explicit Program(const Twice& of) : stage(of), device(detail::cuda::Device::open(0)) {}
    ~Program() override {
      detail::cuda::CUcontext current = nullptr;
      device->driver().ctx_get_current(&current);
      ++stage.ended;
      if (current != nullptr && current == device->context()) ++stage.ended_in_context;
    }
    void enqueue(const DeviceRun& run) override {
      if (run.epoch + 1 == static_cast<std::uint64_t>(stage.fails_at)) {
        throw GpuError("the stage's kernel");
      }
      // Catch is not for several threads at a time.
      if (run.size > stage.samples_max || run.sample_ids.size() != run.size ||
          run.sample_ids[0] != id_of(run.position)) {
        throw GpuError("a run that is none");
      }
      for (std::uint64_t i = 0; i < run.size; ++i) {
        for (std::uint64_t half = 0; half < 2; ++half) {
          detail::cuda::copy_on_device(*device, run.stream,
                                       run.out[0].data + i * run.out[0].stride_bytes + half * 1024,
                                       run.in[0].data + i * run.in[0].stride_bytes, 1024);
        }
      }
    }
    const Twice& stage;
    std::shared_ptr<detail::cuda::Device> device;
  };
};

bool is_twice(const DeviceTrainer& trainer, const Run& run) {
  for (std::uint64_t p = run.position; p < run.position + run.size; ++p) {
    const auto label = trainer.bytes(0, p), twice = trainer.bytes(1, p);
    for (std::uint64_t i = 0; i < 8; ++i) {
      if (label[i] != byte_of(1, p, i)) return false;
    }
    for (std::uint64_t i = 0; i < 2048; ++i) {
      if (twice[i] != byte_of(0, p, i % 1024)) return false;
    }
  }
  return true;
}

ProducerOptions staged(const std::shared_ptr<Twice>& stage) {
  ProducerOptions options = small_stream(100);
  options.device_memory = ring_bytes(512 * 1024, 3);
  options.device_stage = stage;
  options.recipe_json = R"({"a":1})";
  options.pure = true;
  return options;
}

}  // namespace

TEST_CASE("a stage makes fields on the GPU once for all trainers, and others are copied") {
  const FakeGpu fake("granularity=64K delay_us=100");
  const auto stage = std::make_shared<Twice>();
  KnownHostRing host(staged(stage));
  host.ring_on(0).reset();
  CHECK(stage->ended == 1);
  CHECK(stage->ended_in_context == 1);
  const auto ring = host.ring_on(0);
  CHECK(stage->runs_max > 1);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  CHECK(trainer.board().recipe_json() == R"({"twice":{"a":1}})");
  CHECK(trainer.board().head().pure == 0);
  CHECK(detail::is_none(trainer.board().head().identity));
  REQUIRE(trainer.schema().size() == 2);
  CHECK(trainer.schema()[1].name == "twice");
  const Producing producing(host, [&] {
    while (host.produce(17, 10'000) != 0) {
    }
  });
  Run run;
  const std::uint64_t batch = std::min<std::uint64_t>(ring->capacity(), 60);
  while (trainer.reader->position() < 3 * host.plan.capacity) {
    if (trainer.reader->next(batch, 10'000, run) == Next::end_of_epoch) continue;
    CHECK(is_twice(trainer, run));
    trainer.reader->give_back(run.lease);
  }
}

TEST_CASE("a stage that fails in the middle fails the ring on that GPU") {
  const FakeGpu fake("granularity=64K delay_us=50");
  const auto stage = std::make_shared<Twice>();
  stage->fails_at = 2;
  KnownHostRing host(staged(stage));
  const auto ring = host.ring_on(0);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  const Producing producing(host, [&] {
    while (host.produce(17, 10'000) != 0) {
    }
  });
  Run run;
  const auto train = [&] {
    for (;;) {
      if (trainer.reader->next(10, 10'000, run) != Next::batch) continue;
      trainer.reader->give_back(run.lease);
    }
  };
  CHECK_THROWS_AS(train(), StreamFailed);
  CHECK_THAT(host.log(), Catch::Contains("the stage's kernel"));
}

TEST_CASE("a field that a stage makes does not stay in host memory") {
  const FakeGpu fake("granularity=64K");
  ProducerOptions options = staged(std::make_shared<Twice>());
  options.host_fields = {"twice"};
  KnownHostRing host(options);
  CHECK_THROWS_AS(host.ring_on(0), InvalidArgument);
  host.options.host_fields = {"label"};
  const auto ring = host.ring_on(0);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  CHECK(trainer.welcome.segment_kinds ==
        std::vector{SegmentKind::memfd, SegmentKind::cuda_fd, SegmentKind::memfd});
  host.fill();
  Run run;
  REQUIRE(trainer.reader->next(20, 10'000, run) == Next::batch);
  CHECK(is_twice(trainer, run));
}
