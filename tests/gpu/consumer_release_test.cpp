// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "../ring/child.hpp"
#include "consumer_scene.hpp"

#include <optional>
#include <string>
#include <thread>
#include <utility>

using namespace batchcast;
using namespace batchcast::testing;

// When the samples of a batch that streams read may be overwritten.
namespace {

constexpr const char* settings = "granularity=4K delay_us=50";

std::uint64_t leases(const Consumer& consumer) { return consumer.stats().leases_held; }

std::string state_of_first(Producer& producer) {
  const ProducerStats stats = producer.stats();
  return std::string(stats.consumers.empty() ? "gone" : name_of(stats.consumers[0].state));
}

}  // namespace

TEST_CASE("samples stay until every stream that reads them has passed the batch", "[gpu]") {
  const Where where = GENERATE(from_range(possible_places()));
  const FakeSettings fake(settings_for(where, settings));
  const std::string named = GENERATE("the consumer's stream", "by use", "by use, elsewhere");
  INFO(named << (where == Where::pinned ? ", pinned" : ", on the device"));
  Scene scene(where);
  Consumer consumer(scene.consumer(16));
  HeldStream trainer;
  HeldStream idle;  // named too: it holds nothing up once it is released
  if (named == "the consumer's stream") consumer.set_cuda_stream(trainer.handle());
  REQUIRE(scene.publish(16) == 16);
  std::optional<Batch> batch = consumer.next();
  REQUIRE(batch);
  idle.release();
  batch->use(idle.handle());
  if (named == "by use") batch->use(trainer.handle());
  if (named == "by use, elsewhere") {
    std::thread([shared = batch->share(), &trainer] { shared.use(trainer.handle()); }).join();
  }
  trainer.read(*batch);
  batch.reset();
  scene.fill_up();  // all that the producer takes for free is written over
  CHECK(leases(consumer) == 1);
  trainer.release();
  CHECK(trainer.fault() == "");
  CHECK(eventually([&] { return leases(consumer) == 0; }));
  CHECK(scene.publish(16) == 16);
}

TEST_CASE("a stream of another GPU than the one that pins is waited for at the drop", "[gpu]") {
  const FakeSettings fake(settings_for(Where::pinned, "devices=2 granularity=4K delay_us=50"));
  Scene scene(Where::pinned);
  Consumer consumer(scene.consumer(16));
  HeldStream trainer(1);
  consumer.set_cuda_stream(trainer.handle());
  REQUIRE(scene.publish(16) == 16);
  std::optional<Batch> batch = consumer.next();
  REQUIRE(batch);
  trainer.read(*batch);
  std::thread dropping([&batch] { batch.reset(); });
  scene.fill_up();
  CHECK(leases(consumer) == 1);
  trainer.release();
  dropping.join();
  CHECK(trainer.fault() == "");
  CHECK(eventually([&] { return leases(consumer) == 0; }));
}

TEST_CASE("a batch that could not be copied goes with its consumer", "[gpu]") {
  const FakeSettings fake(settings);
  Scene scene(Where::device);
  ConsumerOptions options = scene.consumer(16);
  options.access = Access::private_copy;
  std::optional<Consumer> consumer(std::in_place, options);
  REQUIRE(scene.publish(16) == 16);
  batchcast_fake_cuda_configure("granularity=4K alloc_limit=4K");
  CHECK_THROWS_AS(consumer->next(), OutOfMemory);
  CHECK(leases(*consumer) == 1);  // it comes again, unless nobody asks for it any more
  batchcast_fake_cuda_configure(settings);
  consumer.reset();
  CHECK(eventually([&] { return state_of_first(scene.producer()) == "gone"; }));
  Consumer other(options);
  CHECK(scene.publish(32) == 32);
  const std::optional<Batch> next = other.next();
  REQUIRE(next);
  CHECK(fault_of(*next) == "");
}

TEST_CASE("a batch that no stream reads is released soon after its drop", "[gpu]") {
  const Where where = GENERATE(from_range(possible_places()));
  const FakeSettings fake(settings_for(where, settings));
  Scene scene(where);
  Consumer consumer(scene.consumer(16));
  REQUIRE(scene.publish(16) == 16);
  std::optional<Batch> batch = consumer.next();
  REQUIRE(batch);
  CHECK(fault_of(*batch) == "");
  batch.reset();
  CHECK(eventually([&] { return leases(consumer) == 0; }));
}

TEST_CASE("who leaves is counted on until its streams have passed", "[gpu]") {
  const Where where = GENERATE(from_range(possible_places()));
  const FakeSettings fake(settings_for(where, settings));
  const bool batch_goes_first = GENERATE(true, false);
  Scene scene(where);
  const auto pinned = [] {  // on a GPU it is the mirror that pins, at a time of its own
    return batchcast_fake_cuda_is_fake() ? batchcast_fake_cuda_count().registered_bytes : 0;
  };
  const std::uint64_t pinned_before = pinned();
  std::optional<Consumer> consumer(std::in_place, scene.consumer(16));
  HeldStream trainer;
  consumer->set_cuda_stream(trainer.handle());
  REQUIRE(scene.publish(16) == 16);
  std::optional<Batch> batch = consumer->next();
  REQUIRE(batch);
  trainer.read(*batch);
  if (batch_goes_first) batch.reset();
  consumer.reset();
  batch.reset();
  scene.fill_up();
  CHECK(state_of_first(scene.producer()) != "gone");
  trainer.release();
  CHECK(trainer.fault() == "");
  CHECK(eventually([&] { return state_of_first(scene.producer()) == "gone"; }));
  if (where == Where::device) return;
  CHECK(eventually([&] { return pinned() == pinned_before; }));
}

TEST_CASE("next waits for streams rather than find the ring too small", "[gpu]") {
  const Where where = GENERATE(from_range(possible_places()));
  const FakeSettings fake(settings_for(where, settings));
  Scene scene(where);
  const std::uint64_t size = Consumer(scene.consumer(1)).capacity() * 2 / 5;
  Consumer consumer(scene.consumer(size));
  HeldStream trainer;
  consumer.set_cuda_stream(trainer.handle());
  const Publishing publishing(scene);
  std::optional<Batch> first = consumer.next();
  std::optional<Batch> second = consumer.next();
  trainer.read(*first);
  SECTION("dropped: they come back without anybody's doing") {
    first.reset();
    second.reset();
    CHECK(consumer.try_next(60).outcome == Outcome::timed_out);
    std::thread releases([&] { trainer.release(); });
    const std::optional<Batch> third = consumer.next();
    releases.join();
    REQUIRE(third);
    CHECK(third->position() == 2 * size);
    CHECK(trainer.fault() == "");
  }
  SECTION("one is held, which no stream gives back") {
    second.reset();
    CHECK(consumer.try_next(60).outcome == Outcome::timed_out);
    trainer.release();
    CHECK_THROWS_AS(consumer.next(), RingTooSmall);
    CHECK_THROWS_WITH(consumer.next(),
                      Catch::Contains(where == Where::device ? "--device-memory" : "(--memory)"));
  }
}

TEST_CASE("a consumer that lets go pauses when its streams have passed", "[gpu]") {
  const Where where = GENERATE(from_range(possible_places()));
  const FakeSettings fake(settings_for(where, settings));
  Scene scene(where);
  ConsumerOptions options = scene.consumer(16);
  options.between_epochs = BetweenEpochs::let_go;
  Consumer consumer(options);
  HeldStream trainer;
  const Publishing publishing(scene);
  consumer.set_cuda_stream(trainer.handle());
  std::optional<Batch> batch = consumer.next();
  REQUIRE(batch);
  trainer.read(*batch);
  batch.reset();
  consumer.leave_epoch();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(state_of_first(scene.producer()) != "paused");
  CHECK(consumer.try_next(20).outcome == Outcome::timed_out);  // it waits for its own pause
  trainer.release();
  CHECK(trainer.fault() == "");
  CHECK(eventually([&] { return state_of_first(scene.producer()) == "paused"; }));
}

TEST_CASE("a stream that failed holds nothing", "[gpu]") {
  const FakeSettings fake(settings_for(Where::pinned, settings));
  Scene scene(Where::pinned);
  HeldStream trainer;
  Consumer consumer(scene.consumer(16));
  consumer.set_cuda_stream(trainer.handle());
  REQUIRE(scene.publish(16) == 16);
  std::optional<Batch> batch = consumer.next();
  REQUIRE(batch);
  trainer.read(*batch);
  batch.reset();
  CHECK(leases(consumer) == 1);
  batchcast_fake_cuda_lose(0, 46);  // CUDA_ERROR_DEVICE_UNAVAILABLE
  CHECK(eventually([&] { return leases(consumer) == 0; }));
}

TEST_CASE("a forked child leaves its parent's streams and batches alone", "[gpu][fork]") {
  const Where where = GENERATE(from_range(possible_places()));
  const FakeSettings fake(settings_for(where, settings));
  Scene scene(where);
  std::optional<Consumer> consumer(std::in_place, scene.consumer(16));
  HeldStream trainer;
  consumer->set_cuda_stream(trainer.handle());
  REQUIRE(scene.publish(32) == 32);
  std::optional<Batch> pending = consumer->next();
  std::optional<Batch> batch = consumer->next();
  REQUIRE(pending);
  REQUIRE(batch);
  trainer.read(*batch);
  pending.reset();
  const ChildEnd end = in_child([&] {
    try {
      static_cast<void>(consumer->next());
      return 3;
    } catch (const Forked&) {
    }
    batch.reset();
    consumer.reset();
    try {
      const Consumer another(scene.consumer(16));
      return 4;
    } catch (const Forked&) {
      return 0;
    }
  });
  INFO(end.output);
  CHECK(end.exited_with(0));
  CHECK(leases(*consumer) == 2);
  batch.reset();
  trainer.release();
  CHECK(trainer.fault() == "");
  CHECK(eventually([&] { return leases(*consumer) == 0; }));
}

// Run by the test below, in a process of its own.
TEST_CASE("a process that exits with batches on its streams", "[.][hidden]") {
  static Scene* const scene = new Scene(Where::pinned);  // its threads end with the process
  static HeldStream* const trainer = new HeldStream;
  static std::optional<Batch> kept;  // destroyed by exit()
  static Consumer consumer(scene->consumer(16));
  consumer.set_cuda_stream(trainer->handle());
  REQUIRE(scene->publish(32) == 32);
  std::optional<Batch> pending = consumer.next();
  kept = consumer.next();
  trainer->read(*pending);
}

TEST_CASE("a process exits whatever its streams still have to do", "[gpu][fake]") {
  std::string folder = std::filesystem::temp_directory_path() / "batchcast-exit-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);  // for what a producer that only exits leaves there
  const Ended ended = run_hidden(
      "BATCHCAST_FAKE_CUDA='granularity=4K read_only_register=1' TMPDIR='" + folder + "'",
      "a process that exits with batches on its streams");
  std::filesystem::remove_all(folder);
  INFO(ended.output);
  CHECK(ended.status == 0);
}
