// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/delivery/gpu_delivery.hpp>
#include "../catch.hpp"
#include "consumer_scene.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <optional>
#include <set>
#include <thread>
#include <utility>

using namespace batchcast;
using namespace batchcast::testing;

// Batches of which the consumer has a copy, on the GPU as on the host.
namespace {

constexpr const char* settings = "granularity=4K delay_us=100";

/// Bytes on the GPU, from and to the host.
class DeviceBytes {
 public:
  explicit DeviceBytes(std::size_t bytes)
      : device_(detail::cuda::Device::open(0)), stream_(device_), memory_(device_, bytes) {}

  [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }
  void set(const std::vector<std::uint8_t>& bytes) {
    stream_.copy_to_device(data(), reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
    stream_.wait();
  }
  [[nodiscard]] std::vector<std::uint8_t> get(std::size_t bytes) {
    std::vector<std::uint8_t> all(bytes);
    stream_.copy_to_host(reinterpret_cast<std::byte*>(all.data()), data(), bytes);
    stream_.wait();
    return all;
  }

 private:
  std::shared_ptr<detail::cuda::Device> device_;
  detail::cuda::Stream stream_;
  detail::cuda::DeviceBuffer memory_;
};

}  // namespace

TEST_CASE("a window of device memory that is mapped once comes out contiguous", "[gpu]") {
  const FakeSettings fake(settings);
  const std::uint64_t stride = GENERATE(5, 8);  // 8: padded
  constexpr std::uint64_t capacity = 40;
  constexpr std::uint64_t sample = 5;
  std::vector<std::uint8_t> ring(capacity * stride, 0xEE);
  for (std::uint64_t i = 0; i < capacity; ++i) {
    for (std::uint64_t b = 0; b < sample; ++b) {
      ring[i * stride + b] = static_cast<std::uint8_t>(i * sample + b);
    }
  }
  DeviceBytes memory(ring.size());
  memory.set(ring);
  const std::unique_ptr<detail::Delivery> delivery = detail::make_delivery(0);
  const FieldWindow window = {memory.data(), capacity, stride, sample};
  DeviceBytes out(capacity * sample);
  for (const std::uint64_t position : {0u, 39u, 72u, 80u}) {
    for (const std::uint64_t samples : {1u, 8u, 40u}) {
      delivery->copy_out(out.data(), window, position, samples);
      delivery->wait_for_copies();
      std::vector<std::uint8_t> expected;
      for (std::uint64_t i = 0; i < samples * sample; ++i) {
        expected.push_back(
            static_cast<std::uint8_t>((position % capacity * sample + i) % (capacity * sample)));
      }
      CHECK(out.get(samples * sample) == expected);
    }
  }
}

TEST_CASE("private batches on the GPU are the consumer's own", "[gpu]") {
  const FakeSettings fake(settings);
  Scene scene(Where::device);
  ConsumerOptions options = scene.consumer(16);
  options.access = Access::private_copy;
  Consumer consumer(options);
  HeldStream trainer;
  consumer.set_cuda_stream(trainer.handle());
  const Publishing publishing(scene);
  std::deque<Batch> held;
  std::set<const std::byte*> places;
  for (int i = 0; i < 40; ++i) {  // more than the ring has room for
    std::optional<Batch> batch = consumer.next();
    REQUIRE(batch);
    REQUIRE(batch->writable());
    const std::byte* const place = batch->device_field<std::byte>("x").data();
    CHECK(places.insert(place).second);
    CHECK(batch->writable_device_field<std::byte>("x").data() == place);
    CHECK_THROWS_AS(batch->writable_device_field<std::uint64_t>("sample_id"), InvalidArgument);
    held.push_back(std::move(*batch));
  }
  for (const Batch& batch : held) CHECK(fault_of(batch) == "");
  CHECK(eventually([&] { return consumer.stats().leases_held == 0; }));
  // Memory of those that the stream still reads is not used again, and does not grow for ever.
  trainer.read(held.front());
  const auto used_now = [] {
    return batchcast_fake_cuda_is_fake() ? batchcast_fake_cuda_used_bytes(0) : 0;
  };
  const std::uint64_t used = used_now();
  held.clear();
  CHECK(consumer.try_next(50).outcome == Outcome::timed_out);
  CHECK(used_now() == used);
  trainer.release();
  CHECK(trainer.fault() == "");
  CHECK(consumer.next());
  CHECK(used_now() == used);
}

TEST_CASE("a write into a host field of a batch on the GPU stays in that batch", "[gpu]") {
  const FakeSettings fake(settings);
  Scene scene(Where::device);
  ConsumerOptions options = scene.consumer(16);
  int warnings = 0;
  options.log = [&](LogLevel level, std::string_view) { warnings += level == LogLevel::warning; };
  Consumer consumer(options);
  const Publishing publishing(scene);
  {
    const std::optional<Batch> batch = consumer.next();
    REQUIRE(batch);
    REQUIRE(batch->keeps_writes());
    auto* const ids = const_cast<std::uint64_t*>(batch->sample_ids().data());
    ids[3] = 77;
    CHECK(batch->sample_ids()[3] == 77);
    ids[3] = batch->position() + 3;
    CHECK(fault_of(*batch) == "");
    ids[5] = 78;
  }
  for (int i = 0; i < 100; ++i) {  // several rounds of the ring
    const std::optional<Batch> batch = consumer.next();
    REQUIRE(batch);
    CHECK_FALSE(batch->writable());
    CHECK_THROWS_AS(batch->writable_device_field<std::byte>("x"), InvalidArgument);
    CHECK(fault_of(*batch) == "");
    const_cast<std::uint64_t&>(batch->sample_ids()[0]) = 79;
  }
  CHECK(warnings == 1);
}

TEST_CASE("writes into what is pinned do not become private", "[gpu]") {
  const FakeSettings fake(settings_for(Where::pinned, settings));
  Scene scene(Where::pinned);
  Consumer consumer(scene.consumer(16));
  const Publishing publishing(scene);
  CHECK_FALSE(consumer.next().value().keeps_writes());
}

TEST_CASE("what could not be copied to the GPU's memory comes again", "[gpu]") {
  const FakeSettings fake(settings);
  Scene scene(Where::device);
  ConsumerOptions options = scene.consumer(16);
  options.access = Access::private_copy;
  Consumer consumer(options);
  REQUIRE(scene.publish(48) == 48);
  const auto ready = [&] { return scene.producer().stats().rings.at(1).published == 48; };
  REQUIRE(eventually(ready));
  const bool first = GENERATE(true, false);
  std::optional<Batch> before;
  if (!first) before = consumer.next();
  const std::uint64_t at = first ? 0 : 16;
  for (int i = 0; i < 3; ++i) {
    std::string failing(settings);
    failing += " alloc_fails=1";
    batchcast_fake_cuda_configure(failing.c_str());
    CHECK_THROWS_AS(consumer.next(), OutOfMemory);
    CHECK(consumer.cursor() == at);
  }
  batchcast_fake_cuda_configure(settings);
  SECTION("at the next call, whatever size is asked for by then") {
    consumer.set_batch_size(8);
    for (const std::uint64_t size : {16, 8}) {
      const std::uint64_t position = consumer.cursor();
      const std::optional<Batch> batch = consumer.next();
      REQUIRE(batch);
      CHECK(batch->position() == position);
      CHECK(batch->size() == size);
      CHECK(fault_of(*batch) == "");
    }
    CHECK(consumer.cursor() == at + 24);
    CHECK(eventually([&] { return consumer.stats().leases_held == 0; }));
  }
  SECTION("unless the rest of the epoch is let go") {
    consumer.leave_epoch();
    CHECK(eventually([&] { return consumer.stats().leases_held == 0; }));
  }
}

TEST_CASE("free pace on the GPU gets nothing torn", "[gpu]") {
  const FakeSettings fake(settings);
  Scene scene(Where::device);
  ConsumerOptions options = scene.consumer(32);
  Consumer gate(options);  // the stream goes as fast as this one takes it
  options.pace = Pace::free;
  Consumer free(options);
  const Publishing publishing(scene);
  std::atomic<bool> stop = false;
  std::thread takes([&] {
    while (!stop) static_cast<void>(gate.try_next(20));
  });
  for (int i = 0; i < 60; ++i) {
    const std::optional<Batch> batch = free.next();
    if (!batch) continue;
    CHECK(fault_of(*batch) == "");
    if (i % 8 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  stop = true;
  takes.join();
  CHECK(free.stats().samples > 0);
}

TEST_CASE("an observer sees the newest of a ring on the GPU", "[gpu]") {
  const FakeSettings fake(settings);
  Scene scene(Where::device);
  ConsumerOptions options = scene.consumer(16);
  Consumer trainer(options);
  options.observes = true;
  Consumer observer(options);
  CHECK_FALSE(observer.newest(8));
  REQUIRE(scene.publish(64) == 64);
  REQUIRE(trainer.next());
  std::optional<Batch> newest;
  CHECK(eventually([&] {
    newest = observer.newest(8);
    return newest && newest->position() == 56;
  }));
  CHECK(newest->size() == 8);
  CHECK(newest->placement() == Placement("cuda:0"));
  CHECK(fault_of(*newest) == "");
}

TEST_CASE("a look at the next batch of a GPU is a copy there, and changes nothing", "[gpu]") {
  const Where where = GENERATE(from_range(possible_places()));
  const FakeSettings fake(settings_for(where, settings));
  Scene scene(where);
  Consumer consumer(scene.consumer(16));
  REQUIRE(scene.publish(64) == 64);
  for (std::uint64_t position = 0; position < 64; position += 16) {
    const std::optional<Batch> seen = consumer.peek();
    REQUIRE(seen);
    CHECK(consumer.cursor() == position);
    CHECK(consumer.stats().batches == position / 16);
    CHECK(seen->position() == position);
    CHECK(seen->placement() == consumer.placement());
    CHECK(seen->writable());
    CHECK(fault_of(*seen) == "");
    const std::optional<Batch> batch = consumer.next();
    REQUIRE(batch);
    CHECK(batch->position() == position);
    CHECK(fault_of(*batch) == "");
  }
}

TEST_CASE("two GPUs and the host at the same time, each ring with its own consumers", "[gpu]") {
  const FakeSettings fake("devices=2 granularity=4K delay_us=50");
  Scene scene(Where::device, {"cuda:0", "cuda:1"});
  std::vector<Consumer> consumers;
  for (const char* place : {"cuda:0", "cuda:1", "host"}) {
    ConsumerOptions options = scene.consumer(10 + consumers.size());
    options.placement = place;
    consumers.emplace_back(options);
    CHECK(consumers.back().placement() == Placement(place));
  }
  const Publishing publishing(scene);
  for (int i = 0; i < 60; ++i) {
    for (Consumer& consumer : consumers) {
      const std::optional<Batch> batch = consumer.next();
      REQUIRE(batch);
      REQUIRE(fault_of(*batch) == "");
    }
  }
  CHECK(consumers[0].cursor() == 600);
  CHECK(consumers[2].cursor() == 720);
}

TEST_CASE("a pinned ring's samples are copied to the GPU wherever a batch lies", "[gpu][fake]") {
  // Told that it is mapped for reading only, or not: then the GPU uses the host's page tables.
  const char* const how = GENERATE("read_only_register=1", "host_page_tables=1");
  const FakeSettings fake(settings + std::string(" ") + how);
  Scene scene(Where::pinned);
  Consumer consumer(scene.consumer(48));
  CHECK(consumer.notes() == "");
  // Both halves, in one piece: no copy crosses from one registration into another.
  CHECK(batchcast_fake_cuda_count().registered_bytes > 2 * (48 << 10));
  const std::uint64_t pageable = batchcast_fake_cuda_count().pageable_copies;
  const Publishing publishing(scene);
  HeldStream trainer;
  trainer.release();
  for (int i = 0; i < 20; ++i) {  // four times around
    const std::optional<Batch> batch = consumer.next();
    REQUIRE(batch);
    CHECK_FALSE(batch->writable());
    trainer.read(*batch);
    batch->use(trainer.handle());
    REQUIRE(trainer.fault() == "");
  }
  CHECK(batchcast_fake_cuda_count().pageable_copies == pageable + 20);  // `fault`'s, each time
}

TEST_CASE("pinned batches are page-locked copies where the ring cannot be page-locked", "[gpu]") {
  const FakeSettings fake(settings);
  Scene scene(Where::pinned);
  ConsumerOptions options = scene.consumer(16);
  SECTION("as drivers of today cannot") {
    if (batchcast_fake_cuda_is_fake()) {
      CHECK_THAT(Consumer(options).notes(), Catch::Contains("page-locked memory"));
    }
  }
  SECTION("and where they are copies anyway") { options.access = Access::private_copy; }
  Consumer consumer(options);
  const Publishing publishing(scene);
  HeldStream trainer;
  consumer.set_cuda_stream(trainer.handle());
  const auto pageable = [] {
    return batchcast_fake_cuda_is_fake() ? batchcast_fake_cuda_count().pageable_copies : 0;
  };
  const std::uint64_t pageable_before = pageable();
  std::optional<Batch> batch = consumer.next();
  REQUIRE(batch);
  trainer.read(*batch);  // returns, though the stream is held: the copy is asynchronous
  CHECK(pageable() == pageable_before);
  if (batchcast_fake_cuda_is_fake() || options.access == Access::private_copy) {
    CHECK(batch->writable());
    CHECK(consumer.stats().leases_held == 0);  // the stream's samples are not held up
  }
  batch.reset();
  // What the stream still has to read is not used again for another.
  CHECK(consumer.try_next(2'000).outcome == Outcome::batch);
  CHECK(consumer.try_next(2'000).outcome == Outcome::batch);
  trainer.release();
  CHECK(trainer.fault() == "");
  for (int i = 0; i < 40; ++i) {  // several rounds of the ring
    batch = consumer.next();
    REQUIRE(batch);
    CHECK(fault_of(*batch) == "");
  }
}

TEST_CASE("page-locked memory that cannot be had for a copy is an error, and loses no samples",
          "[gpu][fake]") {
  const FakeSettings fake(std::string(settings) + " host_alloc_fails=1");
  Scene scene(Where::pinned);
  Consumer consumer(scene.consumer(16));
  REQUIRE(scene.publish(16) == 16);
  CHECK_THROWS_AS(consumer.next(), OutOfMemory);
  const std::optional<Batch> batch = consumer.next();
  REQUIRE(batch);
  CHECK(batch->position() == 0);
  CHECK(fault_of(*batch) == "");
}
