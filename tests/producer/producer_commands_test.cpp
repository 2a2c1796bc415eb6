// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>
#include <batchcast/core/limits.hpp>
#include "control/transport.hpp"
#include "producer/producer_core.hpp"
#include "stream/stream_directory.hpp"

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

using namespace batchcast;
using batchcast::testing::TemporaryFolder;
using Catch::Contains;

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

TEST_CASE("of many consumers, an answer has those furthest behind and counts the rest") {
  const TemporaryFolder folder;
  constexpr std::size_t consumers = 400;
  detail::ProducerCore core({.stream = "told",
                             .schema = {{"value", DType::u64}},
                             .memory = 64 << 10,
                             .max_consumers = consumers,
                             .directory = folder.path()});
  Hello hello;
  hello.batch_size = 1;
  hello.placement = "host";
  hello.observes = true;  // an observer holds up no producer, and is left out first
  const std::string tail(limits::consumer_name_bytes_max - 3, 'n');
  std::vector<AdmissionReply> replies;
  for (std::size_t i = 0; i < consumers; ++i) {
    if (i + 1 == consumers) hello.observes = false;
    hello.name = std::to_string(i + 100) + tail;
    replies.push_back(core.reception().admit(hello, PeerIdentity{}));
    REQUIRE(std::holds_alternative<Admission>(replies.back()));
  }
  const std::string control = core.directory().paths().control;
  const std::string answer = ask_control(control, R"({"command":"stats"})", 5'000).value_or("");
  CHECK(answer.size() < limits::message_bytes_max);
  const nlohmann::json told = nlohmann::json::parse(answer);
  const auto& rows = told.at("consumers");
  CHECK(rows.size() >= limits::consumers_default);
  CHECK(rows.size() + told.at("consumers_left_out").get<std::size_t>() == consumers);
  CHECK(rows.back().at("name") == hello.name);
  CHECK(rows.front().at("name") == "100" + tail);
  const std::string refusal =
      ask_control(control, R"({"command":"evict","consumer":"x"})", 5'000).value_or("");
  CHECK_THAT(refusal, Contains("100" + tail) && Contains("and 336 more"));
  CHECK(refusal.size() < limits::message_bytes_max);
}

TEST_CASE("of groups that form, an answer names what fits and counts the rest") {
  const TemporaryFolder folder;
  detail::ProducerCore core({.stream = "told",
                             .schema = {{"value", DType::u64}},
                             .memory = 64 << 10,
                             .max_consumers = 1'000,
                             .directory = folder.path()});
  constexpr std::size_t groups = 900;
  for (std::size_t i = 0; i < groups; ++i) {
    Hello hello;
    hello.batch_size = 1;
    hello.group = "group " + std::to_string(i);
    hello.world = 1'000;
    hello.placement = "host";
    REQUIRE(std::holds_alternative<Waiting>(core.reception().admit(hello, PeerIdentity{})));
  }
  const std::string answer =
      ask_control(core.directory().paths().control, R"({"command":"stats"})", 5'000).value_or("");
  CHECK(answer.size() < limits::message_bytes_max);
  const nlohmann::json told = nlohmann::json::parse(answer);
  const auto& forming = told.at("forming");
  REQUIRE(!forming.empty());
  CHECK(forming.size() + told.at("forming_left_out").get<std::size_t>() == groups);
  const auto& first = forming.front();
  CHECK(first.at("missing").size() + first.at("missing_left_out").get<std::size_t>() == 999);
}
