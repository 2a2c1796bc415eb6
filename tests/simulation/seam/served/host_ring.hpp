// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "served/served_ring.hpp"

#include <batchcast/core/placement.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/memory.hpp>
#include "ring/writer/writer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// In the simulation this file stands in place of the library's: a ring whose bytes the world has.
namespace batchcast::inline v0_1::detail {

class HostRing final : public ServedRing {
 public:
  HostRing(Board board, RingWriter::Options options)
      : board_(board),
        segment_(Segment::create_small("board", page_bytes())),
        writer_(board, std::move(options)) {}

  [[nodiscard]] Placement placement() const noexcept override { return {}; }
  [[nodiscard]] const std::string& id() const noexcept override { return id_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept override {
    return static_cast<const BoardView&>(board_).head().capacity;
  }
  [[nodiscard]] std::uint64_t memory() const noexcept override { return capacity(); }
  [[nodiscard]] std::string memory_option_for(std::uint64_t) const override { return "more"; }
  [[nodiscard]] RingWriter& writer() noexcept override { return writer_; }
  [[nodiscard]] const Segment& board_segment() const noexcept override { return segment_; }
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
  [[nodiscard]] BoardView board() const noexcept { return board_; }

 private:
  const std::string id_ = "host";
  Board board_;
  Segment segment_;
  RingWriter writer_;
};

}  // namespace batchcast::inline v0_1::detail
