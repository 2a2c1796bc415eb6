// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "heap_ring.hpp"

#include <batchcast/core/clock.hpp>

#include <thread>
#include <utility>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

AdmitRequest mirror_request() {
  AdmitRequest request;
  request.name = "mirror";
  request.mirrors = true;
  return request;
}

void fill(HeapRing& ring) {
  while (ring.produce(64) != 0) {
  }
}

MirrorStart start_of(HeapRing& ring, HeapConsumer& mirror, const MirrorRequest& request) {
  auto reply =
      ring.writer().resume_mirror(mirror.admitted.index, mirror.admitted.consumer_id, request);
  REQUIRE(std::holds_alternative<MirrorStart>(reply));
  const MirrorStart start = std::get<MirrorStart>(reply);
  mirror.reader->move_to(start.position);
  return start;
}

void rest(HeapRing& ring, HeapConsumer& mirror) {
  ring.writer().pause(mirror.admitted.index, mirror.admitted.consumer_id);
}

}  // namespace

TEST_CASE("a mirror gates once it is let in, and as long as it does not rest") {
  HeapRing ring(10, epochs_of(100));
  HeapConsumer mirror(ring, mirror_request()), trainer(ring, joining(Join::rewind));
  fill(ring);
  take_and_return(trainer, 10);
  fill(ring);
  CHECK(ring.writer().status().published == 20);  // it rests: nothing waits for it
  CHECK(ring.writer().status().consumers[0].state == ConsumerState::resting);

  CHECK(start_of(ring, mirror, {Join::now, 0, 0, 0}).position == 20);
  take_and_return(trainer, 10);
  fill(ring);
  CHECK(ring.writer().status().published == 30);
  take_and_return(trainer, 10);
  CHECK(ring.produce(1) == 0);
  take_and_return(mirror, 4);
  CHECK(ring.produce(64) == 4);
  CHECK(ring.writer().status().consumers[0].state == ConsumerState::running);
  CHECK(ring.writer().status().consumers[0].mirrors);
  CHECK_FALSE(ring.writer().status().consumers[1].mirrors);

  rest(ring, mirror);
  fill(ring);
  CHECK(ring.writer().status().published == 40);
}

TEST_CASE("a mirror asks for samples where nobody else does") {
  HeapRing ring(10, epochs_of(100));
  HeapConsumer mirror(ring, mirror_request());
  CHECK_FALSE(ring.writer().has_demand());
  fill(ring);
  CHECK(start_of(ring, mirror, {Join::rewind, 0, 0, 0}).position == 0);
  CHECK_FALSE(ring.writer().has_demand());
  take_and_return(mirror, 10);
  CHECK(ring.produce(64) == 10);

  AdmitRequest observer;
  observer.observes = true;
  HeapConsumer looks(ring, observer);
  AdmitRequest lets_go;
  lets_go.between_epochs = BetweenEpochs::let_go;
  HeapConsumer paused(ring, lets_go);
  CHECK_FALSE(ring.writer().has_demand());
  HeapConsumer trainer(ring, joining(Join::now));
  CHECK(ring.writer().has_demand());
  CHECK(ring.writer().trainers_here() == 2);  // the paused one is attached as well
}

TEST_CASE("wait_for counts trainers elsewhere, and never a mirror") {
  auto options = epochs_of(100);
  options.wait_for = 2;
  HeapRing ring(10, options);
  HeapConsumer mirror(ring, mirror_request()), trainer(ring, joining(Join::rewind));
  static_cast<void>(start_of(ring, mirror, {}));
  CHECK(ring.produce(10) == 10);
  CHECK(ring.writer().status().published == 0);
  CHECK(ring.writer().set_trainers_elsewhere(1));
  CHECK(ring.writer().status().published == 10);
  CHECK(take(trainer, 4).position == 0);
  CHECK(ring.writer().set_trainers_elsewhere(0));  // the first publication only
  take_and_return(mirror, 10);
  CHECK(take(trainer, 4).position == 4);
}

TEST_CASE("a stream is unattended when nobody is attached to any of its rings") {
  HeapRing ring(10, epochs_of(100));
  HeapConsumer mirror(ring, mirror_request());
  auto& writer = ring.writer();
  const auto wait_ns = [since = now_ns()] {
    while (now_ns() - since < 20'000'000) std::this_thread::yield();
    return now_ns() - since;
  };
  SECTION("elsewhere counts, and so does when the last of them left") {
    CHECK(writer.set_trainers_elsewhere(1));
    CHECK_FALSE(writer.stop_if_unattended(0, "nobody"));
    const std::uint64_t waited_ns = wait_ns();
    const std::uint64_t left_ns = now_ns();
    CHECK(writer.set_trainers_elsewhere(0));
    const bool stopped = writer.stop_if_unattended(waited_ns, "nobody");
    if (now_ns() - left_ns < waited_ns) CHECK_FALSE(stopped);
  }
  SECTION("a mirror that comes and goes changes nothing") {
    static_cast<void>(start_of(ring, mirror, {}));
    const std::uint64_t waited_ns = wait_ns();
    writer.remove(mirror.admitted.index, mirror.admitted.consumer_id);
    CHECK(writer.stop_if_unattended(waited_ns, "nobody"));
    CHECK_FALSE(writer.set_trainers_elsewhere(1));  // who comes now is told to go
  }
  SECTION("nor does one that stays") {
    static_cast<void>(start_of(ring, mirror, {}));
    CHECK(writer.stop_if_unattended(0, "nobody"));
  }
}

TEST_CASE("a stall report does not name a mirror") {
  auto options = epochs_of(100);
  options.stall_timeout_ms = 100;
  std::vector<std::string> lines;
  options.log = [&](LogLevel, std::string_view text) { lines.emplace_back(text); };
  HeapRing ring(10, options);
  HeapConsumer mirror(ring, mirror_request());
  static_cast<void>(start_of(ring, mirror, {}));
  ring.produce(10);
  Ticket ticket;
  SECTION("which is all that blocks") {
    CHECK(ring.writer().claim(1, 350, ticket) == Claim::timed_out);
    CHECK(lines.empty());
  }
  SECTION("but the trainer that blocks as well") {
    HeapConsumer trainer(ring, joining(Join::rewind));
    CHECK(ring.writer().claim(1, 350, ticket) == Claim::timed_out);
    REQUIRE_FALSE(lines.empty());
    CHECK_THAT(lines[0], Catch::Contains("`c`"));
  }
}

TEST_CASE("a stream's end waits for a mirror that copies, and not for one that rests") {
  HeapRing ring(10, epochs_of(10, 1));
  auto& writer = ring.writer();
  HeapConsumer mirror(ring, mirror_request());
  ring.produce(10);
  writer.finish();
  CHECK_FALSE(writer.wait_drained(0));  // it never had a consumer
  static_cast<void>(start_of(ring, mirror, {}));
  CHECK_FALSE(writer.wait_drained(0));
  SECTION("until it is done") {
    CHECK(writer.set_trainers_elsewhere(1));
    CHECK_FALSE(writer.wait_drained(0));
    take_and_return(mirror, 10);
    CHECK(writer.wait_drained(0));
  }
  SECTION("a mirror is not the consumer that it waits for") {
    take_and_return(mirror, 10);
    CHECK_FALSE(writer.wait_drained(0));
    CHECK(writer.set_trainers_elsewhere(1));
    CHECK(writer.wait_drained(0));
  }
  SECTION("until it rests") {
    CHECK(writer.set_trainers_elsewhere(1));
    rest(ring, mirror);
    CHECK(writer.wait_drained(0));
    REQUIRE(writer.close());
    const auto reply =
        writer.resume_mirror(mirror.admitted.index, mirror.admitted.consumer_id, MirrorRequest{});
    CHECK(std::get<NotAdmitted>(reply).reason == NotAdmitted::Reason::finished);
    CHECK(writer.set_trainers_elsewhere(2));  // what its ring holds can be read still
  }
}

TEST_CASE("where a mirror and its trainer begin: epochs of one length") {
  HeapRing ring(30, epochs_of(10, 20));
  HeapConsumer mirror(ring, mirror_request()), trainer(ring, joining(Join::rewind));
  for (int i = 0; i < 4; ++i) {
    fill(ring);
    take_and_return(trainer, 10);
    Run run;
    REQUIRE(trainer.reader->next(1, 0, run) == Next::end_of_epoch);
  }
  fill(ring);
  take_and_return(trainer, 4);  // at 44; published 70, held from 40
  REQUIRE(ring.writer().status().published == 70);
  const auto begin = [&](Join join, std::uint64_t cursor, std::uint64_t oldest,
                         std::uint64_t next) {
    const MirrorStart start = start_of(ring, mirror, {join, cursor, oldest, next});
    CHECK(start.epoch == start.position / 10);
    CHECK(start.epoch_start == start.epoch * 10);
    rest(ring, mirror);
    return std::pair(*start.trainer, start.position);
  };
  using Places = std::pair<std::uint64_t, std::uint64_t>;
  // Its ring is empty, or of another time: it begins where the trainer does.
  CHECK(begin(Join::rewind, 0, 0, 0) == Places(40, 40));
  CHECK(begin(Join::rewind, 0, 20, 39) == Places(40, 40));
  CHECK(begin(Join::next_epoch, 0, 0, 0) == Places(70, 70));
  CHECK(begin(Join::now, 0, 0, 0) == Places(70, 70));
  CHECK(begin(Join::at, 43, 0, 0) == Places(43, 43));
  CHECK(begin(Join::at, 155, 0, 0) == Places(155, 155));
  // Its ring and this one meet: it goes on, and its trainer has both windows.
  CHECK(begin(Join::rewind, 0, 30, 50) == Places(40, 50));
  CHECK(begin(Join::at, 35, 30, 40) == Places(35, 40));
  CHECK(begin(Join::at, 35, 30, 70) == Places(35, 70));
  CHECK(begin(Join::now, 0, 30, 70) == Places(70, 70));
  CHECK(begin(Join::now, 0, 30, 50) == Places(70, 70));
  // Its ring spans less than this one, and does not go back.
  CHECK(begin(Join::rewind, 0, 45, 55) == Places(50, 55));
  CHECK(begin(Join::next_epoch, 0, 45, 70) == Places(70, 70));
  CHECK(begin(Join::rewind, 0, 100, 100) == Places(100, 100));

  const auto refusal = [&](const MirrorRequest& request) {
    const auto reply =
        ring.writer().resume_mirror(mirror.admitted.index, mirror.admitted.consumer_id, request);
    return std::get<NotAdmitted>(reply).reason;
  };
  CHECK(refusal({Join::at, 39, 0, 0}) == NotAdmitted::Reason::cursor_gone);
  CHECK(refusal({Join::at, 44, 45, 55}) == NotAdmitted::Reason::cursor_gone);
  CHECK(refusal({Join::at, 200, 0, 0}) == NotAdmitted::Reason::finished);
  CHECK(ring.writer().status().consumers[0].state == ConsumerState::resting);
}

TEST_CASE("where a mirror and its trainer begin: epochs that end when they are told to") {
  HeapRing ring(30, epochs_of(0));
  HeapConsumer mirror(ring, mirror_request()), trainer(ring, joining(Join::rewind));
  CHECK(ring.produce(12) == 12);
  ring.writer().end_epoch();
  CHECK(ring.produce(6) == 6);  // epoch 1 from 12 on, published 18
  take_and_return(trainer, 12);
  Run run;
  CHECK(trainer.reader->next(1, 0, run) == Next::end_of_epoch);

  const auto begin = [&](const MirrorRequest& request) {
    const MirrorStart start = start_of(ring, mirror, request);
    rest(ring, mirror);
    return start;
  };
  MirrorStart start = begin({Join::rewind, 0, 0, 0});
  CHECK(start.trainer == 12);
  CHECK(start.position == 12);
  CHECK(start.epoch == 1);
  CHECK(start.epoch_start == 12);
  SECTION("in the epoch before the current one") {
    start = begin({Join::at, 5, 0, 0});
    CHECK(start.position == 5);
    CHECK(start.epoch == 0);
    CHECK(start.epoch_start == 0);
  }
  SECTION("nobody knows when the next epoch begins: from what comes now on") {
    CHECK(begin({Join::next_epoch, 0, 20, 20}).position == 20);
    start = begin({Join::next_epoch, 0, 0, 5});
    CHECK_FALSE(start.trainer);
    CHECK(start.position == 18);
    CHECK(start.epoch == 1);
    CHECK(start.epoch_start == 12);
  }
  SECTION("far ahead: the epochs until then are copied, for nobody knows their ends") {
    start = begin({Join::at, 1'000, 0, 5});
    CHECK(start.trainer == 1'000);
    CHECK(start.position == 18);
    CHECK(start.epoch == 1);
  }
  SECTION("at an end: in the next epoch") {
    ring.writer().end_epoch();
    start = begin({Join::next_epoch, 0, 0, 18});
    CHECK(start.trainer == 18);
    CHECK(start.position == 18);
    CHECK(start.epoch == 2);
    CHECK(start.epoch_start == 18);
  }
}

TEST_CASE("a ring that is filled from another one begins anew further on") {
  SECTION("epochs of one length") {
    auto options = epochs_of(10, 20);
    options.first_consumer_id = (std::uint64_t{1} << 48) | 1;
    options.jumps = false;
    HeapRing ring(30, options);
    {
      HeapConsumer gone(ring, joining(Join::rewind));
      CHECK(gone.admitted.consumer_id == options.first_consumer_id);
      ring.produce(10);
      ring.produce(7);
      ring.writer().remove(gone.admitted.index, gone.admitted.consumer_id);
    }
    ring.writer().restart_at(54, 5, 50);
    CHECK(HeapConsumer(ring, joining(Join::at, 53)).refused() == NotAdmitted::Reason::cursor_gone);
    HeapConsumer trainer(ring, joining(Join::at, 54));
    CHECK(ring.produce(64) == 6);
    CHECK(take(trainer, 64).size == 6);
    Run run;
    CHECK(trainer.reader->next(1, 0, run) == Next::end_of_epoch);
    CHECK(trainer.reader->status().epochs_unknown == 1);
    CHECK(ring.produce(64) == 10);
    CHECK(take(trainer, 10).epoch == 6);
    CHECK(trainer.reader->next(1, 0, run) == Next::end_of_epoch);
    CHECK(trainer.reader->status().epochs_matched == 1);
  }
  SECTION("epochs that end when they are told to") {
    HeapRing ring(30, epochs_of(0));
    ring.produce(10);
    ring.writer().restart_at(54, 3, 50);
    CHECK(ring.writer().status().epoch == 3);
    CHECK(ring.board().epoch(2).end == 50);
    HeapConsumer waits(ring, joining(Join::next_epoch));
    HeapConsumer trainer(ring, joining(Join::at, 54));
    CHECK(ring.produce(64) == 30);
    CHECK(take(trainer, 30).epoch == 3);
    ring.writer().end_epoch();
    trainer.reader->give_back(0);
    Run run;
    CHECK(trainer.reader->next(1, 0, run) == Next::end_of_epoch);
    CHECK(trainer.reader->status().epochs_unknown == 1);
    CHECK(ring.board().epoch(3).start == 50);
    CHECK(ring.board().epoch(3).receipt_known == 0);
    CHECK(ring.produce(5) == 5);
    run = take(waits, 5);
    CHECK(run.position == 84);
    CHECK(run.epoch == 4);
    ring.writer().end_epoch();
    CHECK(waits.reader->next(1, 0, run) == Next::end_of_epoch);
    CHECK(waits.reader->status().epochs_matched == 1);
  }
  SECTION("in its own epoch, whose receipt is unknown then") {
    HeapRing ring(30, epochs_of(0));
    ring.produce(10);
    ring.writer().restart_at(20, 0, 0);
    HeapConsumer trainer(ring, joining(Join::at, 20));
    ring.produce(5);
    take_and_return(trainer, 5);
    ring.writer().end_epoch();
    Run run;
    CHECK(trainer.reader->next(1, 0, run) == Next::end_of_epoch);
    CHECK(ring.board().epoch(0).receipt_known == 0);
    CHECK(trainer.reader->epoch() == 1);
  }
}

TEST_CASE("a ring that stands there already keeps what it holds, and its epoch may end") {
  HeapRing ring(30, epochs_of(0));
  ring.produce(10);
  ring.writer().restart_at(10, 0, 0);
  CHECK(ring.writer().status().epoch == 0);
  ring.writer().restart_at(10, 1, 10);
  CHECK(ring.writer().status().epoch == 1);
  HeapConsumer trainer(ring, joining(Join::rewind));
  CHECK(take(trainer, 20).size == 10);
  Run run;
  CHECK(trainer.reader->next(1, 0, run) == Next::end_of_epoch);
  CHECK(trainer.reader->status().epochs_matched == 1);
}

TEST_CASE("a ring that begins anew at the stream's end is finished") {
  HeapRing ring(30, epochs_of(10, 2));
  ring.produce(10);
  ring.writer().restart_at(20, 2, 20);
  CHECK(ring.writer().status().state == StreamState::draining);
  CHECK(HeapConsumer(ring, joining(Join::rewind)).refused() == NotAdmitted::Reason::finished);
}

TEST_CASE("a ring that follows another one does not jump by itself") {
  for (const bool jumps : {true, false}) {
    auto options = epochs_of(10);
    options.jumps = jumps;
    HeapRing ring(30, options);
    HeapConsumer ahead(ring, joining(Join::at, 25));
    CHECK(ring.produce(64) == (jumps ? 5 : 10));
    CHECK(ring.writer().status().published == (jumps ? 30 : 10));
  }
}

TEST_CASE("a mirror begins in no epoch whose start is forgotten") {
  HeapRing ring(5'000, epochs_of(0));
  HeapConsumer mirror(ring, mirror_request());
  for (std::uint64_t made = 0; made < 4'500; made += ring.produce(1)) {
    if (made != 0) ring.writer().end_epoch();
  }
  const auto reply = ring.writer().resume_mirror(mirror.admitted.index, mirror.admitted.consumer_id,
                                                 {Join::at, 10, 0, 5});
  CHECK(std::get<NotAdmitted>(reply).reason == NotAdmitted::Reason::cursor_gone);
  CHECK(start_of(ring, mirror, {Join::at, 4'490, 0, 5}).epoch_start == 4'490);
}
