// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/ask_statistics.hpp"

#include "control/transport.hpp"
#include "temporary_folder.hpp"

#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using nlohmann::json;

namespace {

/// Answers as a producer with `trainers` of them, a page for each; 0: with what is no object.
std::string page_of(std::uint64_t trainers, std::string_view command) {
  if (trainers == 0) return "[1, 2]";
  const auto from = json::parse(command).value("from", std::uint64_t{0});
  json page = {{"stream", "s"},
               {"consumers_total", trainers},
               {"from", from},
               {"consumers", json::array({{{"id", from}, {"name", "t"}}})}};
  if (from + 1 < trainers) page["next"] = from + 1;
  return page.dump();
}

/// A producer's half of the conversation.
struct Answers {
  Answers(const std::string& folder, std::uint64_t trainers, std::function<void()> before = {})
      : path(folder + "/control"),
        server({.control_path = path,
                .events_path = folder + "/events",
                .handle = [trainers, before](std::string_view command) {
                  if (before) before();
                  return page_of(trainers, command);
                }}) {}
  std::string path;
  ControlServer server;
};

}  // namespace

TEST_CASE("producers are asked at the same time, and one that hangs takes nothing from the others",
          "[observe]") {
  using Clock = std::chrono::steady_clock;
  const testing::TemporaryFolder hangs_at;
  const testing::TemporaryFolder pages_at;
  const testing::TemporaryFolder noise_at;
  std::atomic<bool> over{false};
  const Answers hangs(hangs_at.path(), 1, [&] {
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const Answers pages(pages_at.path(), 40);
  const Answers noise(noise_at.path(), 0);

  const auto context = make_control_context();
  ControlClient to_hanging(hangs.path, context);
  ControlClient to_nobody(pages_at.path() + "/nobody", context);
  ControlClient to_pages(pages.path, context);
  ControlClient to_noise(noise.path, context);
  const auto began = Clock::now();
  const auto asked =
      observe::ask_statistics({&to_hanging, nullptr, &to_nobody, &to_pages, &to_noise}, 2'000);
  const auto took = Clock::now() - began;
  REQUIRE(asked.size() == 5);
  for (const std::size_t silent : {0, 1, 2, 4}) {
    CAPTURE(silent);
    CHECK_FALSE(asked[silent].answer);
    CHECK_FALSE(asked[silent].failure);
  }
  REQUIRE(asked[3].answer);
  CHECK(asked[3].answer->at("consumers").size() == 40);
  CHECK_FALSE(asked[3].answer->contains("consumers_left_out"));
  CHECK(took >= std::chrono::milliseconds(1'900));  // for the one that hangs
  over = true;

  // Its late answer is not the answer to the next question.
  const auto again = observe::ask_statistics({&to_hanging, &to_pages}, 10'000);
  REQUIRE(again[0].answer);
  CHECK(again[0].answer->at("from") == 0);
  CHECK(again[1].answer->at("consumers").size() == 40);
}

TEST_CASE("what a producer has not told in time is counted", "[observe]") {
  const testing::TemporaryFolder folder;
  std::atomic<int> questions{0};
  std::atomic<bool> over{false};
  const Answers slow(folder.path(), 5, [&] {
    while (++questions > 2 && !over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  ControlClient client(slow.path);
  const auto asked = observe::ask_statistics({&client}, 1'000);
  over = true;
  REQUIRE(asked[0].answer);
  CHECK(asked[0].answer->at("consumers").size() == 2);
  CHECK(asked[0].answer->at("consumers_left_out") == 3);
}
