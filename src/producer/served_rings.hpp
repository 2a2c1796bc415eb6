// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/producer.hpp>
#include "producer/heads.hpp"
#include "producer/late_rings.hpp"
#include "served/device_rings.hpp"
#include "served/host_ring.hpp"
#include "served/served_ring.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Rings that live at least as long as this list.
class RingList {
 public:
  RingList(std::vector<ServedRing*> fixed, const std::vector<std::shared_ptr<HostRing>>& heads)
      : rings_(std::move(fixed)), heads_(heads) {
    for (const auto& head : heads_) rings_.push_back(head.get());
  }
  [[nodiscard]] auto begin() const noexcept { return rings_.begin(); }
  [[nodiscard]] auto end() const noexcept { return rings_.end(); }
  [[nodiscard]] std::size_t size() const noexcept { return rings_.size(); }

 private:
  std::vector<ServedRing*> rings_;
  std::vector<std::shared_ptr<HostRing>> heads_;
};

/// All rings of a producer. The host ring, which loans fill, is the leading one. Mirrors fill the
/// device rings from it. None of these goes before `end_mirrors`; heads come and go. Any thread may
/// call const members, `evict`, `set_stall_policy`, `set_demand`, `stop`, `fail` and `drain`; the
/// rest belongs to the door's thread.
class ServedRings {
 public:
  /// Throws what making a HostRing or a device ring throws. Where a GPU has no room, and trainers
  /// read rings of an earlier producer there (who_reads_on_gpus), its ring comes later.
  ServedRings(const ProducerOptions& options, LogCallback log, OnEvicted on_evicted,
              const DeviceRingMaker& devices, std::function<std::string()> reads_on_gpus = {});

  [[nodiscard]] HostRing& host() const noexcept { return *host_; }
  /// All rings; the host ring is first, and heads are last.
  [[nodiscard]] RingList all() const { return {fixed(), heads_->list()}; }
  [[nodiscard]] Heads& heads() const noexcept { return *heads_; }
  /// The ring of that id, heads left out; null where the stream is not served there.
  [[nodiscard]] ServedRing* find(std::string_view id) const noexcept;
  /// What the ring of that id waits for, which a GPU has no room for yet; nothing for others.
  [[nodiscard]] std::optional<std::string> why_late(std::string_view id) const {
    return late_.reason_of(id);
  }
  /// Serves on GPUs that have room by now.
  void take_late();
  /// What a hello for that ring names. Heads have the leading ring's name.
  [[nodiscard]] const std::string& name_at_door(const ServedRing& ring) const noexcept {
    return ring.placement().is_host() ? host_->id() : ring.id();
  }
  /// For messages: "in host memory and on cuda:0 (GPU-…)".
  [[nodiscard]] std::string places() const;
  /// The name of each consumer of each ring, in the order of the rings; mirrors are left out.
  [[nodiscard]] std::vector<std::string> consumer_names() const;

  /// Tells each ring how many trainers the other rings have. False if the stream was stopped or
  /// failed meanwhile: a consumer that has just come to a device ring has to be sent away again.
  bool count_trainers();
  /// Notes that a consumer has left that ring.
  void note_leave(ServedRing& ring);
  /// Evicts that consumer. Returns its id; nothing if there is no such consumer.
  [[nodiscard]] std::optional<std::uint64_t> evict(std::string_view consumer);
  void set_stall_policy(std::uint64_t timeout_ms, OnStall on_stall);
  /// `free_running` concerns the host ring alone.
  void set_demand(std::uint64_t ahead, bool free_running);

  // These do what RingWriter's do, in all rings that loans fill.
  void finish();
  void stop(const std::string& text) noexcept;
  void fail(const std::string& text) noexcept;
  /// Without what was jumped over.
  [[nodiscard]] std::uint64_t samples_published() const;

  /// Waits until the consumers of all rings have read a stream that has come to its end, and closes
  /// the rings. False at the deadline, and once `stopped` is set.
  [[nodiscard]] bool drain(const Deadline& deadline, const std::atomic<bool>& stopped);
  /// Ends the device rings and their mirrors, which may evict consumers to the last.
  void end_mirrors() noexcept;

 private:
  [[nodiscard]] bool drain_host(const Deadline& deadline);
  [[nodiscard]] std::vector<ServedRing*> fixed() const {
    const std::lock_guard lock(listing_);
    return all_;
  }
  void add_device(const DeviceRingMaker& devices, const DeviceRingParts& parts);
  void list(std::unique_ptr<ServedRing> ring);

  std::unique_ptr<HostRing> host_;
  std::unique_ptr<Heads> heads_;
  std::shared_ptr<HostPins> host_pins_;
  std::vector<std::unique_ptr<ServedRing>> mirrored_;  ///< on GPUs
  mutable std::mutex listing_;                         ///< of the next ones
  std::vector<ServedRing*> all_;
  std::function<void(ServedRing&)> set_stalls_;  ///< what was set last, for rings that come later
  std::function<void(ServedRing&)> set_ahead_;
  LateRings late_;  ///< last: its thread makes rings of the above
};

}  // namespace batchcast::inline v0_1::detail
