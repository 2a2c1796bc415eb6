// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/delivery/gpu_delivery.hpp>
#include "../catch.hpp"
#include "consumer_scene.hpp"

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

// What a consumer on a GPU does without waiting for it.
namespace {

constexpr const char* settings = "granularity=4K delay_us=0";

ConsumerOptions private_on_gpu(const Scene& scene) {
  ConsumerOptions options = scene.consumer(16);
  options.access = Access::private_copy;
  return options;
}

/// No stream makes progress while it lives.
struct AllHeld {
  AllHeld() { batchcast_fake_cuda_hold(nullptr); }
  ~AllHeld() { batchcast_fake_cuda_release(nullptr); }
  AllHeld(const AllHeld&) = delete;
  AllHeld& operator=(const AllHeld&) = delete;
};

/// A stream of a trainer's, and memory that it reads batches into.
struct Reads {
  std::shared_ptr<detail::cuda::Device> device = detail::cuda::Device::open(0);
  detail::cuda::DeviceBuffer memory{device, 64 << 10};
  detail::cuda::Stream stream{device};
  std::uint64_t position = 0, samples = 0;

  void enqueue(const Batch& batch) {
    const auto view = batch.device_field<std::byte>("x");
    position = batch.position(), samples = batch.size();
    stream.copy_on_device(memory.data(), view.data(), samples * view.sample_stride_bytes());
  }
  [[nodiscard]] std::string fault() {
    std::vector<std::uint64_t> words(samples * words_per_sample);
    stream.copy_to_host(reinterpret_cast<std::byte*>(words.data()), memory.data(),
                        words.size() * sizeof(std::uint64_t));
    stream.wait();
    return fault_of(words.data(), words_per_sample, position, samples);
  }
};

}  // namespace

TEST_CASE("a private copy on the GPU is awaited by the batch's streams, not by the processor",
          "[gpu][fake]") {
  const FakeSettings fake(settings);
  Scene scene(Where::device);
  Consumer consumer(private_on_gpu(scene));
  Reads own, named;
  consumer.set_cuda_stream(own.stream.handle());
  REQUIRE(scene.publish(48) == 48);
  REQUIRE(eventually([&] { return scene.producer().stats().rings.at(1).published == 48; }));
  REQUIRE(consumer.next());  // whatever is made once is made by now
  REQUIRE(eventually([&] { return consumer.stats().leases_held == 0; }));

  std::optional<AllHeld> held(std::in_place);
  auto taking = std::async(std::launch::async, [&] { return consumer.next(); });
  const bool waited = taking.wait_for(std::chrono::seconds(5)) != std::future_status::ready;
  CHECK_FALSE(waited);
  if (waited) held.reset();
  std::optional<Batch> batch = taking.get();
  REQUIRE(batch);
  own.enqueue(*batch);
  batch->use(named.stream.handle());
  named.enqueue(*batch);
  CHECK(consumer.stats().leases_held == 1);  // its copy has not read the ring yet

  held.reset();
  CHECK(own.fault() == "");
  CHECK(named.fault() == "");
  CHECK(eventually([&] { return consumer.stats().leases_held == 0; }));
  CHECK(batch->writable());
}

TEST_CASE("a consumer's end waits for the GPU on a thread of its own", "[gpu]") {
  const FakeSettings fake(settings);
  Scene scene(Where::device);
  HeldStream reads, unrelated, later;
  std::optional<Consumer> ends(std::in_place, scene.consumer(16));
  Consumer goes_on(scene.consumer(16));
  ends->set_cuda_stream(reads.handle());
  goes_on.set_cuda_stream(later.handle());
  REQUIRE(scene.publish(16) == 16);
  std::optional<Batch> last = ends->next();
  std::optional<Batch> other = goes_on.next();
  struct Releases {  // before a consumer's end waits, whatever failed
    HeldStream &one, &two, &three;
    ~Releases() { one.release(), two.release(), three.release(); }
  } releases{reads, unrelated, later};
  REQUIRE((last && other));
  reads.read(*last);
  later.read(*other);
  unrelated.read(*other);  // what unmapping may wait for, as the tests' driver does
  ends.reset();
  last.reset();
  reads.release();  // nothing else was the consumer there for: its memory goes now
  CHECK(eventually([&] { return scene.producer().stats().consumers.size() == 1; }));
  other.reset();
  CHECK(goes_on.stats().leases_held == 1);
  later.release();
  CHECK(eventually([&] { return goes_on.stats().leases_held == 0; }, 1'500));
}

TEST_CASE("a consumer on `cuda` is on the GPU of its process, and says which", "[gpu]") {
  const FakeSettings fake("devices=2 granularity=4K delay_us=0");
  Scene scene(Where::device, {"cuda:0", "cuda:1"});
  ConsumerOptions options = scene.consumer(16);
  options.placement = "cuda";
  CHECK(options.placement == Placement::on_own_cuda());
  CHECK(options.placement.text() == "cuda");
  CHECK_FALSE(options.placement.is_host());
  const Consumer first(options);
  CHECK(first.placement() == Placement("cuda:0"));
  const auto device = detail::cuda::Device::open(1);
  const detail::cuda::Device::Current current(*device);
  Consumer second(options);
  CHECK(second.placement() == Placement("cuda:1"));
  REQUIRE(scene.publish(16) == 16);
  const std::optional<Batch> batch = second.next();
  REQUIRE(batch);
  CHECK(batch->placement() == Placement("cuda:1"));
  CHECK(fault_of(*batch) == "");
}

TEST_CASE("a batch across two registrations of pinned memory is known", "[gpu]") {
  const FakeSettings fake(settings);
  const std::unique_ptr<detail::Delivery> delivery = detail::make_delivery(0);
  constexpr std::uint64_t border = std::uint64_t{256} << 30;
  CHECK(delivery->in_one_pin(0, border));
  CHECK(delivery->in_one_pin(border, 1));
  CHECK_FALSE(delivery->in_one_pin(border - 1, 2));
  CHECK(delivery->in_one_pin(3 * border - 2, 2));
}
