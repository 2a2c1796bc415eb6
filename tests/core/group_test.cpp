// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/group.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

using namespace batchcast;
using Catch::Contains;

TEST_CASE("a group is read as it is written") {
  CHECK(Group("resnet:1/4") == Group("resnet", 1, 4));
  CHECK(Group("none@host:29500:0/1") == Group("none@host:29500", 0, 1));
  CHECK(Group("a/b:c:3/4") == Group("a/b:c", 3, 4));
  CHECK(Group(std::string(63, 'x') + ":0/2").name == std::string(63, 'x'));
  for (const char* text : {"resnet:1/4", "auto", "a b:0/1"}) CHECK(Group(text).text() == text);

  CHECK(Group("auto").automatic);
  CHECK(Group("auto").world == 0);
  CHECK(Group().text().empty());
  CHECK(Group("auto:0/2") == Group("auto", 0, 2));
}

TEST_CASE("a group on one of several nodes says which of the job's ranks it has") {
  const Group group("resnet:1/2@4/8");
  CHECK(group.name == "resnet");
  CHECK(group.rank == 1);
  CHECK(group.world == 2);
  CHECK(group.job_first == 4);
  CHECK(group.job_world == 8);
  CHECK(group.text() == "resnet:1/2@4/8");
  CHECK(group != Group("resnet:1/2"));
  CHECK(Group("none@host:29500:0/1@3/4").name == "none@host:29500");
  CHECK(Group("a@b/c:0/2").name == "a@b/c");
  CHECK(Group("a@1/2:0/2").name == "a@1/2");
}

TEST_CASE("a group takes numbers of any integer types, and refuses those that are none of a rank") {
  const int rank = 1;
  const std::size_t world = 4;
  Group group;
  group = {"resnet", rank, world};
  CHECK(group == Group("resnet:1/4"));
  CHECK_THROWS_WITH(Group("resnet", -1, 4), Contains("rank cannot be -1"));
  CHECK_THROWS_AS(Group("resnet", 0, std::int64_t{1} << 32), InvalidArgument);
}

TEST_CASE("what is no group is refused, with what one is") {
  struct Case {
    std::string text;
    const char* why;
  };
  const std::vector<Case> cases = {
      {"", "it is empty; leave it out where there is none"},
      {"resnet", "it has no rank and world"},
      {"resnet:1", "it has no rank and world"},
      {"1/4", "it has no rank and world"},
      {"Auto", "it has no rank and world"},
      {":1/4", "it has no name"},
      {"resnet:4/4", "ranks are numbered from 0, so that RANK is below WORLD"},
      {"resnet:0/0", "RANK is below WORLD"},
      {"resnet:-1/4", "its rank is `-1`, not a number"},
      {"resnet:/4", "its rank is ``, not a number"},
      {"resnet:0/", "its world is ``, not a number"},
      {"resnet:0/4 ", "its world is `4 `, not a number"},
      {"resnet:0/99999999999", "its world is `99999999999`, not a number"},
      {"resnet:0/2@7/8", "a job of 8 ranks has no 2 from its rank 7 on"},
      {"resnet:0/2@9/8", "a job of 8 ranks has no 2 from its rank 9 on"},
      {"resnet:0/2@x/8", "its first rank of the job is `x`, not a number"},
      {"resnet:0/2@0/", "the job's world is ``, not a number"},
      {"resnet:0/2@4", "its world is `2@4`, not a number"},
      {"res\tnet:0/4", "characters other than printable ASCII"},
      {"résnet:0/4", "characters other than printable ASCII"},
      {std::string(64, 'x') + ":0/4", "its name takes 64 bytes, more than 63"},
  };
  for (const Case& one : cases) {
    INFO(one.text);
    CHECK_THROWS_AS(Group(one.text), InvalidArgument);
    CHECK_THROWS_WITH(Group(one.text), Contains("is no group: ") && Contains(one.why) &&
                                           Contains("It is NAME:RANK/WORLD") &&
                                           Contains("`auto` under torchrun, mpirun or srun"));
  }
}
