// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>
#include <batchcast/core/limits.hpp>
#include "control/transport.hpp"
#include "stream/directory.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <string>

using namespace batchcast;
using batchcast::testing::TemporaryFolder;
using Catch::Matchers::Contains;

namespace {

struct Scene {
  TemporaryFolder folder;
  Producer producer{options()};

  [[nodiscard]] ProducerOptions options() const {
    return {.stream = "told",
            .schema = {{"value", DType::u64}},
            .memory = 64 << 10,
            .samples_per_epoch = 1000,
            .directory = folder.path()};
  }
  [[nodiscard]] std::string ask(const std::string& command) const {
    return ask_control(stream_paths(folder.path(), "told").control, command, 5'000)
        .value_or("no answer");
  }
};

}  // namespace

TEST_CASE("a stall time-out that cannot be is refused in words of ours") {
  const Scene scene;
  for (const char* value : {R"("x")", "null", "[]", "0", "-1", "1e300", "2000001", "true"}) {
    INFO(value);
    const std::string answer =
        scene.ask(std::string(R"({"command":"set","stall_timeout_s":)") + value + "}");
    CHECK_THAT(answer, Contains("`stall_timeout_s` must be a number above 0"));
    CHECK_THAT(answer, !Contains("json"));
  }
  for (const char* value : {"0.0001", "60", "2000000"}) {
    INFO(value);
    CHECK(scene.ask(std::string(R"({"command":"set","stall_timeout_s":)") + value + "}") ==
          R"({"ok":true})");
  }
}

TEST_CASE("a stall time-out that no clock could measure is refused") {
  const TemporaryFolder folder;
  ProducerOptions options{.stream = "told",
                          .schema = {{"value", DType::u64}},
                          .memory = 64 << 10,
                          .samples_per_epoch = 1000,
                          .directory = folder.path()};
  for (const std::uint64_t ms : {std::uint64_t{0}, limits::stall_timeout_ms_max + 1}) {
    options.stall_timeout_ms = ms;
    CHECK_THROWS_WITH(Producer(options), Contains("stall_timeout_ms is " + std::to_string(ms)));
  }
}

TEST_CASE("answers and reasons repeat no control characters") {
  const Scene scene;
  CHECK_THAT(scene.ask(R"({"command":"x\u001b[2J"})"), Contains(R"(`x\\x1b[2J`)"));
  CHECK_THAT(scene.ask(R"({"command":"evict","consumer":"x\n"})"), Contains(R"(`x\\n`)"));
}
