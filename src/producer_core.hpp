// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/control/directory.hpp>
#include <batchcast/control/doorkeeper.hpp>
#include <batchcast/control/transport.hpp>
#include <batchcast/core/field_table.hpp>
#include <batchcast/producer.hpp>
#include <batchcast/ring/capacity.hpp>
#include <batchcast/ring/fork_guard.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/window.hpp>
#include <batchcast/ring/writer.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::detail {

/// What a producer serves with: the name, the memory, the ring's writer, the door and the control
/// socket, in the order in which they must come up, and the reverse of which they go down.
class ProducerCore final : public DoorEvents {
 public:
  explicit ProducerCore(ProducerOptions options);
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
  void make_ring();
  [[nodiscard]] bool make_segments(const MemoryChoice& choice);
  void make_board();
  void start_serving();
  [[nodiscard]] std::string answer(std::string_view command);
  [[nodiscard]] std::string statistics() const;
  [[nodiscard]] std::optional<std::uint32_t> index_of(ConsumerKey key) const;
  [[nodiscard]] std::string consumer_name(std::uint32_t index) const;
  void log(LogLevel level, std::string_view text) const;

  ProducerOptions options_;
  ForkGuard fork_guard_;
  StreamDirectory directory_;
  Schema all_fields_;  ///< sample_id last
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

  mutable std::mutex mutex_;  ///< of the next three
  std::map<ConsumerKey, std::uint32_t> index_of_;
  std::uint64_t rated_published_ = 0;
  std::uint64_t rated_at_ns_ = 0;
  std::atomic<double> samples_per_second_{0};

  // Last: their threads call into all of the above.
  std::unique_ptr<Doorkeeper> doorkeeper_;
  std::unique_ptr<ControlServer> control_;
};

}  // namespace batchcast::detail
