// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>

using namespace batchcast;
using namespace batchcast::testing;

TEST_CASE("a second consumer of one name gets another", "[names][short]") {
  const OwnDirectory directory;
  Server server(producer_options(), {});
  Process first("consume", {"name=lr-0.1"});
  CHECK(first.expect("attached").text("name") == "lr-0.1");
  Process second("consume", {"name=lr-0.1"});
  CHECK(second.expect("attached").text("name") == "lr-0.1-2");
  Process third("consume", {"name=lr-0.1"});
  CHECK(third.expect("attached").text("name") == "lr-0.1-3");
  second.kill();
  CHECK(eventually([&] { return server.producer().stats().consumers.size() == 2; }, 2'000));
  Process fourth("consume", {"name=lr-0.1"});
  CHECK(fourth.expect("attached").text("name") == "lr-0.1-2");
}

TEST_CASE("an evicted consumer is told why", "[names][short]") {
  const OwnDirectory directory;
  Server server(producer_options(), {});
  Process consumer("consume", {"name=greedy"});
  static_cast<void>(consumer.expect("attached"));
  CHECK_FALSE(server.producer().evict("nobody", "no reason"));
  CHECK(server.producer().evict("greedy", "it takes too much"));
  const Words words = consumer.expect("done");
  INFO(words.line());
  CHECK(words.text("over") == "Revoked");
  CHECK(words.line().find("it takes too much") != std::string::npos);
  CHECK(eventually([&] { return server.producer().stats().consumers.empty(); }, 2'000));
}

TEST_CASE("a directory that somebody removes is back within a second", "[names][short]") {
  const OwnDirectory directory;
  Server server(producer_options(), {});
  Process before("consume", {"name=before"});
  static_cast<void>(before.expect("attached"));
  Process after("consume", {"name=after", "epochs=2", "told=1"});
  static_cast<void>(after.expect("ready"));
  const double starved_before_ms = starved_ms(after);
  const bool all = GENERATE(false, true);
  if (all) {
    std::filesystem::remove_all(directory.path());
  } else {
    std::filesystem::remove(directory.path() + "/s/door");
  }
  const std::uint64_t removed_ns = now_ns();
  after.tell("go");
  static_cast<void>(after.expect("attached"));
  const double starved = std::max(starved_ms(after) - starved_before_ms, 0.0);
  const double seconds = seconds_from_ns(now_ns() - removed_ns) - starved / 1e3;
  std::printf("attached %.0f ms after the %s was removed\n", seconds * 1e3,
              all ? "directory" : "socket");
  CHECK(seconds < (slow_build() ? 5 : 1.2));
  static_cast<void>(expect_sound(after, "left"));
  server.stop();
  static_cast<void>(expect_sound(before, "Stopped"));
}
