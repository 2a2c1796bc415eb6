// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/stream_json.hpp"

#include <batchcast/core/limits.hpp>

#include <cstddef>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using namespace batchcast::observe;
using nlohmann::json;

namespace {

Trainer trainer(std::uint64_t id, const std::string& name) {
  Trainer made;
  made.id = id;
  made.name = name;
  made.placement = "host";
  made.state = "running";
  made.pace = "lockstep";
  made.samples = 10 * id;
  made.wait_seconds = 0.25;
  made.waited_for_seconds = 1.5;
  return made;
}

Stream full_stream() {
  Stream stream;
  stream.name = "s";
  stream.pid = 7;
  stream.state = "running";
  stream.uptime_seconds = 12.5;
  stream.samples = 1000;
  stream.delivered = 2000;
  stream.processors = 8;
  stream.rings.push_back({"host", "host", 64, 4096, 1000, 32, "running", {{"tokens", 100, 40}}});
  stream.trainers = {trainer(3, "a"), trainer(5, "b")};
  stream.forming.push_back({"g", 4, {1, 3}});
  Making making;
  making.workers = 2;
  making.reading_seconds = 1;
  making.making_seconds = 2;
  making.waiting_seconds = 3;
  making.cpu_seconds = 2.5;
  making.decoding_seconds = 1.25;
  making.each = {{0.5, 1, 1.5, 1}, {0.5, 1, 1.5, 1.5}};
  making.bad_samples = 4;
  making.has_cache = true;
  making.cache_hits = 9;
  stream.making = making;
  return stream;
}

}  // namespace

TEST_CASE("what a producer says of its stream arrives", "[observe]") {
  const Stream sent = full_stream();
  const Stream got = stream_of(json::parse(to_json(sent).dump()));
  CHECK(got.name == sent.name);
  CHECK(got.uptime_seconds == sent.uptime_seconds);
  CHECK(got.delivered == 2000);
  REQUIRE(got.rings.size() == 1);
  CHECK(got.rings[0].used == 32);
  REQUIRE(got.rings[0].axes.size() == 1);
  CHECK(got.rings[0].axes[0].used == 40);
  REQUIRE(got.trainers.size() == 2);
  CHECK(got.trainers[1].id == 5);
  CHECK(got.trainers[1].waited_for_seconds == 1.5);
  REQUIRE(got.forming.size() == 1);
  CHECK(got.forming[0].missing == std::vector<std::uint32_t>{1, 3});
  REQUIRE(got.making);
  CHECK(got.making->decoding_seconds == 1.25);
  REQUIRE(got.making->each.size() == 2);
  CHECK(got.making->each[1].cpu_seconds == 1.5);
  CHECK(got.making->bad_samples == 4);
  CHECK(got.making->cache_hits == 9);
}

TEST_CASE("a stream without workers has no numbers of them", "[observe]") {
  Stream stream = full_stream();
  stream.making.reset();
  CHECK_FALSE(to_json(stream).contains("workers"));
  CHECK_FALSE(stream_of(to_json(stream)).making);
}

TEST_CASE("answers that no producer gives are read as nothing", "[observe]") {
  for (const char* text :
       {"[]", "null", "7", R"({"consumers":7,"rings":{"a":1},"forming":[7],"stream":[1]})",
        R"({"consumers":[7,null,[],{"name":7,"id":-3,"samples":1e300,"wait_seconds":-1}]})",
        R"({"workers":"many","worker_seconds":[1]})",
        R"({"workers":2,"worker_seconds":[[1],["a",2],{}],"cache":7,"bottleneck":{}})"}) {
    INFO(text);
    const Stream stream = stream_of(json::parse(text));
    CHECK(stream.name.empty());
    for (const Trainer& one : stream.trainers) CHECK(one.samples == 0);
  }
  const Stream named = stream_of(json{{"stream", "a\x1b[2J"}, {"pid", 1e300}});
  CHECK(named.name == "a\\x1b[2J");
  CHECK(named.pid == 0);
}

TEST_CASE("a thousand trainers come through in pages", "[observe]") {
  Stream stream = full_stream();
  stream.trainers.clear();
  const std::string tail(limits::consumer_name_bytes_max - 4, 'n');
  for (std::uint64_t id = 1000; id > 0; --id) {
    stream.trainers.push_back(trainer(3 * id, std::to_string(id + 1000) + tail));
  }
  json all;
  std::size_t pages = 0;
  for (std::uint64_t from = 0;; ++pages) {
    const json page = to_json(stream, Page{from, 1024});
    CHECK(page.dump().size() < limits::message_bytes_max);
    if (pages == 0) {
      all = page;
    } else {
      add_page(all, page);
    }
    if (!page.contains("next")) break;
    from = page.at("next").get<std::uint64_t>();
    REQUIRE(pages < 100);
  }
  CHECK(pages > 1);
  const Stream got = stream_of(all);
  REQUIRE(got.trainers.size() == 1000);
  for (std::size_t i = 0; i < 1000; ++i) CHECK(got.trainers[i].id == 3 * (i + 1));

  const json five = to_json(stream, Page{10, 5});
  CHECK(five.at("consumers").size() == 5);
  CHECK(five.at("consumers").front().at("id") == 12);
  CHECK(five.at("next") == 27);
}

TEST_CASE("a trainer that two pages have is taken once", "[observe]") {
  const Stream stream = full_stream();
  json all = to_json(stream, Page{});
  add_page(all, to_json(stream, Page{5, 10}));
  CHECK(stream_of(all).trainers.size() == 2);
  add_page(all, json::parse(R"({"from":9,"consumers":7})"));
  CHECK(stream_of(all).trainers.size() == 2);
}
