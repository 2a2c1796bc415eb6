// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/top/watch.hpp"

#include "cli/own_stream.hpp"
#include "observe/ask_statistics.hpp"
#include "observe/stream_json.hpp"
#include "stream/all_users.hpp"
#include "stream/stream_directory.hpp"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace batchcast::cli {
namespace {

constexpr int answer_timeout_ms = 1'000;  // of all streams together
constexpr std::size_t history_max = 120;

std::string time_of_day() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::array<char, 16> shown{};
  if (::localtime_r(&now, &parts) == nullptr) return {};
  std::strftime(shown.data(), shown.size(), "%H:%M:%S", &parts);
  return shown.data();
}

/// Of a stream without an answer.
const char* silent_state(const ListedStream& listed, bool is_asked) noexcept {
  if (!listed.served) return "dead";
  return listed.foreign && !is_asked ? "foreign" : "silent";
}

}  // namespace

struct Watch::Found {
  ListedStream listed;
  std::string control;  ///< where its producer is asked
  std::string owner;
  std::shared_ptr<const void> held;  ///< what keeps `control` valid
};

std::vector<Watch::Found> Watch::find() const {
  std::vector<Found> found;
  for (ListedStream& listed : options_.stream ? list_streams(*options_.stream) : list_streams()) {
    const std::string control = listed.paths.control;
    found.push_back({std::move(listed), control, "", nullptr});
  }
  if (!options_.all_users) return found;
  for (ForeignStream& foreign : streams_of_other_users()) {
    if (options_.stream && foreign.listed.name != *options_.stream) continue;
    found.push_back({std::move(foreign.listed), foreign.control, foreign.owner, foreign.held});
  }
  return found;
}

ControlClient* Watch::producer_of(const Found& found) {
  Kept& kept = kept_[found.listed.paths.directory];
  kept.seen = looks_;
  if (!found.listed.served || (found.listed.foreign && found.owner.empty())) return nullptr;
  if (!kept.producer) {
    kept.producer = std::make_unique<ControlClient>(found.control, context_);
    kept.control = found.control;
    kept.held = found.held;
  }
  return kept.producer.get();
}

observe::SeenStream Watch::seen_of(const Found& found, std::optional<nlohmann::json> answer,
                                   double idle) {
  const ListedStream& listed = found.listed;
  observe::SeenStream seen;
  seen.name = listed.name;
  seen.directory = listed.paths.directory;
  seen.owner = found.owner;
  seen.state = silent_state(listed, !listed.foreign || !found.owner.empty());
  seen.pid = static_cast<std::uint64_t>(std::max(listed.pid, 0));
  Kept& kept = kept_[listed.paths.directory];
  if (!answer) {
    kept.producer.reset();
    answers_.push_back({{"stream", seen.name}, {"state", seen.state}, {"pid", listed.pid}});
    return seen;
  }
  seen.answers = true;
  seen.before = std::exchange(kept.last, observe::stream_of(*answer));
  seen.now = kept.last;
  seen.now.name = seen.name;
  seen.state = seen.now.state;
  seen.limit = observe::limit_of(seen.before, seen.now, idle);
  kept.history.push_back(observe::stream_rate(seen));
  if (kept.history.size() > history_max) kept.history.erase(kept.history.begin());
  seen.history = kept.history;
  nlohmann::json row = std::move(*answer);
  row.erase("event");
  row["stream"] = seen.name;
  row["limiter"] = std::string(observe::name_of(seen.limit.by));
  row["limiter_text"] = seen.limit.text;
  if (const auto saved = observe::saved_cpu_seconds(seen.now)) row["saved_cpu_seconds"] = *saved;
  answers_.push_back(std::move(row));
  return seen;
}

observe::Overview Watch::look() {
  ++looks_;
  const observe::ProcessorTicks ticks = observe::processor_ticks();
  const double idle = looks_ == 1 ? -1 : observe::idle_between(ticks_, ticks);
  ticks_ = ticks;
  observe::Overview overview;
  overview.clock = time_of_day();
  overview.idle_processors = idle;
  overview.pressure = observe::processor_pressure();
  overview.processors = ticks.processors;
  answers_ = nlohmann::json::array();
  const std::vector<Found> all = find();
  std::vector<ControlClient*> producers;
  for (const Found& found : all) producers.push_back(producer_of(found));
  // One that cannot be asked is silent: another user's socket there may be none of ours.
  std::vector<observe::AskedStatistics> asked =
      observe::ask_statistics(producers, answer_timeout_ms);
  for (std::size_t i = 0; i < all.size(); ++i) {
    overview.streams.push_back(seen_of(all[i], std::move(asked[i].answer), idle));
  }
  std::erase_if(kept_, [this](const auto& one) { return one.second.seen != looks_; });
  if (options_.stream && overview.streams.empty()) throw_absent(*options_.stream);
  return overview;
}

std::string Watch::control_of(const std::string& directory) const {
  const auto found = kept_.find(directory);
  return found == kept_.end() ? std::string() : found->second.control;
}

}  // namespace batchcast::cli
