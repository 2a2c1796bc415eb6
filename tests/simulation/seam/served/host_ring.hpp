// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "served/served_ring.hpp"

#include <batchcast/core/log.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/loan.hpp>
#include <batchcast/producer_options.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/memory.hpp>
#include "ring/writer/writer.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace batchcast::simulation {

/// A ring of the process that runs.
struct RingMemory {
  std::byte* board;      ///< formatted
  std::uint32_t number;  ///< by which the world knows it
};
/// The world's memory for a ring of that many samples.
[[nodiscard]] RingMemory make_ring_memory(std::uint64_t capacity);

}  // namespace batchcast::simulation

// In the simulation this file stands in place of the library's: a ring whose bytes the world has.
// Memory is counted in samples.
namespace batchcast::inline v0_1::detail {

class HostRing final : public ServedRing {
 public:
  struct Parts {
    const ProducerOptions& options;
    std::vector<std::uint64_t> strides = {};
    std::string head = {};
    std::uint64_t first_consumer_id = 1;
    LogCallback log = {};
    OnEvicted on_evicted = {};
  };
  explicit HostRing(const Parts& parts)
      : HostRing(parts, simulation::make_ring_memory(parts.options.memory)) {}

  [[nodiscard]] Placement placement() const noexcept override { return {}; }
  [[nodiscard]] const std::string& id() const noexcept override { return id_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept override {
    return BoardView(board_).head().capacity;
  }
  [[nodiscard]] std::uint64_t memory() const noexcept override { return capacity(); }
  [[nodiscard]] std::string memory_option_for(std::uint64_t) const override { return "more"; }
  [[nodiscard]] RingWriter& writer() noexcept override { return writer_; }
  /// Its first word is the ring's number.
  [[nodiscard]] const Segment& board_segment() const noexcept override { return segment_; }
  [[nodiscard]] std::uint32_t number() const noexcept { return number_; }
  void offer(Welcome&, std::vector<int>&) override {}
  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                          std::shared_ptr<Desk> desk) override {
    return writer_.admit(request, std::move(desk));
  }
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join,
                                                                std::uint64_t cursor) override {
    return writer_.resume(index, consumer_id, join, cursor);
  }
  void look_for_demand() override {}
  [[nodiscard]] bool rests() override { return false; }
  [[nodiscard]] bool wait_drained(int timeout_ms) override {
    return writer_.wait_drained(timeout_ms);
  }
  [[nodiscard]] BoardView board() const noexcept { return BoardView(board_); }

  [[nodiscard]] Claim lend(std::uint64_t samples_max, int timeout_ms, LoanContents& loan,
                           std::optional<std::uint64_t> interruptions = std::nullopt) {
    Ticket ticket;
    const Claim claim = writer_.claim(samples_max, timeout_ms, ticket, interruptions);
    if (claim == Claim::granted) show(ticket, loan);
    return claim;
  }
  [[nodiscard]] std::optional<Claim> try_lend(std::uint64_t samples_max, LoanContents& loan) {
    Ticket ticket;
    const std::optional<Claim> claim = writer_.try_claim(samples_max, ticket);
    if (claim == Claim::granted) show(ticket, loan);
    return claim;
  }
  void publish(const LoanContents& loan, const Receipt& receipt) {
    writer_.publish({loan.position, loan.size, loan.epoch}, receipt);
  }

 private:
  HostRing(const Parts& parts, const simulation::RingMemory& memory)
      : id_(parts.head.empty() ? "host" : parts.head),
        number_(memory.number),
        board_(memory.board),
        segment_(Segment::create_small("board", page_bytes())),
        writer_(Board(memory.board), writer_options(parts)) {
    const Mapping mapping(segment_, MapMode::read_write);
    std::memcpy(mapping.data(), &number_, sizeof number_);
  }

  static RingWriter::Options writer_options(const Parts& parts) {
    const ProducerOptions& options = parts.options;
    RingWriter::Options writer;
    writer.samples_per_epoch = options.samples_per_epoch;
    writer.epochs = options.epochs;
    writer.ahead = options.ahead;
    writer.goes_back = options.pure && parts.head.empty();
    writer.first_consumer_id = parts.first_consumer_id;
    writer.spin_ns = 0;
    writer.on_evicted = parts.on_evicted;
    return writer;
  }
  static void show(const Ticket& ticket, LoanContents& loan) noexcept {
    loan.position = ticket.position;
    loan.size = ticket.size;
    loan.epoch = ticket.epoch;
  }

  const std::string id_;
  const std::uint32_t number_;
  std::byte* const board_;
  Segment segment_;
  RingWriter writer_;
};

}  // namespace batchcast::inline v0_1::detail
