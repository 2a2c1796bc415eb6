// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/ring_spans.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

/// Waits of several threads at once may count more than the time that passed.
constexpr std::uint64_t owed_ns_max = 20'000'000;

std::optional<SpanKind> kind_of(WaitsFor waits_for) noexcept {
  switch (waits_for) {
    case WaitsFor::space:
      return SpanKind::for_room;
    case WaitsFor::demand:
      return SpanKind::for_demand;
    case WaitsFor::consumers:
      return SpanKind::for_consumers;
    case WaitsFor::nothing:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Span> CountedWait::look(std::uint64_t counted_ns, std::uint64_t now_ns,
                                      std::uint64_t from_ns) noexcept {
  if (counted_ns <= counted_ns_) return std::nullopt;
  const std::uint64_t waited_ns = counted_ns - std::exchange(counted_ns_, counted_ns) + owed_ns_;
  const std::uint64_t began_ns =
      std::max({now_ns - std::min(waited_ns, now_ns), ended_ns_, from_ns});
  if (began_ns >= now_ns) return std::nullopt;
  owed_ns_ = std::min(waited_ns - (now_ns - began_ns), owed_ns_max);
  ended_ns_ = now_ns;
  return Span{SpanKind::waiting, 0, began_ns, now_ns, 0};
}

RingSpans::RingSpans(std::string placement, MakeTrack make_track)
    : placement_(std::move(placement)), make_track_(std::move(make_track)) {}

void RingSpans::look(const WriterStatus& status, std::uint64_t now_ns, std::vector<Span>& spans) {
  look_at_waits(status, now_ns, spans);
  for (auto& [id, trainer] : trainers_) trainer.is_there = false;
  for (const ConsumerStatus& row : status.consumers) {
    const bool is_trainer = !row.mirrors && row.state != ConsumerState::observing;
    if (is_trainer) look_at(row, now_ns, spans);
  }
  std::erase_if(trainers_, [&](const auto& one) {
    const Trainer& trainer = one.second;
    if (trainer.is_there) return false;
    spans.push_back({SpanKind::step, trainer.track, trainer.step_began_ns, now_ns, 0});
    return true;
  });
}

void RingSpans::look_at_waits(const WriterStatus& status, std::uint64_t now_ns,
                              std::vector<Span>& spans) {
  if (!waits_) waits_.emplace(status.space_wait_ns, now_ns);
  waits_for_ = kind_of(status.waits_for).value_or(waits_for_);
  auto wait = waits_->look(status.space_wait_ns, now_ns);
  if (!wait) return;
  if (!track_) track_ = make_track_("ring", placement_);
  wait->kind = waits_for_;
  wait->track = *track_;
  spans.push_back(*wait);
}

void RingSpans::look_at(const ConsumerStatus& row, std::uint64_t now_ns, std::vector<Span>& spans) {
  auto found = trainers_.find(row.consumer_id);
  if (found == trainers_.end()) {
    Trainer trainer{row.name,
                    make_track_("trainers", row.name),
                    std::nullopt,
                    row.position,
                    now_ns,
                    CountedWait(row.wait_ns, now_ns),
                    CountedWait(row.waited_for_ns, now_ns)};
    found = trainers_.emplace(row.consumer_id, std::move(trainer)).first;
  }
  Trainer& trainer = found->second;
  trainer.is_there = true;
  // A step holds its wait, so that the two nest.
  if (auto wait = trainer.waits.look(row.wait_ns, now_ns, trainer.step_began_ns)) {
    wait->kind = SpanKind::trainer_waits;
    wait->track = trainer.track;
    spans.push_back(*wait);
  }
  if (auto wait = trainer.waited_for.look(row.waited_for_ns, now_ns)) {
    if (!trainer.waited_for_track) {
      trainer.waited_for_track = make_track_("trainers", text("{}: waited for", trainer.name));
    }
    wait->kind = SpanKind::waited_for;
    wait->track = *trainer.waited_for_track;
    spans.push_back(*wait);
  }
  const std::uint64_t before = std::exchange(trainer.position, row.position);
  if (row.position <= before) return;  // it may have gone back
  spans.push_back(
      {SpanKind::step, trainer.track, trainer.step_began_ns, now_ns, row.position - before});
  trainer.step_began_ns = now_ns;
}

void RingSpans::end(std::uint64_t now_ns, std::vector<Span>& spans) {
  for (const auto& [id, trainer] : trainers_) {
    spans.push_back({SpanKind::step, trainer.track, trainer.step_began_ns, now_ns, 0});
  }
  trainers_.clear();
}

}  // namespace batchcast::inline v0_1::detail
