// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>

#include "catch.hpp"
#include "ring/child.hpp"
#include "temporary_folder.hpp"

#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using batchcast::testing::in_child;

namespace {

Consumer attached_to(const std::string& directory) {
  return Consumer({.stream = "moved", .batch_size = 2, .directory = directory});
}

}  // namespace

TEST_CASE("a consumer that was moved from ends the process in words, and can be assigned to") {
  const batchcast::testing::TemporaryFolder directory;
  Producer producer({.stream = "moved",
                     .schema = {{"value", DType::u64}},
                     .memory = 64 << 10,
                     .samples_per_epoch = 4,
                     .directory = directory.path()});
  Consumer consumer = attached_to(directory.path());
  Consumer other = std::move(consumer);
  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"next", [&] { static_cast<void>(consumer.next()); }},
      {"try_next", [&] { static_cast<void>(consumer.try_next(0)); }},
      {"begin", [&] { static_cast<void>(consumer.begin()); }},
      {"leave_epoch", [&] { consumer.leave_epoch(); }},
      {"cursor", [&] { static_cast<void>(consumer.cursor()); }},
      {"check", [&] { consumer.check(); }},
      {"name", [&] { static_cast<void>(consumer.name()); }},
      {"stats", [&] { static_cast<void>(consumer.stats()); }},
      {"schema", [&] { static_cast<void>(consumer.schema()); }},
      {"set_batch_size", [&] { consumer.set_batch_size(3); }},
  };
  for (const auto& [name, call] : calls) {
    INFO(name);
    const auto end = in_child([&call = call] {
      ::signal(SIGABRT, SIG_DFL);  // not the test framework's
      call();
      return 0;
    });
    CHECK(end.died_of(SIGABRT));
    CHECK_THAT(end.output, Catch::Contains("this Consumer was moved from"));
  }
  consumer = std::move(other);
  CHECK(consumer.batch_size() == 2);
  CHECK(consumer.cursor() == 0);
}
