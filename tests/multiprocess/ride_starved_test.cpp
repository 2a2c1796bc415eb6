// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// No memory, descriptor or address space at any of the calls that make or map shared memory, of a
// producer and of a trainer: what happens to a stream that rides.
#include "../catch.hpp"
#include "consume.hpp"
#include "failing_calls.hpp"
#include "life/life_files.hpp"
#include "process.hpp"
#include "ride.hpp"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr std::uint64_t epoch_samples = 3'000;
constexpr std::uint64_t batch_size = 64;
constexpr int calls_max = 100;  // that any of these processes makes

struct Failure {
  std::string call;
  int error;

  [[nodiscard]] std::vector<std::string> words(int number) const {
    return {"fails=" + call, "fails_at=" + std::to_string(number),
            "fails_with=" + std::to_string(error)};
  }
};

Process started(std::vector<std::string> words = {}) {
  words.insert(words.end(), {"n=" + std::to_string(epoch_samples), "threads=1"});
  return Process("phoenix", words);
}

/// Whether it serves; else it has ended in order, with a reason that it says.
bool serves(Process& producer) {
  const std::optional<std::string> said = producer.line();
  INFO(said.value_or("nothing") << "\n" << producer.errors());
  REQUIRE(said);
  if (said->starts_with("serves")) return true;
  CHECK(said->starts_with("threw batchcast: "));
  CHECK(producer.wait().exited_with(98));
  return false;
}

/// Whether the call failed that was to.
bool stop(Process& producer) {
  producer.tell("stop");
  const bool failed = producer.expect("stops").text("failed") == "yes";
  CHECK(producer.wait().exited_with(0));
  return failed;
}

void take(Consumer& consumer, Checker& checker, int batches) {
  while (batches > 0) {
    if (const auto batch = consumer.next()) checker.see(*batch), --batches;
  }
}

}  // namespace

TEST_CASE("a producer whose memory fails ends in order, and the next one goes on", "[ride]") {
  if (!can_fail()) return;
  const Failure failure =
      GENERATE(Failure{"memfd_create", EMFILE}, Failure{"memfd_create", ENOMEM},
               Failure{"fallocate", ENOSPC}, Failure{"fallocate", ENOMEM}, Failure{"mmap", ENOMEM});
  const OwnDirectory directory;
  Process producer = started();
  REQUIRE(serves(producer));
  ConsumerOptions options = quiet(batch_size);
  options.gone_timeout_s = 20;
  Consumer consumer(options);
  Checker checker(epoch_samples);
  take(consumer, checker, 3);
  for (int number = 1;; ++number) {
    INFO(failure.call << " number " << number);
    REQUIRE(number < calls_max);
    producer.kill();
    static_cast<void>(producer.wait());
    producer = started(failure.words(number));
    if (!serves(producer)) {
      producer = started();
      REQUIRE(serves(producer));
      take(consumer, checker, 20);
      continue;
    }
    // It may fail as the trainer comes, or another one; that trainer comes again.
    const std::string last_life = consumer.incarnation();
    while (consumer.incarnation() == last_life) take(consumer, checker, 1);
    Process other("rider", {"batch=50", "epochs=1"});
    static_cast<void>(other.line());
    take(consumer, checker, 20);
    if (!stop(producer)) {
      CHECK(number > 1);
      break;
    }
    // It ended in order, so its trainer does as well.
    CHECK(checker.fault() == "");
    consumer = [&] {
      producer = started();
      REQUIRE(serves(producer));
      return Consumer(options);
    }();
    checker = Checker(epoch_samples);
    take(consumer, checker, 3);
  }
  CHECK(checker.fault() == "");
}

TEST_CASE("a trainer whose memory fails at the next producer tries again", "[ride]") {
  if (!can_fail()) return;
  const Failure failure = GENERATE(Failure{"mmap", ENOMEM}, Failure{"mmap", EMFILE});
  for (int number = 1;; ++number) {
    INFO(failure.call << " number " << number);
    REQUIRE(number < calls_max);
    const OwnDirectory directory;
    Process producer = started({"stop_at=1000"});
    REQUIRE(serves(producer));
    std::vector<std::string> words = {"batch=64", "epochs=2"};
    const std::vector<std::string> fails = failure.words(number);
    words.insert(words.end(), fails.begin(), fails.end());
    Process rider("rider", words);
    static_cast<void>(rider.expect("attached"));
    producer.expect("made");
    producer.kill();
    static_cast<void>(producer.wait());
    producer = started();
    REQUIRE(serves(producer));
    const Words done = expect_sound(rider, "left");
    CHECK(done.text("digest") == digest_of_ride(batch_size, 2, epoch_samples));
    producer.tell("stop");
    static_cast<void>(producer.wait());
    if (done.text("failed") == "yes") continue;
    CHECK(number > 1);
    break;
  }
}

TEST_CASE("once a disk has room again, trainers keep their places though nothing moved since",
          "[ride][short]") {
  if (!can_fail()) return;
  const OwnDirectory directory;
  const TemporaryFolder folder;
  std::ofstream(folder / "full") << "";
  Process producer =
      started({"fails=rename", "fails_at=1", "fails_times=1000000", "wait_for=2",
               "fails_with=" + std::to_string(ENOSPC), "fails_while=" + (folder / "full")});
  REQUIRE(serves(producer));
  std::optional<Consumer> consumer(std::in_place, quiet(batch_size));
  Checker checker(epoch_samples);
  Process rider("rider", {"batch=37", "epochs=2"});
  take(*consumer, checker, 3);  // then it validates, and the rider waits for it
  pause_us(1'500'000);
  const auto noted = [&] {
    const auto life = detail::read_life(directory.path() + "/s");
    return life ? life->members.size() : 0;
  };
  CHECK(noted() == 0);
  std::filesystem::remove(folder / "full");
  CHECK(eventually([&] { return noted() == 2; }));
  producer.kill();
  static_cast<void>(producer.wait());
  producer = started();
  REQUIRE(serves(producer));
  pause_us(500'000);  // the rider would be a ring further by now
  take(*consumer, checker, 10);
  CHECK(checker.fault() == "");
  consumer.reset();
  CHECK(expect_sound(rider, "left").text("digest") == digest_of_ride(37, 2, epoch_samples));
  static_cast<void>(stop(producer));
}

TEST_CASE("a life file that cannot be written costs one warning, and no trainer its place",
          "[ride][short]") {
  if (!can_fail()) return;
  const OwnDirectory directory;
  const std::vector<std::string> full_disk = {"fails=rename", "fails_at=1", "fails_times=1000000",
                                              "fails_with=" + std::to_string(ENOSPC)};
  std::vector<std::string> waits = full_disk;
  waits.emplace_back("wait_for=2");
  Process producer = started(waits);
  REQUIRE(serves(producer));
  Process rider("rider", {"batch=64", "epochs=12", "pause_us=2000"});
  static_cast<void>(rider.expect("attached"));
  for (int death = 0; death < 2; ++death) {
    Process other("rider", {"batch=37"});  // where two rode, neither's place would be known
    static_cast<void>(other.expect("attached"));
    pause_us(100'000);
    other = Process();
    producer.kill();
    static_cast<void>(producer.wait());
    producer = started(full_disk);
    REQUIRE(serves(producer));
  }
  CHECK(expect_sound(rider, "left").text("digest") == digest_of_ride(64, 12, epoch_samples));
  producer.tell("stop");
  CHECK(producer.expect("stops").number("warnings") == 1);
  static_cast<void>(producer.wait());
}
