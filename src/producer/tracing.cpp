// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/tracing.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <map>
#include <set>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

using nlohmann::json;

constexpr std::uint64_t patience_ns = 5'000'000'000;
constexpr std::size_t spans_of_a_worker = 8'192;
constexpr std::size_t spans_waiting_max = 1'000'000;
// A page fits into a message: a span takes 60 bytes at most, and a track's name 200.
constexpr std::size_t spans_of_a_page = 700;
constexpr std::size_t tracks_of_a_page = 50;
// A look takes at most a fiftieth of a processor, and of the ring's lock.
constexpr std::uint64_t shortest_rest_ns = 1'000'000;
constexpr std::uint64_t rest_of_a_look = 50;

/// By `SpanKind`: what it is called, and what its value is, empty if it has none.
struct KindName {
  const char* name;
  const char* value;
};
constexpr KindName kind_names[] = {{"waiting", ""},
                                   {"making", "samples"},
                                   {"sample", "sample"},
                                   {"reading", "sample"},
                                   {"step", "released"},
                                   {"waits for samples", ""},
                                   {"the ring waits for it", ""},
                                   {"waits for room", ""},
                                   {"waits for demand", ""},
                                   {"waits for trainers", ""}};

json kinds_json() {
  json kinds = json::array();
  for (const KindName& kind : kind_names) kinds.push_back({kind.name, kind.value});
  return kinds;
}

}  // namespace

Tracing::~Tracing() {
  Lock lock(mutex_);
  turn_off(lock);
}

void Tracing::add(std::shared_ptr<SpanBuffer> spans) {
  const std::lock_guard lock(mutex_);
  std::erase_if(workers_,
                [this](const Worker& worker) { return !is_on_ && worker.spans.use_count() == 1; });
  workers_.push_back({std::move(spans), "worker " + std::to_string(++workers_ever_)});
  if (!is_on_) return;
  workers_.back().track = make_track("workers", workers_.back().name);
  workers_.back().spans->turn_on(spans_of_a_worker);
}

std::string Tracing::page(const std::string& session, Ask ask) {
  Lock lock(mutex_);
  if (ask == Ask::begin) {
    if (is_on_) {
      throw InvalidArgument(
          "another `batchcast trace` looks at this stream: wait for its end, or 5 s where it was "
          "killed");
    }
    begin(lock, session);
  } else if (session.empty() || session != session_ || (is_on_ && is_unasked())) {
    // Of a producer that was stopped meanwhile, this may run before its thread has seen the time.
    throw InvalidArgument("this trace is over: no client asked for its spans for a while");
  }
  asked_ns_ = now_ns();
  for (Worker& worker : workers_) collect(worker);
  if (ask == Ask::end && is_on_) turn_off(lock);
  return next_page();
}

void Tracing::begin(Lock& lock, const std::string& session) {
  turn_off(lock);
  session_ = session;
  waiting_.clear();
  tracks_.clear();
  tracks_told_ = 0;
  left_out_ = 0;
  began_ns_ = asked_ns_ = now_ns();
  ended_ns_ = 0;
  std::erase_if(workers_, [](const Worker& worker) { return worker.spans.use_count() == 1; });
  try {
    room_.reserve(spans_of_a_worker);
    for (Worker& worker : workers_) {
      worker.track = make_track("workers", worker.name);
      worker.spans->turn_on(spans_of_a_worker);
    }
    is_on_ = true;
    thread_ = start_thread("bc-trace", [this] { watch(); });
  } catch (...) {
    turn_off(lock);
    session_.clear();
    throw;
  }
}

bool Tracing::is_unasked() const { return now_ns() - asked_ns_ >= patience_ns; }

/// Looks at the rings, until the trace ends.
void Tracing::watch() {
  std::map<Heads::Incarnation, RingSpans> rings;  // heads come and go
  const auto make = [this](const std::string& group, const std::string& name) {
    return make_track(group, name);
  };
  const auto name_of = [this](const ServedRing& ring) {
    return rings_.heads().is_head(ring) ? ring.id() : ring.placement().text();
  };
  std::vector<Span> spans;
  Lock lock(mutex_);
  while (!stops_ && !is_unasked()) {
    std::uint64_t look_ns = 0;
    std::set<Heads::Incarnation> seen;
    for (ServedRing* const ring : rings_.all()) {
      lock.unlock();
      const std::uint64_t began_ns = now_ns();
      const WriterStatus status = ring->writer().status();
      const std::uint64_t seen_ns = now_ns();
      look_ns += seen_ns - began_ns;
      lock.lock();
      const Heads::Incarnation incarnation = ring->writer().incarnation();
      seen.insert(incarnation);
      rings.try_emplace(incarnation, name_of(*ring), make)
          .first->second.look(status, seen_ns, spans);
    }
    for (auto one = rings.begin(); one != rings.end();) {
      const bool is_gone = !seen.contains(one->first);
      if (is_gone) one->second.end(now_ns(), spans);
      one = is_gone ? rings.erase(one) : std::next(one);
    }
    for (const Span& span : spans) keep(span);
    spans.clear();
    const std::uint64_t rest_ns = std::max(shortest_rest_ns, rest_of_a_look * look_ns);
    changed_.wait_for(lock, std::chrono::nanoseconds(rest_ns), [this] { return stops_; });
  }
  const std::uint64_t now = now_ns();
  for (auto& [incarnation, ring] : rings) ring.end(now, spans);
  for (const Span& span : spans) keep(span);
  if (stops_) return;
  // No client asks any more.
  for (Worker& worker : workers_) worker.spans->turn_off();
  waiting_.clear();
  session_.clear();
  is_on_ = false;
}

void Tracing::collect(Worker& worker) {
  if (!is_on_) return;
  left_out_ += worker.spans->take(room_);
  for (Span& span : room_) {
    span.track = worker.track;
    keep(span);
  }
  room_.clear();
}

void Tracing::stop(Lock& lock) {
  if (!thread_.joinable()) return;
  stops_ = true;
  changed_.notify_all();
  lock.unlock();
  thread_.join();
  lock.lock();
  stops_ = false;
}

void Tracing::turn_off(Lock& lock) {
  stop(lock);
  for (Worker& worker : workers_) {
    collect(worker);
    worker.spans->turn_off();
  }
  ended_ns_ = now_ns();
  is_on_ = false;
}

void Tracing::keep(Span span) {
  span.began_ns = std::max(span.began_ns, began_ns_);
  if (span.ended_ns <= span.began_ns) return;
  if (waiting_.size() >= spans_waiting_max) {
    ++left_out_;
  } else {
    waiting_.push_back(span);
  }
}

std::uint32_t Tracing::make_track(const std::string& group, const std::string& name) {
  tracks_.push_back({group, name});
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

std::string Tracing::next_page() {
  json tracks = json::array();
  for (; tracks_told_ < tracks_.size() && tracks.size() < tracks_of_a_page; ++tracks_told_) {
    const Track& track = tracks_[tracks_told_];
    tracks.push_back({tracks_told_, track.group, track.name});
  }
  json spans = json::array();
  while (!waiting_.empty() && spans.size() < spans_of_a_page) {
    const Span& span = waiting_.front();
    spans.push_back({span.track, static_cast<std::uint32_t>(span.kind), span.began_ns - began_ns_,
                     span.ended_ns - span.began_ns, span.value});
    waiting_.pop_front();
  }
  const std::uint64_t until_ns = is_on_ ? now_ns() : ended_ns_;
  const bool more = !waiting_.empty() || tracks_told_ < tracks_.size();
  const json page = {{"trace",
                      {{"nanoseconds", until_ns - began_ns_},
                       {"kinds", kinds_json()},
                       {"tracks", std::move(tracks)},
                       {"spans", std::move(spans)},
                       {"left_out", left_out_},
                       {"more", more}}}};
  if (!is_on_ && !more) session_.clear();
  return page.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace batchcast::inline v0_1::detail
