// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Rings on GPUs among processes, over the fake driver. What rings of both kinds promise is tested
// by the other files, which take either (BATCHCAST_TEST_PLACEMENT).

#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/stream.hpp>
#include "../catch.hpp"
#include "../fake_cuda/control.hpp"
#include "consume.hpp"
#include "fake_gpus.hpp"
#include "process.hpp"
#include "rank.hpp"
#include "serve.hpp"
#include "start_support.hpp"

#include <memory>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// Drops a batch while a stream, which makes no progress, still has to read it; and waits.
int read_for_ever(const Words& words) {
  Consumer consumer(consumer_options(words));
  const auto device = detail::cuda::Device::open(0);
  const detail::cuda::DeviceBuffer memory(device, 1 << 20);
  detail::cuda::Stream stream(device);
  batchcast_fake_cuda_hold(stream.handle());
  consumer.set_cuda_stream(stream.handle());
  auto batch = consumer.next();
  if (!batch) return 4;
  const auto view = batch->device_field<std::byte>(0);
  stream.copy_on_device(memory.data(), view.data(), view.size() * view.sample_stride_bytes());
  batch.reset();
  say("reads position=0");
  while (hear()) {
  }
  return 0;
}

const RoleRegistration role("read_for_ever", read_for_ever);

}  // namespace

TEST_CASE("what is mapped of a killed producer's GPU ring can be read still", "[gpu][short]") {
  const Gpus gpus("granularity=4K");
  const OwnDirectory directory;
  Process producer("produce", {"place=cuda:0", "threads=2", "n=100000"});
  static_cast<void>(producer.expect("serves"));
  Process holder("hold_one", {"placement=cuda:0", "batch=32"});
  static_cast<void>(holder.expect("holds"));
  std::vector<Process> readers;
  for (const char* batch : {"batch=7", "batch=37"}) {
    readers.emplace_back(
        "consume", std::vector<std::string>{"placement=cuda:0", batch, "hold=2", "pause_us=300"});
    static_cast<void>(readers.back().expect("attached"));
  }
  CHECK(batchcast_fake_cuda_used_bytes(0) > 0);
  producer.kill();
  static_cast<void>(producer.wait());
  for (Process& reader : readers) static_cast<void>(expect_sound(reader, "ProducerGone"));
  holder.tell("check");
  CHECK(holder.expect("checked").text("sound") == "yes");
  CHECK(batchcast_fake_cuda_used_bytes(0) > 0);  // until the last who maps it is gone
}

TEST_CASE("a consumer killed with copies in flight gives its space back", "[gpu][short]") {
  const Gpus gpus("granularity=4K");
  const OwnDirectory directory;
  ProducerOptions options = producer_options("small", 1'000, 64 << 10);
  options.places = {"cuda:0"};
  Server server(std::move(options), {});
  Process keen("consume", {"placement=cuda:0", "name=keen"});
  static_cast<void>(keen.expect("attached"));
  const std::uint64_t of_one = batchcast_fake_cuda_used_bytes(0);
  for (int round = 0; round < 3; ++round) {
    Process reader("read_for_ever", {"placement=cuda:0", "name=reader", "join=now"});
    static_cast<void>(reader.expect("reads"));
    std::uint64_t published = 0;
    // Until it is in the way: nothing comes for a while.
    CHECK(eventually([&] {
      const std::uint64_t before = std::exchange(published, server.producer().stats().published);
      pause_us(50'000);
      return before != 0 && before == published;
    }));
    reader.kill();
    CHECK(eventually([&] { return server.producer().stats().published > published + 10'000; }));
    static_cast<void>(reader.wait());
    CHECK(eventually([&] { return batchcast_fake_cuda_used_bytes(0) == of_one; }));
  }
  server.stop();
  static_cast<void>(expect_sound(keen, "Stopped"));
}

TEST_CASE("without exported descriptors a GPU ring is shared the old way", "[gpu][short]") {
  const Gpus gpus("granularity=4K export=0");
  const OwnDirectory directory;
  ProducerOptions options = producer_options("padded", 1'009, 128 << 10);
  options.places = {"cuda:0"};
  options.epochs = 6;
  options.wait_for = 3;
  Server server(std::move(options), {.threads = 2});
  std::vector<Process> consumers;
  for (const char* how : {"hold=1", "access=private", "dance=1"}) {
    consumers.emplace_back("consume",
                           std::vector<std::string>{"placement=cuda:0", "batch=23", how});
  }
  server.join();
  CHECK(server.producer().finish());
  for (Process& consumer : consumers) {
    const Words words = expect_sound(consumer, "StreamFinished");
    CHECK(words.number("matched") == 6);
    CHECK(words.number("samples") == 6 * 1'009);
  }
}

TEST_CASE("a stream that a trainer on a GPU starts is served there", "[gpu][start][short]") {
  const Gpus gpus("granularity=4K");
  const OwnDirectory directory;
  const Ledger ledger;
  ConsumerOptions options;
  options.stream = "s";
  options.placement = "cuda:0";
  options.connect_timeout_ms = 20'000;
  options.start.source = "synthetic:3x8x8";
  options.start.command = "/proc/self/exe";
  options.start.memory = 512 << 10;
  options.start.idle_exit_s = 60;
  options.start.arguments = ledger.words();
  {
    Consumer consumer(options);
    const auto batch = consumer.next();
    REQUIRE(batch);
    CHECK(batch->placement() == options.placement);
    CHECK(consumer.name() != "recipe-check");
  }
  ledger.end_all();
  CHECK(ledger.all_gone());
  CHECK(ledger.runs() == 1);
}

TEST_CASE("the ranks of a group may be on GPUs of their own", "[gpu][groups][short]") {
  const Gpus gpus("granularity=4K devices=2");
  const OwnDirectory directory;
  ProducerOptions options = producer_options("small", 500, 64 << 10);
  options.places = {"cuda:0", "cuda:1"};
  options.wait_for = 2;  // the group is one
  Server server(std::move(options), {.threads = 2});
  const auto send = [](std::vector<std::string> words) {
    std::vector<Process> ranks;
    for (const char* place : {"cuda:0", "cuda:1", "host"}) {
      words.resize(2);
      words.push_back(std::string("placement=") + place);
      words.push_back("rank=" + std::to_string(ranks.size()));
      words.push_back("world=3");
      ranks.emplace_back("rank", words);
    }
    return ranks;
  };
  std::vector<Process> ranks = send({"batch=20", "epochs=3"});
  for (Process& rank : ranks) CHECK(rank.expect("attached").number("cursor") == 0);
  CHECK(server.producer().stats().published == 0);
  Process single("consume", {"batch=37", "placement=host"});
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ConsumerOptions own = rank_options(static_cast<std::uint32_t>(rank), 3, 20);
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::string parts;
      for (const Part& part : parts_of(own, epoch * 500, (epoch + 1) * 500)) {
        parts += std::to_string(part.position) + ":" + std::to_string(part.size) + ",";
      }
      CHECK(ranks[rank].expect("loop").text("parts") == parts);
    }
    const Words done = ranks[rank].expect("done");
    INFO(done.line());
    CHECK((done.text("sound") == "yes" && done.text("over") == "left"));
  }
  // What happens to one of them is told on every ring.
  std::vector<Process> again = send({"batch=10", "join=next_epoch"});
  for (Process& rank : again) static_cast<void>(rank.expect("attached"));
  again[1].kill();
  for (const std::size_t rank : {0, 2}) {
    const Words done = again[rank].expect("done");
    INFO(done.line());
    CHECK((done.text("sound") == "yes" && done.text("over") == "GroupBroken"));
  }
  server.stop();
  static_cast<void>(expect_sound(single, "Stopped"));
}
