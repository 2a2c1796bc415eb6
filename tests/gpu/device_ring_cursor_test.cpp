// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "device_ring_support.hpp"

#include <batchcast/core/error.hpp>

#include <memory>
#include <random>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// Trainers of one ring on a GPU that come, begin, end and go with whatever cursor.
class Crowd {
 public:
  Crowd(std::uint64_t seed, KnownHostRing& host, detail::ServedRing& ring)
      : random_(seed), host_(host), ring_(ring) {}

  void step() {
    DeviceTrainer* const trainer =
        trainers_.empty() ? nullptr : trainers_[random_() % trainers_.size()].get();
    switch (random_() % 8) {
      case 0:
        return come();
      case 1:
        if (trainer != nullptr) trainers_.erase(trainers_.begin());
        return ring_.look_for_demand();
      case 2:
        if (trainer != nullptr) pause(*trainer);
        return;
      case 3:
        if (trainer != nullptr) resume(*trainer);
        return;
      case 4:
        return end_epoch();
      case 5:
        std::this_thread::sleep_for(std::chrono::microseconds(random_() % 300));
        return;
      default:
        static_cast<void>(host_.produce(1 + random_() % 64));
        if (trainer != nullptr) take(*trainer);
    }
  }
  void leave() { trainers_.clear(); }

 private:
  [[nodiscard]] std::uint64_t any_cursor() {
    const std::uint64_t published = host_.writer->status().published;
    const std::uint64_t near = random_() % 150;
    const std::uint64_t cursors[] = {near,
                                     published - near,
                                     published + near,
                                     published + 100'000 * near,
                                     limits::cursor_limit - 1 - near,
                                     limits::cursor_limit + near,
                                     limits::position_max - near,
                                     random_()};
    // Far ones seldom: the ring stays there.
    return cursors[random_() % (random_() % 8 == 0 ? std::size(cursors) : 3)];
  }
  void come() {
    if (trainers_.size() == 5) return;
    AdmitRequest request = joining(static_cast<Join>(random_() % 4), any_cursor());
    request.between_epochs = random_() % 2 == 0 ? BetweenEpochs::hold : BetweenEpochs::let_go;
    request.observes = random_() % 8 == 0;
    auto trainer = std::make_unique<DeviceTrainer>(ring_, request);
    if (!trainer->refused) trainers_.push_back(std::move(trainer));
  }
  void pause(DeviceTrainer& trainer) {
    ring_.writer().pause(trainer.admitted.index, trainer.admitted.consumer_id);
    if (random_() % 4 == 0) {
      trainer.desk().samples = random_() % 2;
      trainer.desk().batches = random_() % 2;
    }
    ring_.look_for_demand();
  }
  void resume(DeviceTrainer& trainer) {
    const auto reply = ring_.resume(trainer.admitted.index, trainer.admitted.consumer_id,
                                    static_cast<Join>(random_() % 4), any_cursor());
    const auto* position = std::get_if<std::uint64_t>(&reply);
    if (position != nullptr) trainer.reader->move_to(*position);
  }
  void end_epoch() {
    try {
      host_.writer->end_epoch();
    } catch (const InvalidArgument&) {
      // Its length is known, or it has no sample.
    }
  }
  static void take(DeviceTrainer& trainer) {
    try {
      Run run;
      if (trainer.reader->next(8, 0, run) == Next::batch) trainer.reader->give_back(run.lease);
    } catch (const Revoked&) {
      // What it said on its desk was found out.
    }
  }

  std::mt19937_64 random_;
  KnownHostRing& host_;
  detail::ServedRing& ring_;
  std::vector<std::unique_ptr<DeviceTrainer>> trainers_;
};

}  // namespace

TEST_CASE("who is refused on a GPU leaves its ring what it holds") {
  const FakeGpu fake("granularity=64K delay_us=50");
  ProducerOptions options = small_stream(100);
  options.max_consumers = 2;
  KnownHostRing host(options);
  const auto ring = host.ring_on(0);
  AdmitRequest lets_go = joining(Join::rewind);
  lets_go.between_epochs = BetweenEpochs::let_go;
  DeviceTrainer trainer(*ring, lets_go);
  const auto begin = [&](Join join, std::uint64_t cursor) {
    auto reply = ring->resume(trainer.admitted.index, trainer.admitted.consumer_id, join, cursor);
    const auto* position = std::get_if<std::uint64_t>(&reply);
    if (position != nullptr) trainer.reader->move_to(*position);
    return position != nullptr ? std::optional(*position) : std::nullopt;
  };
  const auto end = [&] {
    ring->writer().pause(trainer.admitted.index, trainer.admitted.consumer_id);
    ring->look_for_demand();
    return soon([&] { return host.writer->status().consumers[0].state == ConsumerState::resting; });
  };
  REQUIRE(begin(Join::rewind, 0) == 0);
  REQUIRE(host.produce(50) == 50);
  CHECK(trainer.take(50) == 0);
  REQUIRE(end());
  const std::uint64_t far = 7'000'000;
  SECTION("since every place is taken") {
    DeviceTrainer second(*ring, lets_go);
    DeviceTrainer third(*ring, joining(Join::at, far));
    REQUIRE(third.refused);
    CHECK(third.refused->reason == NotAdmitted::Reason::full);
  }
  SECTION("since no stream goes so far") {
    for (const std::uint64_t cursor : {limits::cursor_limit, limits::position_max - 1}) {
      DeviceTrainer second(*ring, joining(Join::at, cursor));
      REQUIRE(second.refused);
      CHECK(second.refused->reason == NotAdmitted::Reason::cursor_gone);
      CHECK_FALSE(begin(Join::at, cursor));
    }
  }
  SECTION("since its desk says that it read nothing") {
    REQUIRE(begin(Join::at, 50) == 50);
    REQUIRE(host.produce(10) == 10);
    CHECK(trainer.take(10) == 50);
    trainer.reader->leave_epoch();  // it stands at 100, where nothing is yet
    REQUIRE(end());
    trainer.desk().samples = 0;
    CHECK_FALSE(begin(Join::at, 70));
    CHECK(trainer.published() == 60);
    return;
  }
  CHECK(trainer.published() == 50);
  REQUIRE(begin(Join::at, 50) == 50);
  REQUIRE(host.produce(50) == 50);
  CHECK(trainer.take(50) == 50);
  // The same of a ring whose mirror copies.
  DeviceTrainer second(*ring, joining(Join::at, limits::cursor_limit));
  REQUIRE(second.refused);
  CHECK(second.refused->reason == NotAdmitted::Reason::cursor_gone);
}

TEST_CASE("whoever comes to a GPU's ring with whatever cursor, the next one is served there") {
  const FakeGpu fake("granularity=64K delay_us=20");
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  for (const std::uint64_t length :
       {std::uint64_t{100}, std::uint64_t{0}, std::uint64_t{1} << 40}) {
    KnownHostRing host(small_stream(length));
    const auto ring = host.ring_on(0);
    Crowd crowd(random(), host, *ring);
    for (int i = 0; i < 2'000; ++i) crowd.step();
    crowd.leave();
    ring->look_for_demand();
    DeviceTrainer trainer(*ring, joining(Join::now));
    REQUIRE_FALSE(trainer.refused);
    const std::uint64_t begun = trainer.admitted.position;
    if (length == 0) {  // it does not jump: until there, all is made
      INFO(begun);
      CHECK(host.log().find("failed") == std::string::npos);
      continue;
    }
    REQUIRE(soon([&] {
      static_cast<void>(host.fill());
      return trainer.published() > begun;
    }));
    Run run;
    REQUIRE(trainer.reader->next(1, 10'000, run) == Next::batch);
    CHECK(run.position == begun);
    CHECK(trainer.is_right(run));
    CHECK(host.log().find("failed") == std::string::npos);
  }
}
