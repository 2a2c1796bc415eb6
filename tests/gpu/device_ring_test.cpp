// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "device_ring_support.hpp"

#include <batchcast/core/error.hpp>

#include <random>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr char small_granules[] = "granularity=64K delay_us=50";

Schema random_schema(std::mt19937_64& random) {
  static constexpr std::array types{DType::u8, DType::u8, DType::f16, DType::f32, DType::i64};
  Schema schema;
  const std::size_t fields = 1 + random() % 4;
  // Of scalars a driver's smallest ring holds too many for a test.
  const bool small = field_granule() <= 64 * 1024;
  const std::uint64_t least = small ? 1 : 1000;
  for (std::size_t i = 0; i < fields; ++i) {
    FieldSpec field{"f" + std::to_string(i), types[random() % types.size()], {}};
    if (!small || random() % 4 != 0) {
      field.shape = {static_cast<std::int64_t>(least + random() % 700)};
    }
    schema.push_back(field);
  }
  return schema;
}

}  // namespace

TEST_CASE("what trainers find on a GPU is what the host ring holds") {
  const FakeGpu fake(small_granules);
  const std::uint64_t used = used_bytes();
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  const int rounds = field_granule() <= 64 * 1024 ? 6 : 2;  // else rings are large
  for (int round = 0; round < rounds; ++round) {
    ProducerOptions options;
    options.stream = "s";
    options.schema = random_schema(random);
    options.memory = 128 * 1024 + random() % 300'000;
    options.device_memory = field_granule() * (options.schema.size() + random() % 6);
    options.samples_per_epoch = 50 + random() % 500;
    if (options.schema.size() > 1 && random() % 2 == 0) options.host_fields = {"f0"};
    KnownHostRing host(options);
    const auto ring = host.ring_on(0);
    DeviceTrainer first(*ring, joining(Join::rewind)), second(*ring, joining(Join::rewind));
    const std::uint64_t until = 3 * std::max(host.plan.capacity, ring->capacity());
    const std::uint64_t piece = 1 + random() % host.plan.capacity;
    const Producing producing(host, [&] {
      while (host.produce(piece, 10'000) != 0) {
      }
    });
    std::mt19937_64 sizes(seed + static_cast<unsigned>(round));
    const auto train = [&](DeviceTrainer& trainer) {
      Run run;
      const Next next = trainer.reader->next(
          1 + sizes() % std::min(ring->capacity(), host.plan.capacity), 10'000, run);
      if (next == Next::end_of_epoch) return;
      REQUIRE(next == Next::batch);
      REQUIRE(trainer.is_right(run));
      trainer.reader->give_back(run.lease);
    };
    // Whoever is behind: the other one may have to wait for it.
    while (std::min(first.reader->position(), second.reader->position()) < until) {
      train(first.reader->position() < second.reader->position() ? first : second);
    }
    host.writer->stop("enough");
    CHECK(first.reader->status().epochs_mismatched == 0);
  }
  CHECK(used_bytes() == used);
}

TEST_CASE("a sample is published on the GPU's ring once its copy is complete, and not before") {
  const FakeGpu fake(small_granules);
  KnownHostRing host(small_stream(1000));
  const auto ring = host.ring_on(0);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  const std::uint64_t before = batchcast_fake_cuda_count().copies;
  batchcast_fake_cuda_hold(nullptr);
  REQUIRE(host.fill() == host.plan.capacity);
  REQUIRE(soon([&] { return batchcast_fake_cuda_count().copies > before; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(trainer.published() == 0);
  CHECK(host.fill() == 0);  // nor is anything given back to the host
  batchcast_fake_cuda_release(nullptr);
  CHECK(soon([&] { return trainer.published() == ring->capacity(); }));
  CHECK(soon([&] { return host.fill() != 0; }));
  for (int i = 0; i < 20; ++i) trainer.take(10);
}

TEST_CASE("a mirror that nobody asks holds nobody up") {
  const FakeGpu fake(small_granules);
  KnownHostRing host(small_stream(1000));
  const auto ring = host.ring_on(0);
  const std::uint64_t capacity = host.plan.capacity;
  const auto is_resting = [&] {
    return host.writer->status().consumers[0].state == ConsumerState::resting;
  };
  CHECK(host.fill() == capacity);
  CHECK(is_resting());
  CHECK(host.writer->status().consumers[0].mirrors);

  std::optional<DeviceTrainer> trainer(std::in_place, *ring, joining(Join::rewind));
  CHECK_FALSE(is_resting());
  CHECK(trainer->take(100) == 0);
  trainer.reset();
  CHECK(soon(is_resting));
  CHECK(ring->writer().status().consumers.empty());

  // A trainer of the host ring alone goes round it.
  auto desk = std::make_shared<Desk>();
  AdmitRequest request = joining(Join::at, host.writer->status().published - 1);
  const auto alone = std::get<Admitted>(host.writer->admit(request, desk));
  std::uint64_t position = host.writer->status().published;
  for (int i = 0; i < 4; ++i) {
    ordered::set_release(desk->released, position);
    REQUIRE(host.fill() != 0);
    position = host.writer->status().published;
  }
  host.writer->remove(alone.index, alone.consumer_id);

  SECTION("an observer, or a trainer between its loops, asks for nothing") {
    request.observes = true;
    DeviceTrainer looks(*ring, request);
    AdmitRequest lets_go = joining(Join::rewind);
    lets_go.between_epochs = BetweenEpochs::let_go;
    DeviceTrainer paused(*ring, lets_go);
    CHECK(is_resting());
    const auto begun =
        ring->resume(paused.admitted.index, paused.admitted.consumer_id, Join::now, 0);
    REQUIRE(std::holds_alternative<std::uint64_t>(begun));
    CHECK_FALSE(is_resting());
    paused.reader->move_to(std::get<std::uint64_t>(begun));
    host.fill();
    CHECK(paused.take(3) == std::get<std::uint64_t>(begun));
    ring->writer().pause(paused.admitted.index, paused.admitted.consumer_id);
    ring->look_for_demand();
    CHECK(soon(is_resting));
  }
  SECTION("nothing goes for the sake of who has no loop to begin") {
    request.observes = true;
    DeviceTrainer looks(*ring, request);
    const BoardView board = looks.board();
    const std::uint64_t held = ordered::get_acquire(board.progress().valid_from);
    const std::uint64_t published = looks.published();
    const std::uint64_t far = host.writer->status().published;
    REQUIRE(far > published);
    for (const std::uint64_t consumer_id :
         {looks.admitted.consumer_id, looks.admitted.consumer_id + 1}) {
      const auto answer = ring->resume(looks.admitted.index, consumer_id, Join::at, far);
      // An observer may ask where a trainer would begin.
      CHECK(std::holds_alternative<NotAdmitted>(answer) ==
            (consumer_id != looks.admitted.consumer_id));
      CHECK(ordered::get_acquire(board.progress().valid_from) == held);
      CHECK(looks.published() == published);
      CHECK(is_resting());
    }
  }
}

TEST_CASE("where a trainer begins that comes while the mirror rests") {
  const FakeGpu fake(small_granules);
  ProducerOptions options = small_stream(100);
  KnownHostRing host(options);
  const auto ring = host.ring_on(0);
  auto desk = std::make_shared<Desk>();
  static_cast<void>(host.writer->admit(joining(Join::rewind), desk));
  const auto go_to = [&](std::uint64_t position) {
    while (host.writer->status().published < position) {
      ordered::set_release(desk->released, std::min(host.writer->status().published, position));
      REQUIRE(host.produce(position - host.writer->status().published) != 0);
    }
    ordered::set_release(desk->released, position);
  };
  const auto begins = [&](Join join, std::uint64_t cursor) {
    DeviceTrainer trainer(*ring, joining(join, cursor));
    REQUIRE_FALSE(trainer.refused);
    // What it joins is what it gets, byte by byte.
    const std::uint64_t begun = trainer.admitted.position;
    if (begun < host.writer->status().published) CHECK(trainer.take(1) == begun);
    trainer.leave();
    REQUIRE(soon([&] {
      const auto status = host.writer->status();
      return status.consumers[0].state == ConsumerState::resting;
    }));
    return begun;
  };
  go_to(350);
  CHECK(begins(Join::rewind, 0) == 300);
  CHECK(begins(Join::rewind, 0) == 300);
  CHECK(begins(Join::at, 333) == 333);
  go_to(820);  // far beyond what the ring on the GPU holds
  CHECK(begins(Join::at, 777) == 777);
  CHECK(begins(Join::rewind, 0) == 800);
  CHECK(begins(Join::now, 0) == 820);
  CHECK(begins(Join::next_epoch, 0) == 900);
  DeviceTrainer late(*ring, joining(Join::at, 5));
  REQUIRE(late.refused);
  CHECK(late.refused->reason == NotAdmitted::Reason::cursor_gone);
}

TEST_CASE("who wants samples that are far from being made leaves the GPU's ring to others") {
  const FakeGpu fake(small_granules);
  KnownHostRing host(small_stream(100));
  const auto ring = host.ring_on(0);
  auto desk = std::make_shared<Desk>();
  static_cast<void>(host.writer->admit(joining(Join::rewind), desk));
  REQUIRE(host.produce(50) == 50);
  std::optional<DeviceTrainer> far(std::in_place, *ring, joining(Join::at, 7'000'000));
  CHECK(far->admitted.position == 7'000'000);
  far.reset();
  REQUIRE(soon([&] { return host.writer->status().consumers[0].state == ConsumerState::resting; }));
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  REQUIRE_FALSE(trainer.refused);
  CHECK(trainer.take(10) == 0);
}

TEST_CASE("trainers that are waited for resume on a GPU in any order") {
  const FakeGpu fake(small_granules);
  ProducerOptions options = small_stream(1000);
  options.wait_for = 2;
  KnownHostRing host(options);
  const auto ring = host.ring_on(0);
  DeviceTrainer ahead(*ring, joining(Join::at, 5'000));
  DeviceTrainer behind(*ring, joining(Join::at, 4'990));
  REQUIRE_FALSE(behind.refused);
  CHECK(host.writer->set_trainers_elsewhere(2));
  REQUIRE(soon([&] {
    static_cast<void>(host.fill());
    return ahead.published() >= 5'005;
  }));
  CHECK(behind.take(5) == 4'990);
  CHECK(ahead.take(5) == 5'000);
}

TEST_CASE("epochs of unknown length end on the GPU where they end on the host") {
  const FakeGpu fake(small_granules);
  ProducerOptions options = small_stream(0);
  KnownHostRing host(options);
  const auto ring = host.ring_on(0);
  DeviceTrainer trainer(*ring, joining(Join::rewind));
  const auto seed = std::random_device{}();
  INFO("seed " << seed);
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> lengths;
  std::optional<Producing> producing(std::in_place, host, [&] {
    for (int epoch = 0; epoch < 8; ++epoch) {
      std::uint64_t left = 1 + random() % 400;
      lengths.push_back(left);
      while (left > 0)
        left -= host.produce(std::min<std::uint64_t>(left, 1 + random() % 50), 10'000);
      host.writer->end_epoch();
    }
    host.writer->finish();
  });
  std::vector<std::uint64_t> seen;
  std::uint64_t length = 0;
  for (;;) {
    Run run;
    try {
      const Next next = trainer.reader->next(37, 10'000, run);
      REQUIRE(next != Next::timed_out);
      if (next == Next::end_of_epoch) {
        seen.push_back(std::exchange(length, 0));
        continue;
      }
    } catch (const StreamFinished&) {
      break;
    }
    CHECK(trainer.is_right(run));
    length += run.size;
    trainer.reader->give_back(run.lease);
  }
  producing.reset();
  CHECK(seen == lengths);
  CHECK(trainer.reader->status().epochs_matched == lengths.size());
  CHECK(ring->wait_drained(10'000));
}

TEST_CASE("an epoch of unknown length that ends while the mirror rests") {
  const FakeGpu fake(small_granules);
  KnownHostRing host(small_stream(0));
  const auto ring = host.ring_on(0);
  {
    DeviceTrainer trainer(*ring, joining(Join::rewind));
    host.produce(30);
    CHECK(trainer.take(30) == 0);
  }
  REQUIRE(soon([&] { return host.writer->status().consumers[0].state == ConsumerState::resting; }));
  SECTION("where the mirror stands") { host.writer->end_epoch(); }
  SECTION("further on") {
    host.produce(20);
    host.writer->end_epoch();
  }
  SECTION("several times") {
    for (int i = 0; i < 3; ++i) {
      host.writer->end_epoch();
      host.produce(10);
    }
    host.writer->end_epoch();
  }
  const std::uint64_t start = host.writer->status().published;
  const std::uint64_t epoch = host.writer->status().epoch;
  host.produce(10);
  DeviceTrainer trainer(*ring, joining(Join::at, start));
  REQUIRE_FALSE(trainer.refused);
  Run run;
  REQUIRE(trainer.reader->next(10, 10'000, run) == Next::batch);
  CHECK(run.position == start);
  CHECK(run.epoch == epoch);
  trainer.reader->give_back(run.lease);
  host.produce(7);
  host.writer->end_epoch();
  CHECK(trainer.take(7) == start + 10);
  CHECK(trainer.reader->next(1, 10'000, run) == Next::end_of_epoch);

  // In the middle of an epoch whose end nobody knows: from the next one on.
  host.produce(5);
  CHECK(trainer.take(5) == start + 17);
  DeviceTrainer next(*ring, joining(Join::next_epoch));
  host.produce(5);
  host.writer->end_epoch();
  host.produce(4);
  CHECK(next.take(4) == start + 27);
}

TEST_CASE("rings on several GPUs show one stream, and page-lock the host ring once") {
  const FakeGpu fake("devices=2 granularity=64K delay_us=50");
  KnownHostRing host(small_stream(100, 4));
  const std::uint64_t pageable = counted().pageable_copies;
  auto first = host.ring_on(0), second = host.ring_on(1);
  CHECK(first->id() != second->id());
  DeviceTrainer one(*first, joining(Join::rewind)), two(*second, joining(Join::rewind));
  CHECK(one.admitted.consumer_id != two.admitted.consumer_id);
  CHECK(one.welcome.placement == first->id());
  const Producing producing(host, [&] {
    while (host.produce(33, 10'000) != 0) {
    }
  });
  for (std::uint64_t position = 0; position < 400; position += 50) {
    CHECK(one.take(50) == position);
    CHECK(two.take(50) == position);
  }
  Run run;
  CHECK(one.reader->next(1, 10'000, run) == Next::end_of_epoch);
  CHECK_THROWS_AS(one.reader->next(1, 10'000, run), StreamFinished);
  const auto counters = counted();
  const std::size_t pieces = batchcast_fake_cuda_is_fake() ? host.options.schema.size() : 0;
  CHECK(counters.registered_pieces == pieces);
  CHECK(counters.pageable_copies == pageable);
  one.leave();
  two.leave();
  first.reset();
  CHECK(counted().registered_pieces == pieces);
  second.reset();
}
