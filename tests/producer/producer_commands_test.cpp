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
    const std::string answer =
        scene.ask(std::string(R"({"command":"set","stall_timeout_s":)") + value + "}");
    CHECK_THAT(answer, Contains(R"("ok":true)"));
  }
}

TEST_CASE("what a stream can change is set, said and given back") {
  Scene scene;
  const auto set = [&](const std::string& values) {
    return nlohmann::json::parse(scene.ask(R"({"command":"set","values":)" + values + "}"));
  };
  const auto settings = [&] {
    return nlohmann::json::parse(scene.ask(R"({"command":"stats"})")).at("settings");
  };
  CHECK(settings() == nlohmann::json{{"ahead", "2"},
                                     {"free_running", "false"},
                                     {"on_stall", "report"},
                                     {"stall_timeout", "60"}});
  const auto changed = set(R"({"ahead":3,"stall_timeout":"0.5","free_running":true})");
  REQUIRE(changed.at("set").size() == 3);
  CHECK(changed.at("set")[0] == nlohmann::json{{"name", "ahead"}, {"before", "2"}, {"after", "3"}});
  CHECK(settings().at("stall_timeout") == "0.5");
  CHECK(settings().at("free_running") == "true");
  CHECK(set(R"({"ahead":"default"})").at("set")[0].at("after") == "2");

  // Where one is refused, those before it are as they were.
  const std::string refused = set(R"({"ahead":7,"on_stall":"shout"})").at("error");
  CHECK_THAT(refused, Contains("`on_stall` is `report`, `evict` or `own_place`, not `shout`"));
  CHECK_THAT(std::string(set(R"({"on_stall":"own_place"})").at("error")),
             Contains("where the stream may have heads"));
  CHECK(settings().at("ahead") == "2");
  const std::string unknown = set(R"({"workers":4})").at("error");
  CHECK_THAT(unknown, Contains("`workers` cannot be set while this stream runs") &&
                          Contains("ahead, free_running, on_stall, stall_timeout"));
  for (const char* values : {R"({"ahead":-1})", R"({"ahead":[]})", R"({"ahead":"x"})", "7",
                             R"({"free_running":"maybe"})", R"({"stall_timeout":0})"}) {
    INFO(values);
    CHECK(set(values).contains("error"));
  }
  scene.producer.set({{"ahead", "5"}});
  CHECK(settings().at("ahead") == "5");
  CHECK_THROWS_WITH(scene.producer.set({{"ahaed", "5"}}),
                    Contains("batchcast: `ahaed`") && Contains("`ahead`"));
}

TEST_CASE("a producer that waits for demand goes on when it may run free") {
  Scene scene;
  while (auto loan = scene.producer.try_loan(64, 50)) loan->publish();
  CHECK_FALSE(scene.producer.try_loan(1, 50));
  scene.producer.set({{"free_running", "true"}});
  auto loan = scene.producer.try_loan(1, 5'000);
  REQUIRE(loan);
  loan->publish();
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

TEST_CASE("a thousand consumers come through in pages") {
  const TemporaryFolder folder;
  constexpr std::size_t consumers = 1'000;
  detail::ProducerCore core({.stream = "told",
                             .schema = {{"value", DType::u64}},
                             .memory = 64 << 10,
                             .max_consumers = consumers,
                             .directory = folder.path()});
  Hello hello;
  hello.batch_size = 1;
  hello.placement = "host";
  hello.observes = true;
  std::vector<AdmissionReply> replies;
  for (std::size_t i = 0; i < consumers; ++i) {
    hello.name = std::to_string(i);
    replies.push_back(core.reception().admit(hello, PeerIdentity{}));
    REQUIRE(std::holds_alternative<Admission>(replies.back()));
  }
  const std::string control = core.directory().paths().control;
  std::size_t seen = 0;
  std::uint64_t from = 0;
  for (int pages = 0; pages < 100; ++pages) {
    const std::string command = R"({"command":"stats","from":)" + std::to_string(from) + "}";
    const auto page = nlohmann::json::parse(ask_control(control, command, 5'000).value_or("{}"));
    CHECK(page.at("consumers_total") == consumers);
    for (const auto& row : page.at("consumers")) {
      CHECK(row.at("name") == std::to_string(seen));
      ++seen;
    }
    if (!page.contains("next")) break;
    from = page.at("next").get<std::uint64_t>();
  }
  CHECK(seen == consumers);
}

TEST_CASE("pages that cannot be are refused") {
  const Scene scene;
  for (const char* asked : {R"("from":-1)", R"("from":"x")", R"("count":0)", R"("count":1.5)"}) {
    INFO(asked);
    const std::string answer = scene.ask(std::string(R"({"command":"stats",)") + asked + "}");
    CHECK_THAT(answer, Contains("must be a whole number"));
  }
}
