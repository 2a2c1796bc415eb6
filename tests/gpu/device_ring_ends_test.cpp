// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "device_ring_support.hpp"

#include <batchcast/core/error.hpp>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr char small_granules[] = "granularity=64K delay_us=50";

/// What the trainer is told once it has had everything up to `end`.
std::string told_at(DeviceTrainer& trainer, std::uint64_t end) {
  while (trainer.reader->position() < end) {
    trainer.take(std::min<std::uint64_t>(20, end - trainer.reader->position()));
  }
  Run run;
  try {
    while (trainer.reader->next(1, 10'000, run) == Next::end_of_epoch) {
    }
  } catch (const StreamOver& over) {
    return over.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("however the host ring's stream ends, the GPU's ends so, after its last sample") {
  const FakeGpu fake(small_granules);
  KnownHostRing host(small_stream(60, 2));
  auto ring = host.ring_on(0);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  SECTION("stopped") {
    host.produce(50);
    host.writer->stop("somebody had enough");
    CHECK_THAT(told_at(trainer, 50), Catch::Contains("was stopped at position 50: somebody"));
  }
  SECTION("failed") {
    host.produce(50);
    host.writer->fail("no more images");
    CHECK_THAT(told_at(trainer, 50),
               Catch::Contains("failed, with this consumer at position 50: no more images"));
  }
  SECTION("finished") {
    host.fill();
    CHECK_FALSE(ring->wait_drained(0));
    CHECK_THAT(told_at(trainer, 120), Catch::Contains("is finished"));
    CHECK(ring->wait_drained(10'000));
    CHECK(host.writer->set_trainers_elsewhere(1));
    CHECK(host.writer->wait_drained(10'000));
    CHECK(ring->writer().close());
  }
  SECTION("its producer goes") {
    host.produce(50);
    trainer.take(50);
    trainer.outlive_ring();
    SECTION("in the middle") { ring.reset(); }
    SECTION("right after it stopped") {
      host.produce(10);
      host.writer->stop("somebody had enough");
      ring.reset();
      CHECK_THAT(told_at(trainer, 60), Catch::Contains("somebody had enough"));
    }
    CHECK_THAT(told_at(trainer, 50), Catch::Contains("was stopped"));
  }
  // The mirror has left, or never gates again.
  if (ring) {
    CHECK(soon([&] { return host.writer->status().consumers.empty(); }));
  }
  // Somebody maps the memory still.
  CHECK(trainer.bytes(0, 3)[5] == byte_of(0, 3, 5));
}

TEST_CASE("the end of a stream that nobody on the GPU listens to") {
  const FakeGpu fake(small_granules);
  KnownHostRing host(small_stream(60, 1));
  const auto ring = host.ring_on(0);
  AdmitRequest lets_go = joining(Join::rewind);
  lets_go.between_epochs = BetweenEpochs::let_go;
  DeviceTrainer paused(*ring, lets_go);
  host.fill();
  SECTION("there is nothing to wait for") {
    CHECK(ring->wait_drained(-1));
    SECTION("until somebody comes, who gets all of it") {
      DeviceTrainer late(*ring, joining(Join::rewind));
      REQUIRE_FALSE(late.refused);
      CHECK_FALSE(ring->wait_drained(0));
      CHECK_THAT(told_at(late, 60), Catch::Contains("is finished"));
      CHECK(ring->wait_drained(10'000));
    }
    SECTION("or nobody may come any more") {
      CHECK(host.writer->set_trainers_elsewhere(1));
      REQUIRE(host.writer->close());
      DeviceTrainer late(*ring, joining(Join::rewind));
      REQUIRE(late.refused);
      CHECK(late.refused->reason == NotAdmitted::Reason::finished);
      CHECK(ring->wait_drained(10'000));
      CHECK(ring->writer().close());
      CHECK(ordered::load_state(paused.board().progress()) == StreamState::finished);
    }
  }
}

TEST_CASE("a stream that is stopped while it rests is stopped for who waits between loops") {
  const FakeGpu fake(small_granules);
  KnownHostRing host(small_stream(60));
  const auto ring = host.ring_on(0);
  AdmitRequest lets_go = joining(Join::rewind);
  lets_go.between_epochs = BetweenEpochs::let_go;
  DeviceTrainer paused(*ring, lets_go);
  host.writer->stop("somebody had enough");
  CHECK(soon([&] { return ring->writer().status().state == StreamState::stopped; }));
  const auto reply =
      ring->resume(paused.admitted.index, paused.admitted.consumer_id, Join::rewind, 0);
  REQUIRE(std::holds_alternative<NotAdmitted>(reply));
  CHECK(std::get<NotAdmitted>(reply).text == "somebody had enough");
}

TEST_CASE("a wait for trainers to drain ends when the stream is stopped meanwhile") {
  const FakeGpu fake(small_granules);
  KnownHostRing host(small_stream(60, 1));
  const auto ring = host.ring_on(0);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  host.fill();
  std::thread stopper([&] { host.writer->stop("now"); });
  CHECK_FALSE(ring->wait_drained(-1));
  stopper.join();
  CHECK(told_at(trainer, 60) != "nothing");
}

TEST_CASE("a ring goes while copies are on their way, and gives its memory back") {
  const FakeGpu fake("granularity=64K delay_us=3000");
  const auto at_first = counted();
  const std::uint64_t used = used_bytes();
  {
    KnownHostRing host(small_stream(1000));
    auto ring = host.ring_on(0);
    CHECK(ring->memory() > 0);
    if (batchcast_fake_cuda_is_fake()) CHECK(used_bytes() == used + ring->memory());
    const std::uint64_t before = counted().copies;
    {
      DeviceTrainer trainer(*ring, joining(Join::rewind));
      host.fill();
      if (batchcast_fake_cuda_is_fake()) {
        REQUIRE(soon([&] { return counted().copies > before; }));
      }
      SECTION("with a trainer") { trainer.outlive_ring(); }
      SECTION("after it left") { trainer.leave(); }
      ring.reset();
    }
    CHECK(used_bytes() == used);
    CHECK(host.writer->status().consumers.empty());
  }
  const auto counters = counted();
  CHECK(counters.live_allocations == at_first.live_allocations);
  CHECK(counters.live_ranges == at_first.live_ranges);
  CHECK(counters.registered_pieces == at_first.registered_pieces);
  CHECK(counters.streams == at_first.streams);
  CHECK(counters.events == at_first.events);
  CHECK(counters.contexts == at_first.contexts);
}
