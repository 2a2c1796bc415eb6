// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "start/given_up.hpp"
#include "../catch.hpp"
#include "../temporary_folder.hpp"
#include "life/life_files.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

using namespace batchcast;
using namespace batchcast::detail;
using namespace batchcast::testing;

TEST_CASE("a producer that is killed before it serves counts among the deaths in a row") {
  const TemporaryFolder folder;
  Life life;
  life.identity = life.incarnation = std::string(32, 'a');
  life.position = {100};
  LifeMember member;
  member.key = {life.incarnation, 1};
  member.lock = "a.1";
  life.members = {member};
  write_life(folder.path(), life);
  CHECK_FALSE(life_waited_for(folder.path()));
  const FileDescriptor lock = make_member_lock(folder.path(), "a.1");
  for (const std::uint32_t deaths : {0U, 1U, 2U, 3U}) {  // the first one came further
    std::optional<Life> left = life_waited_for(folder.path());
    REQUIRE(left);
    CHECK(deaths_in_a_row(*left) == deaths);
    CHECK(deaths_in_a_row(*life_waited_for(folder.path())) == deaths);  // asked twice
    note_start(folder.path(), *left);
    CHECK(left->greatest == 100);
  }
  std::filesystem::remove_all(folder.path());
  note_start(folder.path(), life);  // it cannot be written
  CHECK(life.deaths == 0);
}
