// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/take_name.hpp"

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/states.hpp>
#include <batchcast/join/stream_lock.hpp>
#include "control/transport.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <thread>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr int ends_within_ms = 2'000;
constexpr int answer_within_ms = 100;
constexpr int look_every_ms = 20;

/// False where it says that its stream goes on. A producer that ends answers no questions any more.
bool may_be_ending(const StreamPaths& paths) {
  if (!look_at_lock(paths.lock).held) return true;  // by now
  try {
    const auto answer = ask_control(paths.control, R"({"command":"stats"})", answer_within_ms);
    if (!answer) return true;
    const auto stats = nlohmann::json::parse(*answer, nullptr, false);
    if (!stats.is_object()) return true;
    const std::string state = stats.value("state", std::string());
    return state != name_of(StreamState::starting) && state != name_of(StreamState::running);
  } catch (const std::exception&) {
    return false;  // it cannot be asked
  }
}

}  // namespace

StreamDirectory take_name(const StreamDirectory::Options& options) {
  const Deadline deadline(ends_within_ms);
  for (;;) {
    try {
      return StreamDirectory(options);
    } catch (const StreamTaken&) {
      if (deadline.over() || !may_be_ending(StreamDirectory::paths_of(options))) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(look_every_ms));
  }
}

}  // namespace batchcast::inline v0_1::detail
