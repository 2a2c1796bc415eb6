// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/ring_spans.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using detail::CountedWait;
using detail::RingSpans;
using detail::Span;
using detail::SpanKind;

namespace {

constexpr std::uint64_t ms = 1'000'000;

/// Looks at a ring with one trainer.
struct Looks {
  WriterStatus status;
  std::vector<std::pair<std::string, std::string>> tracks;
  RingSpans ring{"host", [this](const std::string& group, const std::string& name) {
                   tracks.emplace_back(group, name);
                   return static_cast<std::uint32_t>(tracks.size() - 1);
                 }};
  std::vector<Span> spans;

  Looks() {
    status.consumers.emplace_back();
    status.consumers[0].name = "lr-0.1";
    status.consumers[0].consumer_id = 7;
  }
  ConsumerStatus& trainer() { return status.consumers[0]; }
  void at(std::uint64_t now_ms) {
    spans.clear();
    ring.look(status, now_ms * ms, spans);
  }
};

}  // namespace

TEST_CASE("a counted wait lies right before the look that saw it, and overlaps with none",
          "[trace]") {
  CountedWait wait(5 * ms, 100 * ms);
  CHECK_FALSE(wait.look(5 * ms, 101 * ms));
  const auto first = wait.look(7 * ms, 110 * ms);
  REQUIRE(first);
  CHECK(first->began_ns == 108 * ms);
  CHECK(first->ended_ns == 110 * ms);
  // 12 ms in 10: two of them were before the last look, and are owed to the next span.
  const auto second = wait.look(19 * ms, 120 * ms);
  REQUIRE(second);
  CHECK(second->began_ns == 110 * ms);
  const auto third = wait.look(20 * ms, 130 * ms);
  REQUIRE(third);
  CHECK(third->ended_ns - third->began_ns == 3 * ms);
  // What comes in two looks at once begins no earlier than it may.
  const auto fourth = wait.look(26 * ms, 140 * ms, 137 * ms);
  REQUIRE(fourth);
  CHECK(fourth->began_ns == 137 * ms);
}

TEST_CASE("steps, waits and who is waited for, of one trainer", "[trace]") {
  Looks looks;
  looks.trainer().position = 64;
  looks.at(1'000);
  CHECK(looks.spans.empty());
  REQUIRE(looks.tracks.size() == 1);
  CHECK(looks.tracks[0] == std::pair<std::string, std::string>{"trainers", "lr-0.1"});

  looks.trainer().wait_ns = 4 * ms;
  looks.at(1'010);
  REQUIRE(looks.spans.size() == 1);
  CHECK(looks.spans[0].kind == SpanKind::trainer_waits);
  CHECK(looks.spans[0].began_ns == 1'006 * ms);

  looks.trainer().position = 96;
  looks.trainer().waited_for_ns = 3 * ms;
  looks.at(1'020);
  REQUIRE(looks.spans.size() == 2);
  CHECK(looks.spans[0].kind == SpanKind::waited_for);
  CHECK(looks.tracks[looks.spans[0].track].second == "lr-0.1: waited for");
  CHECK(looks.spans[1].kind == SpanKind::step);
  CHECK(looks.spans[1].began_ns == 1'000 * ms);
  CHECK(looks.spans[1].ended_ns == 1'020 * ms);
  CHECK(looks.spans[1].value == 32);

  // It went back; and then it left in mid-step.
  looks.trainer().position = 0;
  looks.at(1'030);
  CHECK(looks.spans.empty());
  looks.status.consumers.clear();
  looks.at(1'040);
  REQUIRE(looks.spans.size() == 1);
  CHECK(looks.spans[0].began_ns == 1'020 * ms);
  CHECK(looks.spans[0].value == 0);
}

TEST_CASE("what a loan waited for, and steps that are not over", "[trace]") {
  Looks looks;
  looks.at(1'000);
  looks.status.waits_for = WaitsFor::demand;
  looks.at(1'001);
  looks.status.waits_for = WaitsFor::nothing;
  looks.status.space_wait_ns = 2 * ms;
  looks.at(1'003);
  REQUIRE(looks.spans.size() == 1);
  CHECK(looks.spans[0].kind == SpanKind::for_demand);
  CHECK(looks.tracks[looks.spans[0].track] == std::pair<std::string, std::string>{"ring", "host"});
  looks.spans.clear();
  looks.ring.end(1'005 * ms, looks.spans);
  REQUIRE(looks.spans.size() == 1);
  CHECK(looks.spans[0].kind == SpanKind::step);
}

TEST_CASE("neither observers nor mirrors are trainers of a trace", "[trace]") {
  Looks looks;
  looks.trainer().state = ConsumerState::observing;
  looks.at(1'000);
  looks.trainer().state = ConsumerState::running;
  looks.trainer().mirrors = true;
  looks.at(1'001);
  CHECK(looks.tracks.empty());
}
