// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/served_rings.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr unsigned consumer_id_bits = 48;  // below the number of the ring
// While a device ring drains, how often the producer looks whether the stream was stopped.
constexpr int look_ms = 100;

void allow_open_files(const ProducerOptions& options) {
  // For each consumer the producer holds the connection, the pidfd and the desk open. For each rank
  // that waits for its group it holds the first two.
  constexpr std::uint64_t descriptors_each = 5;
  constexpr std::uint64_t descriptors_besides = 64 + limits::fields_max;
  const std::uint64_t rings = 1 + options.places.size();
  const std::uint64_t needed =
      rings * (options.max_consumers * descriptors_each + descriptors_besides);
  raise_open_files_limit(needed);
  if (options.heads == 1) return;
  try {
    raise_open_files_limit(needed + (options.heads - 1) * descriptors_besides);
  } catch (const SystemError&) {
    // Without heads it suffices.
  }
}

bool drain_other(ServedRing& ring, const Deadline& deadline, const std::atomic<bool>& stopped) {
  for (;;) {
    // A failed ring is not waited for: what it has lost cannot be read. Nor is a ring without
    // trainers: none comes to it any more, since the host ring's stream is over or it is closed.
    const StreamState state = ring.writer().state();
    if (state == StreamState::failed) return true;
    if (ring.writer().trainers_here() == 0 && (!has_ended(state) || ring.writer().close())) {
      return true;
    }
    if (stopped.load()) return false;
    const int left_ms = deadline.left_ms();
    const int wait_ms = left_ms < 0 ? look_ms : std::min(left_ms, look_ms);
    if (ring.wait_drained(wait_ms) && ring.writer().close()) return true;
    if (left_ms == 0) return false;
  }
}

}  // namespace

ServedRings::ServedRings(const ProducerOptions& options, LogCallback log, OnEvicted on_evicted,
                         const DeviceRingMaker& devices, std::function<std::string()> reads_on_gpus)
    : late_(std::move(reads_on_gpus), log) {
  allow_open_files(options);
  std::vector<DeviceRingOutlook> outlooks;  // kept until the device rings are made
  for (const Placement& place : options.places) {
    try {
      outlooks.push_back(devices.look_at(options, place));
    } catch (const OutOfMemory&) {
      if (!late_.may_wait()) throw;  // else its ring comes later, and its copies go row by row
    }
  }
  HostRing::Parts host{.options = options, .log = log, .on_evicted = on_evicted};
  // Where GPUs differ, copies to all but the first go row by row.
  if (!outlooks.empty()) host.strides = outlooks.front().strides;
  host_ = std::make_unique<HostRing>(host);
  all_.push_back(host_.get());
  std::uint64_t number = 1;
  for (const Placement& place : options.places) {
    add_device(devices, {.options = options,
                         .placement = place,
                         .host = *host_,
                         .first_consumer_id = (number++ << consumer_id_bits) | 1,
                         .host_pins = &host_pins_,
                         .log = log,
                         .on_evicted = on_evicted});
  }
  heads_ = std::make_unique<Heads>(options, *host_, number << consumer_id_bits, std::move(log),
                                   std::move(on_evicted));
}

void ServedRings::add_device(const DeviceRingMaker& devices, const DeviceRingParts& parts) {
  try {
    list(devices.make(parts));
  } catch (const OutOfMemory& error) {
    if (!late_.may_wait()) throw;
    late_.add(devices.id_of(parts.placement), error.what(),
              [make = devices.make, parts] { return make(parts); });
  }
}

void ServedRings::list(std::unique_ptr<ServedRing> ring) {
  const std::lock_guard lock(listing_);
  if (set_stalls_) set_stalls_(*ring);
  if (set_ahead_) set_ahead_(*ring);
  all_.push_back(ring.get());
  mirrored_.push_back(std::move(ring));
}

void ServedRings::take_late() {
  for (std::unique_ptr<ServedRing>& ring : late_.take()) list(std::move(ring));
}

ServedRing* ServedRings::find(std::string_view id) const noexcept {
  const std::lock_guard lock(listing_);
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](ServedRing* ring) { return ring->id() == id; });
  return found == all_.end() ? nullptr : *found;
}

std::string ServedRings::places() const {
  std::string list;
  const std::vector<ServedRing*> all = fixed();
  for (ServedRing* const ring : all) {
    if (!list.empty()) list += ring == all.back() ? " and " : ", ";
    const Placement place = ring->placement();
    list += place.is_host() ? "in host memory" : text("on {} ({})", place.text(), ring->id());
  }
  return list;
}

std::vector<std::string> ServedRings::consumer_names() const {
  std::vector<std::string> names;
  for (ServedRing* const ring : all()) {
    for (ConsumerStatus& row : ring->writer().status().consumers) {
      if (!row.mirrors) names.push_back(std::move(row.name));
    }
  }
  return names;
}

bool ServedRings::count_trainers() {
  std::vector<std::uint32_t> here;
  std::vector<std::uint32_t> jobs;
  const RingList all = this->all();
  for (ServedRing* const ring : all) {
    here.push_back(ring->writer().trainers_here());
    jobs.push_back(ring->writer().jobs_here());
  }
  const std::uint32_t everywhere = std::accumulate(here.begin(), here.end(), std::uint32_t{0});
  const std::uint32_t all_jobs = std::accumulate(jobs.begin(), jobs.end(), std::uint32_t{0});
  bool goes_on = true;
  // The host ring is last: it may begin to publish now, and then the others know.
  for (std::size_t i = all.size(); i-- > 0;) {
    ServedRing* const ring = *(all.begin() + static_cast<std::ptrdiff_t>(i));
    goes_on = ring->writer().set_trainers_elsewhere(everywhere - here[i], all_jobs - jobs[i]);
  }
  return goes_on;
}

void ServedRings::note_leave(ServedRing& ring) {
  if (&ring == host_.get()) return;
  // `rewind` begins where the last trainer left, on any ring.
  host_->writer().set_left_at(ring.writer().take_left_at());
  host_->writer().add_read_to(ring.writer().take_read_to());
}

std::optional<std::uint64_t> ServedRings::evict(std::string_view consumer) {
  for (ServedRing* const ring : all()) {
    for (const ConsumerStatus& row : ring->writer().status().consumers) {
      if (row.mirrors || row.name != consumer) continue;
      if (ring->writer().evict(row.index, row.consumer_id)) return row.consumer_id;
    }
  }
  return std::nullopt;
}

void ServedRings::set_stall_policy(std::uint64_t timeout_ms, OnStall on_stall) {
  const std::lock_guard lock(listing_);
  set_stalls_ = [=](ServedRing& ring) { ring.writer().set_stall_policy(timeout_ms, on_stall); };
  for (ServedRing* const ring : all_) set_stalls_(*ring);
  heads_->set_stall_policy(timeout_ms, on_stall);
}

void ServedRings::set_demand(std::uint64_t ahead, bool free_running) {
  const std::lock_guard lock(listing_);
  set_ahead_ = [=, host = host_.get()](ServedRing& ring) {
    ring.writer().set_demand(ahead, free_running && &ring == host);
  };
  for (ServedRing* const ring : all_) set_ahead_(*ring);
  heads_->set_demand(ahead);
}

void ServedRings::finish() {
  host_->writer().finish();
  heads_->finish();
}

void ServedRings::stop(const std::string& text) noexcept {
  host_->writer().stop(text);
  heads_->stop(text);
}

void ServedRings::fail(const std::string& text) noexcept {
  host_->writer().fail(text);
  heads_->fail(text);
}

std::uint64_t ServedRings::samples_published() const {
  return host_->writer().samples_published() + heads_->samples_published();
}

bool ServedRings::drain(const Deadline& deadline, const std::atomic<bool>& stopped) {
  const auto is_drained = [&](const auto& ring) { return drain_other(*ring, deadline, stopped); };
  const std::vector<std::shared_ptr<HostRing>> heads = heads_->list();  // none is opened any more
  std::vector<ServedRing*> mirrored = fixed();
  mirrored.erase(mirrored.begin());
  // The host ring is first: it has drained once the mirrors have copied all that is asked for.
  // The heads before: while they are read, trainers still come to places that they hold.
  return std::all_of(heads.begin(), heads.end(), is_drained) && drain_host(deadline) &&
         std::all_of(mirrored.begin(), mirrored.end(), is_drained);
}

bool ServedRings::drain_host(const Deadline& deadline) {
  for (;;) {
    if (!host_->wait_drained(deadline.left_ms())) return false;
    if (host_->writer().close()) return true;  // else a consumer came at the last moment
  }
}

void ServedRings::end_mirrors() noexcept {
  late_.end();
  heads_->drop_all();
  {
    const std::lock_guard lock(listing_);
    all_.resize(1);
  }
  mirrored_.clear();
}

}  // namespace batchcast::inline v0_1::detail
