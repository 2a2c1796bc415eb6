// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <sys/resource.h>

#include <cstdint>
#include <string>

using namespace batchcast;
using namespace batchcast::testing;

// A small dataset and a ring for thousands of its epochs.
namespace {

constexpr std::uint64_t samples = 100;

ProducerOptions small_dataset() {
  ProducerOptions options = producer_options("small", samples, 8 << 20);
  options.recipe_json = "{}";
  options.pure = true;
  return options;
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

bool is_at(Server& server, std::uint64_t position) {
  return eventually([&] {
    const ProducerStats stats = server.producer().stats();
    return stats.published == position && stats.waits_for == WaitsFor::demand;
  });
}

void check_idle(Server& server) {
  const std::uint64_t published = server.producer().stats().published;
  const double before = cpu_seconds();
  pause_us(200'000);
  CHECK(cpu_seconds() - before < 0.02);  // a tenth of one processor
  CHECK(server.producer().stats().published == published);
}

}  // namespace

TEST_CASE("a producer that is two epochs ahead rests", "[ahead][short]") {
  const OwnDirectory directory;
  Server server(small_dataset(), {.threads = 2});
  REQUIRE(server.producer().capacity() > 1'000 * samples);
  CHECK(is_at(server, 2 * samples));
  check_idle(server);
  Process trainer("consume", {"batch=30", "epochs=2"});
  CHECK(expect_sound(trainer, "left").text("first") == "0");
  CHECK(is_at(server, 4 * samples));
  Process next("consume", {"batch=30", "epochs=3"});
  CHECK(expect_sound(next, "left").text("first") == std::to_string(2 * samples));
  CHECK(is_at(server, 7 * samples));
  check_idle(server);
}

TEST_CASE("a killed trainer's checkpoint is resumed behind the producer", "[ahead][short]") {
  const OwnDirectory directory;
  ProducerOptions options = small_dataset();
  options.memory = 8 << 10;
  Server server(std::move(options), {.threads = 2});
  Process trainer("consume", {"batch=30", "hold=1"});
  static_cast<void>(trainer.expect("attached"));
  CHECK(eventually([&] { return server.producer().stats().published > 50 * samples; }));
  const std::string place = std::to_string(7 * samples + 30);
  Process early("consume", {"join=at", "cursor=" + place});
  const Words refused = early.expect("done");
  CHECK(refused.text("over") == "Refused");
  CHECK(refused.line().find("once no other consumer is attached") != std::string::npos);
  trainer.kill();
  CHECK(eventually([&] { return server.producer().stats().consumers.empty(); }));
  Process resumed("consume", {"join=at", "cursor=" + place, "batch=30", "epochs=40"});
  const Words words = expect_sound(resumed, "left");
  CHECK(words.text("first") == place);
  CHECK(words.number("mismatched") == 0);
  CHECK(server.logged("goes back"));
}
