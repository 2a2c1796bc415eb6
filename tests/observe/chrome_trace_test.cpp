// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/chrome_trace.hpp"

#include <cstddef>
#include <string>

#include "catch.hpp"

using namespace batchcast::observe;
using nlohmann::json;

namespace {

json page(const char* spans, const char* tracks, bool more = false) {
  return {{"trace",
           {{"nanoseconds", 2'000'000'000U},
            {"kinds", json::parse(R"([["waiting", ""], ["making", "samples"]])")},
            {"tracks", json::parse(tracks)},
            {"spans", json::parse(spans)},
            {"left_out", 3U},
            {"more", more}}}};
}

}  // namespace

TEST_CASE("pages become complete events on named tracks", "[trace]") {
  ChromeTrace trace(1'000'000);
  CHECK(trace.add(page("[[0, 1, 1234567, 1000, 8]]", R"([[0, "workers", "worker 1"]])", true)));
  CHECK(trace.has_more());
  CHECK(trace.add(page("[[1, 0, 5000, 7001, 0]]", R"([[1, "trainers", "a \"b\"\n"]])")));
  CHECK_FALSE(trace.has_more());
  CHECK(trace.seconds() == 2);
  CHECK(trace.spans() == 2);
  CHECK(trace.left_out() == 3);
  const json file = json::parse(trace.finish("s"));
  CHECK(file["otherData"]["stream"] == "s");
  json spans = json::array();
  json names = json::array();
  for (const json& event : file["traceEvents"]) {
    (event["ph"] == "X" ? spans : names).push_back(event);
  }
  REQUIRE(spans.size() == 2);
  CHECK(spans[0]["name"] == "making");
  CHECK(spans[0]["ts"] == 1'234.567);
  CHECK(spans[0]["dur"] == 1.0);
  CHECK(spans[0]["args"]["samples"] == 8);
  CHECK(spans[1]["dur"] == 7.001);
  CHECK_FALSE(spans[1].contains("args"));
  CHECK(spans[0]["pid"] != spans[1]["pid"]);
  CHECK(names.dump().find(R"(a \"b\"\\n)") != std::string::npos);
}

TEST_CASE("a trace is cut where it would be too long", "[trace]") {
  constexpr std::size_t bytes_max = 8'000;
  ChromeTrace trace(bytes_max);
  for (int i = 0; i < 200; ++i) {
    CHECK(trace.add(page("[[0, 1, 1000000, 1, 8]]", R"([[0, "workers", "worker 1"]])")));
  }
  CHECK(trace.cut() > 0);
  CHECK(trace.cut() + trace.spans() == 200);
  const std::string file = trace.finish(std::string(48, 's'));
  CHECK(file.size() <= bytes_max);
  CHECK(file.size() > bytes_max / 2);
  CHECK(json::parse(file)["otherData"]["cut"] == trace.cut());
}

TEST_CASE("a hostile answer makes a whole file", "[trace]") {
  ChromeTrace trace(100'000);
  CHECK_FALSE(trace.add(json::array()));
  CHECK_FALSE(trace.add({{"error", "no"}}));
  CHECK_FALSE(trace.add({{"trace", 3}}));
  CHECK(trace.add({{"trace", json::object()}}));
  CHECK(trace.add(page(R"([[0, 99, 1, 1, 1], [7, 0, 1, 1, 1], [0, 0, -1, 1, 1], [0], "x", null])",
                       R"([[0, 5, null], [-1, "a", "b"], "t", [1, ")"
                       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
                       R"(", "y"]])")));
  CHECK(trace.add({{"trace",
                    {{"kinds", 7},
                     {"tracks", "t"},
                     {"spans", json::object()},
                     {"more", "yes"},
                     {"nanoseconds", -4}}}}));
  CHECK_FALSE(trace.has_more());
  CHECK(trace.spans() == 0);
  CHECK(json::parse(trace.finish("s")).contains("traceEvents"));
}
