// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/core.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <exception>

// The rings besides the one in host memory, and how the stream ends on all of them.
namespace batchcast::inline v0_1::detail {
namespace {

constexpr unsigned consumer_id_bits = 48;  // below the number of the ring
// An end of the wait from elsewhere is looked for so often.
constexpr int look_ms = 100;

}  // namespace

std::vector<PlaceOutlook> ProducerCore::look_at_places(const ServedRings& further) const {
  std::vector<PlaceOutlook> outlooks;
  for (const Placement& place : options_.places) {
    outlooks.push_back(further.look_at(options_, place));
  }
  return outlooks;
}

void ProducerCore::space_fields(const std::vector<PlaceOutlook>& outlooks) {
  spaced_fields_ = all_fields_;
  // Where GPUs differ, copies to the others are made row by row.
  if (outlooks.empty()) return;
  const std::vector<std::uint64_t>& strides = outlooks.front().strides;
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (strides[i] <= all_fields_[i].byte_count()) continue;
    spaced_fields_[i] = {all_fields_[i].name, DType::u8, {static_cast<std::int64_t>(strides[i])}};
  }
}

/// Samples as far apart as in further rings, if that costs the host ring no more than padding may.
RingPlan ProducerCore::plan_with(std::uint64_t granularity) const {
  RingPlan close = plan_ring(all_fields_, options_.memory, granularity);
  if (spaced_fields_ == all_fields_) return close;
  if (memory_for(spaced_fields_, 1, granularity) > options_.memory) return close;
  RingPlan spaced = plan_ring(spaced_fields_, options_.memory, granularity);
  if (spaced.capacity < close.capacity - close.capacity / lost_part) return close;
  for (std::size_t i = 0; i < all_fields_.size(); ++i) {
    spaced.fields[i].sample_bytes = all_fields_[i].byte_count();
  }
  return spaced;
}

std::uint64_t ProducerCore::memory_for_samples(std::uint64_t samples) const {
  return std::max(memory_for(all_fields_, samples, plan_.granularity),
                  memory_for(spaced_fields_, samples, plan_.granularity));
}

void ProducerCore::make_further_rings(const ServedRings& further) {
  for (const Placement& place : options_.places) {
    const std::uint64_t number = further_.size() + 1;
    ServedRing::Parts parts{.options = options_,
                            .placement = place,
                            .host_board = Board(board_->data()),
                            .host_writer = *writer_,
                            .host_fields = all_fields_,
                            .host_plan = plan_,
                            .host_windows = windows_,
                            .first_consumer_id = (number << consumer_id_bits) | 1,
                            .host_pins = &host_pins_,
                            .log = {},
                            .on_evicted = {}};
    parts.log = [this](LogLevel level, std::string_view text) { log(level, text); };
    parts.on_evicted = [this](std::uint64_t consumer_id, const std::string& reason) {
      tell_evicted(consumer_id, reason);
    };
    further_.push_back(further.make(std::move(parts)));
  }
}

RingWriter& ProducerCore::writer_of(ServedRing* ring) const noexcept {
  return ring != nullptr ? ring->writer() : *writer_;
}

bool ProducerCore::count_trainers() {
  const std::uint32_t on_host = writer_->trainers_here();
  std::uint32_t further = 0;
  for (const auto& ring : further_) further += ring->writer().trainers_here();
  for (const auto& ring : further_) {
    const std::uint32_t here = ring->writer().trainers_here();
    static_cast<void>(ring->writer().set_trainers_elsewhere(on_host + further - here));
  }
  return writer_->set_trainers_elsewhere(further);
}

void ProducerCore::look_for_demand(ServedRing* ring) {
  if (ring != nullptr) ring->look_for_demand();
}

bool ProducerCore::finish(int linger_ms) {
  check_process();
  writer_->finish();
  over_.store(true, std::memory_order_relaxed);
  const std::uint64_t started_ns = now_ns();
  const Deadline left_ms = [&]() -> int {
    if (linger_ms < 0) return -1;
    const auto waited_ms = static_cast<std::int64_t>((now_ns() - started_ns) / 1'000'000);
    return static_cast<int>(std::max<std::int64_t>(0, linger_ms - waited_ms));
  };
  // The host ring first: it has drained once the mirrors have copied all that is asked for.
  return drain_host(left_ms) && std::all_of(further_.begin(), further_.end(),
                                            [&](const auto& one) { return drain(*one, left_ms); });
}

bool ProducerCore::drain_host(const Deadline& left_ms) {
  for (;;) {
    if (!writer_->wait_drained(left_ms())) return false;
    if (writer_->close()) return true;  // else somebody came at the last moment
  }
}

bool ProducerCore::drain(ServedRing& ring, const Deadline& left_ms) {
  for (;;) {
    // Nobody is waited for who reads what is lost; and where nobody is, nobody comes any more: to
    // a ring that still shows the stream, since the host ring's is over, else since it is closed.
    const StreamState state = ring.writer().status().state;
    if (state == StreamState::failed) return true;
    const bool ended = state != StreamState::starting && state != StreamState::running;
    if (ring.writer().trainers_here() == 0 && (!ended || ring.writer().close())) return true;
    if (stopped_.load()) return false;
    const int left = left_ms();
    const int wait_ms = left < 0 ? look_ms : std::min(left, look_ms);
    if (ring.wait_drained(wait_ms) && ring.writer().close()) return true;
    if (left == 0) return false;
  }
}

void ProducerCore::stop(const std::string& reason) noexcept {
  stopped_.store(true);
  writer_->stop(reason);
}

bool ProducerCore::stop_if_unattended(std::uint64_t for_ns, const std::string& reason) noexcept {
  if (!writer_->stop_if_unattended(for_ns, reason)) return false;
  stopped_.store(true);
  return true;
}

void ProducerCore::end() noexcept {
  try {
    const WriterStatus status = writer_->status();
    const bool begun =
        status.state == StreamState::starting || status.state == StreamState::running;
    const bool made =
        status.state == StreamState::draining || status.state == StreamState::finished;
    if (made || (begun && writer_->all_made())) {
      static_cast<void>(finish(options_.linger_ms));
    } else if (begun) {
      if (std::uncaught_exceptions() > 0) {
        writer_->fail("the producer ended with an exception");
      } else {
        writer_->stop("the producer ended before its last epoch");
      }
    }
    if (writer_->status().state != StreamState::failed) directory_.forget_log();
  } catch (const std::exception& error) {
    log(LogLevel::error, std::string("could not end the stream in order: ") + error.what());
  }
}

}  // namespace batchcast::inline v0_1::detail
