// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/layout.hpp>
#include "stream/stream_directory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <variant>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

/// A consumer made by hand, that has its desk's file and thinks nothing of the rules.
class Intruder {
 public:
  explicit Intruder(Pace pace) {
    DoorAttempt attempt = connect_door(find_stream("s").places.at(0).door);
    Hello hello;
    hello.layout_version = layout_version;
    hello.name = "intruder";
    hello.pace = pace;
    hello.join = Join::now;
    const FileDescriptor pidfd = own_pidfd();
    const int descriptors[] = {pidfd.get()};
    const DoorRead read = attempt.connection.ask(encode(hello), descriptors, answer_, 64, 5'000);
    if (read != DoorRead::message) return;
    const ProducerMessage message = decode_from_producer(answer_.text);
    const auto* welcome = std::get_if<Welcome>(&message);
    if (welcome == nullptr) return;
    welcome_ = *welcome;
    connection_ = std::move(attempt.connection);
    board_ = static_cast<std::byte*>(::mmap(nullptr, welcome_.board_bytes, PROT_READ, MAP_SHARED,
                                            answer_.descriptors[0].get(), 0));
    desk_ = static_cast<std::byte*>(::mmap(nullptr, welcome_.desk_bytes, PROT_READ | PROT_WRITE,
                                           MAP_SHARED, answer_.descriptors[1].get(), 0));
  }
  ~Intruder() {
    if (board_ != nullptr) ::munmap(board_, welcome_.board_bytes);
    if (desk_ != nullptr) ::munmap(desk_, welcome_.desk_bytes);
  }
  Intruder(const Intruder&) = delete;
  Intruder& operator=(const Intruder&) = delete;

  [[nodiscard]] bool admitted() const noexcept { return desk_ != nullptr && board_ != nullptr; }
  [[nodiscard]] bool evicted() const noexcept {
    const auto* head = reinterpret_cast<const BoardHead*>(board_);
    const auto* entries = reinterpret_cast<const ConsumerEntry*>(board_ + head->consumers_offset);
    return entries[welcome_.consumer_index].consumer_id.load() != welcome_.consumer_id;
  }
  [[nodiscard]] std::uint64_t published() const noexcept {
    return reinterpret_cast<const BoardProgress*>(board_ + progress_offset)->published.load();
  }
  [[nodiscard]] Desk& desk() const noexcept { return *reinterpret_cast<Desk*>(desk_); }
  [[nodiscard]] std::atomic<std::uint64_t>& word(std::size_t index) const noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(desk_)[index];
  }
  [[nodiscard]] const DoorMessage& answer() const noexcept { return answer_; }
  [[nodiscard]] const Welcome& welcome() const noexcept { return welcome_; }

 private:
  DoorMessage answer_;
  Welcome welcome_;
  DoorConnection connection_;
  std::byte* board_ = nullptr;
  std::byte* desk_ = nullptr;
};

/// Random garbage in its desk, now in one word, now in any.
int mutate(const Words& words) {
  std::mt19937_64 random(static_cast<std::uint64_t>(words.number("seed")));
  const std::int64_t mutations = words.number("mutations");
  std::int64_t done = 0;
  std::int64_t evictions = 0;
  std::int64_t turned_away = 0;
  // A busy producer may see no garbage in time for the first visits.
  const std::uint64_t until_ns = now_ns() + 10'000'000'000;
  while (done < mutations || (evictions == 0 && now_ns() < until_ns)) {
    Intruder intruder(random() % 2 == 0 ? Pace::lockstep : Pace::free);
    if (!intruder.admitted()) {
      if (++turned_away > 1'000) break;
      pause_us(1'000);
      continue;
    }
    const std::uint64_t burst = 1 + random() % 300;
    for (std::uint64_t i = 0; i < burst; ++i, ++done) {
      const std::size_t index = random() % (random() % 2 == 0 ? sizeof(Desk) / 8 : 512);
      const std::uint64_t published = intruder.published();
      const std::uint64_t values[] = {random(), random() % 64, published + random() % 5'000,
                                      published - random() % 5'000, ~std::uint64_t{0}};
      intruder.word(index) = values[random() % std::size(values)];
      if (random() % 4 == 0) intruder.desk().released = intruder.published();
      intruder.desk().release_sequence.fetch_add(1);
    }
    if (eventually([&] { return intruder.evicted(); }, 5)) ++evictions;
  }
  say("mutated done=" + std::to_string(done) + " evictions=" + std::to_string(evictions));
  return 0;
}

const RoleRegistration role("mutate", mutate);

}  // namespace

TEST_CASE("a desk full of garbage costs nobody but its consumer", "[desk][short]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("desk garbage") % 1'000'000;
  // A position that never moves is given back as the intruder leaves. A stall time-out as short as
  // its visits would evict honest consumers, too, that a busy machine keeps off their processors.
  Server server(producer_options("small", 1'009, 64 << 10), {});
  std::vector<Process> honest;
  for (const char* batch : {"batch=37", "batch=64"}) {
    honest.emplace_back("consume", std::vector<std::string>{batch, "name=honest"});
    static_cast<void>(honest.back().expect("attached"));
  }
  const std::uint64_t mutations = scaled(100'000, 2'000);
  Process intruder("mutate",
                   {"mutations=" + std::to_string(mutations), "seed=" + std::to_string(seed)});
  const Words words = intruder.expect("mutated", 120'000);
  std::printf("desk garbage: %s, longest wait for a loan %.0f ms\n", words.line().c_str(),
              server.longest_wait_seconds() * 1e3);
  CHECK(words.number("done") >= static_cast<std::int64_t>(mutations));
  CHECK(words.number("evictions") > 0);
  server.stop();
  for (Process& consumer : honest) {
    const Words end = consumer.expect("done");
    INFO(end.line() << server.lines_with("evicted"));
    CHECK(end.text("sound") == "yes");
    CHECK(end.text("over") == "Stopped");
    CHECK(end.number("mismatched") == 0);
  }
  CHECK(server.lines_with("`honest").find("evicted") == std::string::npos);
  CHECK(server.longest_wait_seconds() < 2);
}

TEST_CASE("what comes through the door can be neither shrunk nor written", "[desk][short]") {
  const OwnDirectory directory;
  Server server(producer_options(), {});
  Intruder intruder(Pace::free);
  REQUIRE(intruder.admitted());
  const auto& descriptors = intruder.answer().descriptors;
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    if (i == 2) continue;  // the producer's pidfd
    const int fd = descriptors[i].get();
    INFO("descriptor " << i);
    CHECK(::ftruncate(fd, 0) != 0);
    CHECK(::ftruncate(fd, 1 << 30) != 0);
    if (i == 1) continue;  // the desk is its own to write
    char byte = 0;
    CHECK(::pwrite(fd, &byte, 1, 0) != 1);
    void* at = ::mmap(nullptr, 4'096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(at == MAP_FAILED);
    at = ::mmap(nullptr, 4'096, PROT_READ, MAP_SHARED, fd, 0);
    REQUIRE(at != MAP_FAILED);
    CHECK(::mprotect(at, 4'096, PROT_READ | PROT_WRITE) != 0);
    ::munmap(at, 4'096);
  }
}
