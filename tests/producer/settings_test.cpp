// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/settings.hpp"

#include <batchcast/core/error.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using detail::Settings;

TEST_CASE("who sets what comes soon waits for it, and for nothing else") {
  Settings settings;
  std::string workers = "1";
  settings.add({"workers", {}, {}});
  CHECK(settings.values().empty());
  std::thread starts([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    settings.add(
        {"workers", [&] { return workers; }, [&](const std::string& value) { workers = value; }});
  });
  const auto changed = settings.set({{"workers", "4"}});
  starts.join();
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].before == "1");
  CHECK(workers == "4");
  CHECK(settings.set({{"workers", "default"}})[0].after == "1");

  settings.remove("workers");
  CHECK_THROWS_AS(settings.set({{"workers", "4"}}), InvalidArgument);
  settings.add({"never", {}, {}});
  CHECK_THROWS_AS(settings.set({{"never", "4"}}), InvalidArgument);
}

TEST_CASE("the log says what was set, from what to what", "[settings]") {
  Settings settings;
  std::vector<std::string> told;
  settings.go_on({}, {}, [&](LogLevel level, std::string_view text) {
    CHECK(level == LogLevel::info);
    told.emplace_back(text);
  });
  std::string ahead = "2";
  std::string workers = "1";
  settings.add({"ahead", [&] { return ahead; }, [&](const std::string& value) { ahead = value; }});
  settings.add({"workers", [&] { return workers; },
                [&](const std::string& value) {
                  if (value == "many") throw InvalidArgument("not many");
                  workers = value;
                }});
  CHECK_THROWS_AS(settings.set({{"ahead", "9"}, {"workers", "many"}}), InvalidArgument);
  CHECK(told.empty());
  static_cast<void>(settings.set({{"ahead", "5"}, {"workers", "1"}}));
  CHECK(told == std::vector<std::string>{"ahead is set to 5; it was 2"});
  static_cast<void>(settings.set({{"ahead", "default"}}));
  CHECK(told.back() == "ahead is set to 2; it was 5");
}

TEST_CASE("what an earlier producer was set to is set once it is there, and kept") {
  Settings settings;
  std::map<std::string, std::string> kept;
  std::string told;
  settings.go_on(
      {{"ahead", "5"}, {"workers", "many"}, {"gone", "1"}},
      [&](const auto& values, std::uint64_t) { kept = values; },
      [&](LogLevel, std::string_view text) { told += text; });
  std::string ahead = "2";
  std::string workers = "1";
  settings.add({"ahead", [&] { return ahead; }, [&](const std::string& value) { ahead = value; }});
  CHECK(ahead == "5");
  settings.add({"workers", {}, {}});
  settings.add({"workers", [&] { return workers; },
                [&](const std::string& value) {
                  if (value == "many") throw InvalidArgument("not many");
                  workers = value;
                }});
  CHECK(workers == "1");
  CHECK(told.find("not many") != std::string::npos);
  static_cast<void>(settings.set({{"workers", "4"}}));
  using Values = std::map<std::string, std::string>;
  CHECK(kept == Values{{"ahead", "5"}, {"gone", "1"}, {"workers", "4"}});
  // What the words say.
  CHECK(settings.set({{"ahead", "default"}})[0].after == "2");
  CHECK(kept == Values{{"gone", "1"}, {"workers", "4"}});
  CHECK_THROWS_AS(settings.set({{"workers", "3"}, {"workers", "many"}}), InvalidArgument);
  CHECK(kept.at("workers") == "4");
}

TEST_CASE("of two changes at once the later one has the greater number, whichever is kept first") {
  Settings settings;
  std::vector<std::pair<std::uint64_t, std::string>> kept;
  std::string ahead = "1";
  settings.go_on(
      {},
      [&](const auto& values, std::uint64_t change) {
        if (change == 1)
          static_cast<void>(settings.set({{"ahead", "3"}}));  // as another thread may
        kept.emplace_back(change, values.at("ahead"));
      },
      [](LogLevel, std::string_view) {});
  settings.add({"ahead", [&] { return ahead; }, [&](const std::string& value) { ahead = value; }});
  static_cast<void>(settings.set({{"ahead", "2"}}));
  CHECK(kept == std::vector<std::pair<std::uint64_t, std::string>>{{2, "3"}, {1, "2"}});
}
