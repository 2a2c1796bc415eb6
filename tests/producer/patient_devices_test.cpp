// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "producer/patient_devices.hpp"
#include "../catch.hpp"
#include "../temporary_folder.hpp"
#include "life/life_files.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>

#include <string>
#include <string_view>
#include <vector>

using namespace batchcast;
using namespace batchcast::detail;
using namespace batchcast::testing;

TEST_CASE("a producer waits for a GPU's memory while trainers may have the last ring there") {
  const TemporaryFolder folder;
  Life life;
  life.identity = life.incarnation = std::string(32, 'a');
  LifeMember member;
  member.key = {life.incarnation, 1};
  member.lock = "a.1";
  member.name = "t1";
  member.ring = "GPU-1";
  FileDescriptor lock = make_member_lock(folder.path(), member.lock);
  int tries = 0;
  const auto full_until = [&tries](int number) {
    if (++tries < number) throw OutOfMemory("no room.");
  };
  DeviceRingMaker devices;
  devices.look_at = [&](const ProducerOptions&, Placement) {
    full_until(3);
    return DeviceRingOutlook{};
  };
  std::vector<std::string> told;
  const DeviceRingMaker waits = patient(
      devices, folder.path(), [&](LogLevel, std::string_view text) { told.emplace_back(text); });
  const auto look = [&] { static_cast<void>(waits.look_at({}, "cuda:0")); };
  SECTION("one that lives") {
    life.members = {member};
    write_life(folder.path(), life);
    look();
    CHECK(tries == 3);
    REQUIRE(told.size() == 1);
    CHECK(told.front().find("no room. ") == 0);
    CHECK(told.front().find("`t1` (pid ") != std::string::npos);
  }
  SECTION("none") {
    CHECK_THROWS_AS(look(), OutOfMemory);
    CHECK(tries == 1);
  }
  SECTION("one that is dead") {
    life.members = {member};
    write_life(folder.path(), life);
    lock.reset();
    CHECK_THROWS_AS(look(), OutOfMemory);
  }
  SECTION("one in host memory") {
    member.ring = "host";
    life.members = {member};
    write_life(folder.path(), life);
    CHECK_THROWS_AS(look(), OutOfMemory);
  }
}
