// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/field_table.hpp>
#include <batchcast/producer.hpp>
#include <batchcast/ring/capacity.hpp>
#include <batchcast/ring/fork_guard.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/window.hpp>
#include "control/transport.hpp"
#include "door/server.hpp"
#include "ring/writer/writer.hpp"
#include "stream/directory.hpp"

#include "producer/served_ring.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Throws InvalidArgument for options that cannot be served.
[[nodiscard]] ProducerOptions checked(ProducerOptions options);

/// What a producer serves with: the name, the memory, the ring's writer, the further rings, the
/// door and the control socket, in the order in which they must come up, and the reverse of which
/// they go down.
class ProducerCore final : public DoorEvents {
 public:
  explicit ProducerCore(ProducerOptions options, const ServedRings& further = {});
  ~ProducerCore() override;

  [[nodiscard]] bool in_forked_child() const noexcept { return fork_guard_.in_child(); }
  void check_process() const;

  [[nodiscard]] std::optional<LoanContents> loan(std::uint64_t samples_max, int timeout_ms);
  void publish(const LoanContents& loan);
  void give_back(const LoanContents& loan) noexcept;
  [[nodiscard]] std::byte* data(std::size_t field, std::uint64_t position) const noexcept {
    return windows_[field].at(position);
  }

  bool finish(int linger_ms);
  void stop(const std::string& reason) noexcept;
  [[nodiscard]] bool stop_if_unattended(std::uint64_t for_ns, const std::string& reason) noexcept;
  void end() noexcept;
  [[nodiscard]] bool evict(std::string_view consumer, const std::string& reason);
  [[nodiscard]] ProducerStats stats() const;

  [[nodiscard]] RingWriter& writer() noexcept { return *writer_; }
  [[nodiscard]] const ProducerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const StreamDirectory& directory() const noexcept { return directory_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return plan_.capacity; }
  [[nodiscard]] std::uint64_t memory() const noexcept { return plan_.total_bytes(); }
  [[nodiscard]] bool over() const noexcept { return over_.load(std::memory_order_relaxed); }

  // DoorEvents, on the door's thread
  [[nodiscard]] AdmissionReply admit(const Hello& hello, const PeerIdentity& peer) override;
  void left(ConsumerKey key, Leaving how) override;
  [[nodiscard]] std::variant<Rejoined, Refusal> rejoin(ConsumerKey key,
                                                       const Rejoin& rejoin) override;
  void paused(ConsumerKey key) override;
  void tick() override;

 private:
  /// The ring of one consumer.
  struct Seat {
    ServedRing* ring = nullptr;  ///< null: the host ring
    std::uint32_t index = 0;
    std::string name;  ///< the consumer's
  };
  using Deadline = std::function<int()>;  ///< milliseconds that are left; negative: no end

  void make_ring();
  [[nodiscard]] bool make_segments(const MemoryChoice& choice);
  void make_board();
  [[nodiscard]] std::vector<PlaceOutlook> look_at_places(const ServedRings& further) const;
  void space_fields(const std::vector<PlaceOutlook>& outlooks);
  [[nodiscard]] RingPlan plan_with(std::uint64_t granularity) const;
  /// For messages: what --memory has to be for that many samples.
  [[nodiscard]] std::uint64_t memory_for_samples(std::uint64_t samples) const;
  void make_further_rings(const ServedRings& further);
  void start_serving();
  void take_down() noexcept;
  void tell_evicted(ConsumerKey key, const std::string& reason);
  [[nodiscard]] bool drain_host(const Deadline& left_ms);
  [[nodiscard]] bool drain(ServedRing& ring, const Deadline& left_ms);

  [[nodiscard]] std::string answer(std::string_view command);
  [[nodiscard]] std::string set(std::string_view command);
  [[nodiscard]] std::string statistics() const;

  [[nodiscard]] RingWriter& writer_of(ServedRing* ring) const noexcept;
  /// Null for the host ring; nothing where the stream is not served there.
  [[nodiscard]] std::optional<ServedRing*> ring_at(const std::string& placement) const;
  [[nodiscard]] Refusal not_served_at(const std::string& placement) const;
  [[nodiscard]] std::optional<Refusal> refusal_of_size(std::uint64_t batch_size,
                                                       ServedRing* ring) const;
  [[nodiscard]] Admission welcomed(const Admitted& admitted, ServedRing* ring) const;
  [[nodiscard]] bool count_trainers();
  void look_for_demand(ServedRing* ring);
  /// The same of two consumers on different rings would be evicted as one.
  [[nodiscard]] std::string name_for(const std::string& wanted) const;
  [[nodiscard]] std::optional<Seat> seat_of(ConsumerKey key) const;
  /// Calls `visit(ring, row)` for each consumer of each ring, until that returns true.
  template <class Visit>
  bool visit_consumers(Visit visit) const {
    const auto visit_ring = [&](ServedRing* ring) {
      for (const ConsumerStatus& row : writer_of(ring).status().consumers) {
        if (!row.mirrors && visit(ring, row)) return true;
      }
      return false;
    };
    if (visit_ring(nullptr)) return true;
    for (const auto& ring : further_) {
      if (visit_ring(ring.get())) return true;
    }
    return false;
  }
  void log(LogLevel level, std::string_view text) const;

  ProducerOptions options_;
  ForkGuard fork_guard_;
  StreamDirectory directory_;
  Schema all_fields_;     ///< sample_id last
  Schema spaced_fields_;  ///< the same, each as long as further rings lay its samples apart
  RingPlan plan_;
  FieldTable fields_;
  std::vector<Segment> segments_;
  std::vector<DoubleMapping> mappings_;
  std::vector<FieldWindow> windows_;
  std::optional<Segment> board_segment_;
  std::optional<Mapping> board_;
  FileDescriptor pidfd_;
  std::unique_ptr<Populator> populator_;
  std::unique_ptr<RingWriter> writer_;
  std::atomic<bool> over_{false};
  std::atomic<bool> stopped_{false};  ///< nobody waits any more for those who drain

  std::atomic<DoorServer*> door_{nullptr};  ///< for the threads of further rings
  std::shared_ptr<HostPins> host_pins_;
  std::vector<std::unique_ptr<ServedRing>> further_;  ///< the same from start to end

  mutable std::mutex mutex_;  ///< of the next three
  std::map<ConsumerKey, Seat> seats_;
  std::uint64_t rated_published_ = 0;
  std::uint64_t rated_at_ns_ = 0;
  std::atomic<double> samples_per_second_{0};

  // Last: their threads call into all of the above.
  std::unique_ptr<DoorServer> door_server_;
  std::unique_ptr<ControlServer> control_;
};

}  // namespace batchcast::inline v0_1::detail
