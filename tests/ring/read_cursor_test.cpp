// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "heap_ring.hpp"

#include <batchcast/ring/lease_table.hpp>
#include <batchcast/ring/read_cursor.hpp>

#include <atomic>
#include <chrono>
#include <thread>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

using Phase = ReadCursor::Phase;

/// A ring whose epochs end when the writer says so, and one consumer's cursor in it.
struct Scene {
  HeapRing ring{10, epochs_of(0)};
  HeapConsumer consumer{ring, joining(Join::rewind)};
  ReadCursor cursor{ring.board(), consumer.desk(), 0};

  Scene() { cursor.begin_at(0, 0, 0); }
  Woken sleep(std::uint64_t wanted, int timeout_ms) {
    return cursor.sleep(wanted, cursor.state(), timeout_ms);
  }
};

constexpr int long_ms = 5'000;  // a test that sleeps this long has failed

}  // namespace

TEST_CASE("an epoch's end that is announced between look and sleep is not slept through") {
  Scene scene;
  REQUIRE(scene.ring.produce(4) == 4);
  CHECK(scene.cursor.look() == 4);
  scene.cursor.take(4, {scene.cursor.position() + 4, 0});
  SECTION("in the epoch") {}
  SECTION("that is skipped") { scene.cursor.skip(); }
  const bool skips = scene.cursor.phase() == Phase::skipping;
  scene.ring.writer().end_epoch();
  CHECK(scene.sleep(skips ? ReadCursor::endless : 5, long_ms) == Woken::value_changed);
  if (skips) {
    CHECK(scene.cursor.end_skip());
    CHECK(scene.cursor.phase() == Phase::between);
    CHECK(scene.cursor.epoch() == 1);
  } else {
    CHECK(scene.cursor.look() == 4);
    CHECK(scene.cursor.at_epoch_end());
  }
}

TEST_CASE("ends that are not awaited end no sleep") {
  Scene scene;
  REQUIRE(scene.ring.produce(4) == 4);
  scene.ring.writer().end_epoch();
  SECTION("the end is known") {
    CHECK(scene.cursor.look() == 4);
    REQUIRE(scene.cursor.epoch_end());
  }
  SECTION("a mirror rests") { scene.cursor.unplace(); }
  CHECK(scene.sleep(ReadCursor::endless, 1) == Woken::timed_out);
}

TEST_CASE("what no sleeper awaits owes none a wake-up") {
  HeapRing ring{10, epochs_of(4)};
  HeapConsumer consumer{ring, joining(Join::rewind)};
  ReadCursor cursor{ring.board(), consumer.desk(), 0};
  cursor.begin_at(0, 0, 0);
  std::uint64_t wanted = 4;
  std::uint64_t makes = 1;
  SECTION("the stream begins, with fewer samples than are wanted") {}
  SECTION("an epoch ends, and all have one length") {
    REQUIRE(ring.produce(4) == 4);
    cursor.unplace();  // as a mirror that rests
    wanted = ReadCursor::endless;
    makes = 4;
  }
  std::uint64_t made = 0;
  std::thread producer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    made = ring.produce(makes);
  });
  CHECK(cursor.sleep(wanted, cursor.state(), 60) == Woken::timed_out);
  producer.join();
  CHECK(made == makes);
  CHECK(ordered::get(consumer.desk().late_wakeups) == 0);
}

TEST_CASE("what has come before the sleep is not slept through") {
  Scene scene;
  std::atomic<bool> rung{false};
  const StreamState state = scene.cursor.state();
  SECTION("a sample") { REQUIRE(scene.ring.produce(1) == 1); }
  SECTION("another state") { scene.ring.writer().stop("for the test"); }
  SECTION("an eviction") {
    const Admitted& admitted = scene.consumer.admitted;
    REQUIRE(scene.ring.writer().evict(admitted.index, admitted.consumer_id));
  }
  SECTION("a call") { rung = true; }
  CHECK(scene.cursor.sleep(1, state, long_ms, &rung) == Woken::value_changed);
}

TEST_CASE("missed samples: the cursor finds out whether the epoch's end was one of them") {
  Scene scene;
  REQUIRE(scene.ring.produce(8) == 8);
  CHECK(scene.cursor.look() == 8);
  scene.cursor.miss(6);
  CHECK(scene.cursor.phase() == Phase::missed);
  CHECK_FALSE(scene.cursor.between_epochs());
  SECTION("it was not") {
    CHECK_FALSE(scene.cursor.find_missed_end());
    CHECK(scene.cursor.phase() == Phase::reading);
  }
  SECTION("it was") {
    scene.ring.writer().end_epoch();
    scene.cursor.miss(8);
    CHECK(scene.cursor.find_missed_end());
    CHECK(scene.cursor.phase() == Phase::unplaced);
    CHECK(scene.cursor.find_epoch());
    CHECK(scene.cursor.phase() == Phase::between);
    CHECK(scene.cursor.epoch() == 1);
  }
}

TEST_CASE("a lease table skips an epoch once the last lease is back") {
  Scene scene;
  LeaseTable leases(scene.ring.board(), scene.consumer.desk());
  const Desk& desk = scene.consumer.desk();
  const std::uint64_t first = leases.add(0, 2), second = leases.add(2, 4);
  leases.skip(0);
  CHECK_FALSE(leases.give_back(second));
  CHECK(ordered::load_released(desk) == 0);
  CHECK(ordered::load_skipping(desk) == 0);
  CHECK(leases.give_back(first));
  CHECK(ordered::load_released(desk) == 4);
  CHECK(ordered::load_skipping(desk) == 1);
  leases.end_skip(9);
  CHECK(ordered::load_released(desk) == 9);
  CHECK(ordered::load_skipping(desk) == 0);
}
