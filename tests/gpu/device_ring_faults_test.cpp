// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "device_ring_support.hpp"

#include <batchcast/core/error.hpp>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

template <class Thrown>
std::string refusal_of(const ProducerOptions& options, unsigned device = 0) {
  const std::uint64_t before = used_bytes();
  KnownHostRing host(options);
  try {
    static_cast<void>(host.ring_on(device));
  } catch (const Thrown& error) {
    CHECK(used_bytes() == before);
    CHECK(host.writer->status().consumers.empty());
    return error.what();
  }
  return "no refusal";
}

}  // namespace

TEST_CASE("a GPU that fails takes its own ring along, and no other") {
  const char* settings = "";
  const char* reason = "";
  SECTION("a copy is refused") {
    settings = "devices=2 granularity=64K delay_us=50 copy_refused=7";
    reason = "cuMemcpyHtoD";
  }
  SECTION("a copy fails on its way") {
    settings = "devices=2 granularity=64K delay_us=50 copy_fails=7";
    reason = "CUDA_ERROR";
  }
  SECTION("the GPU is lost") {
    settings = "devices=2 granularity=64K delay_us=50 lost_after=7";
    reason = "CUDA_ERROR";
  }
  const FakeGpu fake(settings);
  KnownHostRing host(small_stream(100));
  const auto ring = host.ring_on(0), other = host.ring_on(1);
  auto desk = std::make_shared<Desk>();
  const auto on_host = std::get<Admitted>(host.writer->admit(joining(Join::rewind), desk));
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  Run run;
  std::string told;
  std::uint64_t made = 0;
  while (told.empty()) {
    made += host.produce(10);
    ordered::set_release(desk->released, made);
    try {
      if (trainer.reader->next(10, 0, run) == Next::batch) {
        CHECK(trainer.is_right(run));
        trainer.reader->give_back(run.lease);
      }
    } catch (const StreamFailed& failed) {
      told = failed.what();
    }
  }
  CHECK_THAT(told, Catch::Contains("the mirror on cuda:0 (") && Catch::Contains(reason));
  CHECK_THAT(host.log(), Catch::Contains(reason) && Catch::Contains("host memory go on"));

  // The host ring's consumers go on, and so does the other GPU.
  CHECK(soon([&] { return host.writer->status().consumers.size() == 2; }));
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t some = host.produce(host.plan.capacity);
    REQUIRE(some != 0);
    made += some;
    ordered::set_release(desk->released, made);
  }
  DeviceTrainer late(*ring, joining(Join::rewind));
  REQUIRE(late.refused);
  CHECK(late.refused->reason == NotAdmitted::Reason::failed);
  CHECK_THAT(late.refused->text, Catch::Contains("cuda:0"));
  trainer.leave();
  CHECK(ring->wait_drained(0));
  if (std::string(settings).find("copy_refused") == std::string::npos) return;
  DeviceTrainer elsewhere(*other, joining(Join::now));
  const std::uint64_t at = elsewhere.admitted.position;
  while (host.writer->status().published < at + 5) {
    made += host.produce(5);
    ordered::set_release(desk->released, made);
  }
  CHECK(elsewhere.take(5) == at);
}

TEST_CASE("a GPU without virtual memory, or that exports none of it, shares its ring by CUDA IPC") {
  const char* settings = "";
  SECTION("none") { settings = "vmm=0"; }
  SECTION("no export") { settings = "export=0 granularity=64K"; }
  const FakeGpu fake(settings);
  ProducerOptions options = small_stream(100);
  options.memory = 4 << 20;
  KnownHostRing host(options);
  const auto ring = host.ring_on(0);
  CHECK_THAT(host.log(), Catch::Contains("CUDA IPC"));
  Welcome welcome;
  std::vector<int> descriptors;
  ring->offer(welcome, descriptors);
  CHECK(welcome.segment_kinds ==
        std::vector{SegmentKind::cuda_ipc, SegmentKind::cuda_ipc, SegmentKind::memfd});
  CHECK(welcome.segment_handles[0].size() == 128);
  CHECK(welcome.segment_handles[0] != welcome.segment_handles[1]);
  CHECK(welcome.segment_handles[2].empty());
  CHECK(descriptors.size() == 1);
}

TEST_CASE("what cannot be served on a GPU is refused, with the reason") {
  SECTION("memory that cannot be shared") {
    const FakeGpu fake("mig=1 export=0");
    ProducerOptions options = small_stream(10);
    options.device_memory = 8 << 20;
    CHECK_THAT(refusal_of<GpuUnavailable>(options),
               Catch::Contains("exports no file descriptors") && Catch::Contains("MIG"));
  }
  SECTION("a number that there is not") {
    const FakeGpu fake("devices=1");
    CHECK_THAT(refusal_of<GpuUnavailable>(small_stream(10), 3), Catch::Contains("cuda:3"));
  }
  SECTION("no driver's devices") {
    const FakeGpu fake("devices=0");
    CHECK_FALSE(refusal_of<GpuUnavailable>(small_stream(10)) == "no refusal");
  }
  SECTION("more than is free") {
    const FakeGpu fake("memory=16M");
    ProducerOptions options = small_stream(10);
    options.device_memory = 64 << 20;
    CHECK_THAT(refusal_of<OutOfMemory>(options), Catch::Contains("--device-memory") &&
                                                     Catch::Contains("cuda:0") &&
                                                     Catch::Contains("16.0 MiB"));
  }
  SECTION("an allocation that fails") {
    const FakeGpu fake("granularity=64K alloc_fails=2");
    CHECK_FALSE(refusal_of<OutOfMemory>(small_stream(10)) == "no refusal");
  }
  SECTION("less than a sample") {
    const FakeGpu fake("granularity=2M");
    ProducerOptions options = small_stream(10);
    options.device_memory = 3 << 20;
    CHECK_THAT(refusal_of<InvalidArgument>(options),
               Catch::Contains("4.0 MiB on cuda:0") && Catch::Contains("--device-memory"));
  }
  SECTION("nothing that would lie there, or a field that there is not") {
    const FakeGpu fake("granularity=64K");
    ProducerOptions options = small_stream(10);
    options.host_fields = {"image", "label"};
    CHECK_THAT(refusal_of<InvalidArgument>(options), Catch::Contains("every field"));
    options.host_fields = {"picture"};
    CHECK_THAT(refusal_of<InvalidArgument>(options), Catch::Contains("`picture`"));
  }
}

TEST_CASE("a host ring that cannot be page-locked is copied all the same, and the log says so") {
  const FakeGpu fake("granularity=64K register_fails=1");
  KnownHostRing host(small_stream(1000));
  const auto ring = host.ring_on(0);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  host.fill();
  CHECK(trainer.take(100) == 0);
  CHECK_THAT(host.log(), Catch::Contains("could not be page-locked"));
  CHECK(batchcast_fake_cuda_count().registered_pieces == 0);
}

TEST_CASE("copies end where page-locked pieces do") {
  const FakeGpu fake("delay_us=0");
  ProducerOptions options;
  options.stream = "s";
  options.memory = std::uint64_t{80} << 20;
  options.samples_per_epoch = 1000;
  SECTION("samples that lie close together") { options.schema = {{"x", DType::u8, {3 << 20}}}; }
  SECTION("samples that lie apart, and differently on the GPU") {
    options.schema = {{"x", DType::u8, {(3 << 20) - 4099}}};
  }
  KnownHostRing host(options);
  const auto ring = host.ring_on(0);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  if (batchcast_fake_cuda_is_fake()) {
    CHECK(soon([&] { return counted().registered_pieces != 0; }));
  }
  const std::uint64_t pageable = counted().pageable_copies;
  const std::uint64_t samples = std::min(ring->capacity(), host.plan.capacity);
  Ticket ticket;
  for (std::uint64_t p = 0; p < samples; p += ticket.size) {
    REQUIRE(host.writer->claim(samples - p, 0, ticket) == Claim::granted);
    // A few bytes of each: making all of them would take longer than the test may.
    for (std::uint64_t i = p; i < p + ticket.size; ++i) {
      for (std::uint64_t at = 0; at < host.windows[0].sample_bytes; at += 4096) {
        host.windows[0].at(i)[at] = byte_of(0, i, at);
      }
    }
    host.writer->publish(ticket, {});
  }
  REQUIRE(soon([&] { return trainer.published() == samples; }));
  for (std::uint64_t p = 0; p < samples; ++p) {
    const auto sample = trainer.bytes(0, p);
    bool right = true;
    for (std::uint64_t at = 0; at < sample.size(); at += 4096) {
      right = right && sample[at] == byte_of(0, p, at);
    }
    CHECK(right);
  }
  CHECK(counted().pageable_copies == pageable);
}
