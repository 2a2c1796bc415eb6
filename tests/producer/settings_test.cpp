// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/settings.hpp"

#include <batchcast/core/error.hpp>

#include <chrono>
#include <string>
#include <thread>

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
