// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "producer/late_rings.hpp"
#include "../catch.hpp"
#include "../temporary_folder.hpp"
#include "life/life_files.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::detail;
using namespace batchcast::testing;
using Catch::Contains;

namespace {

/// What was logged. Thread-safe.
class Told {
 public:
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    texts_.emplace_back(text);
  }
  [[nodiscard]] std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return texts_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> texts_;
};

void until(const auto& condition) {
  for (int i = 0; i < 500 && !condition(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  REQUIRE(condition());
}

}  // namespace

TEST_CASE("trainers of an earlier producer's rings on GPUs are those that live and read there") {
  const TemporaryFolder folder;
  Life life;
  life.identity = life.incarnation = std::string(32, 'a');
  LifeMember member;
  member.key = {life.incarnation, 1};
  member.lock = "a.1";
  member.name = "t1";
  member.pid = 7;
  member.ring = "GPU-1";
  CHECK(who_reads_on_gpus(folder.path()).empty());
  FileDescriptor lock = make_member_lock(folder.path(), member.lock);
  life.members = {member};
  write_life(folder.path(), life);
  CHECK(who_reads_on_gpus(folder.path()) == "`t1` (pid 7)");
  life.members.front().ring = "host";
  write_life(folder.path(), life);
  CHECK(who_reads_on_gpus(folder.path()).empty());
  life.members = {member};
  write_life(folder.path(), life);
  lock.reset();
  CHECK(who_reads_on_gpus(folder.path()).empty());
}

TEST_CASE("a ring without room is tried again as long as a trainer may give room back") {
  Told told;
  std::atomic<bool> reads{true};
  std::atomic<int> tries{0};
  LateRings late([&] { return reads.load() ? std::string("`t1` (pid 7)") : std::string(); },
                 [&](LogLevel, std::string_view text) { told.add(text); });
  CHECK(late.may_wait());
  late.add("GPU-1", "no room.", [&]() -> std::unique_ptr<ServedRing> {
    ++tries;
    throw OutOfMemory("no room.");
  });
  CHECK(late.reason_of("GPU-1") == "no room.");
  CHECK_FALSE(late.reason_of("GPU-2"));
  REQUIRE(told.all().size() == 1);
  CHECK_THAT(told.all().front(), Contains("no room. The ring of the producer before"));
  CHECK_THAT(told.all().front(), Contains("`t1` (pid 7). Trainers there go on once it is gone"));
  until([&] { return tries.load() >= 3; });
  CHECK(late.reason_of("GPU-1"));
  reads.store(false);
  CHECK_FALSE(late.may_wait());
  until([&] { return !late.reason_of("GPU-1"); });
  CHECK_THAT(told.all().back(), Contains("the stream is not served there"));
  CHECK(late.take().empty());
}

TEST_CASE("a ring that cannot be made for another reason is not tried again") {
  Told told;
  std::atomic<int> tries{0};
  LateRings late([] { return std::string("`t1` (pid 7)"); },
                 [&](LogLevel, std::string_view text) { told.add(text); });
  late.add("GPU-1", "no room.", [&]() -> std::unique_ptr<ServedRing> {
    ++tries;
    throw GpuError("it is broken.");
  });
  until([&] { return !late.reason_of("GPU-1"); });
  CHECK(tries.load() == 1);
  CHECK_THAT(told.all().back(), Contains("it is broken."));
}
