// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/field_table.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/loan.hpp>
#include <batchcast/producer_options.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/row_table.hpp>
#include <batchcast/ring/window.hpp>
#include "ring/ring_plan.hpp"
#include "ring/row_plan.hpp"
#include "served/board_memory.hpp"
#include "served/served_ring.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// What the options say of each axis.
[[nodiscard]] std::vector<AxisWish> axis_wishes(const ProducerOptions& options);

/// A ring in host memory, which the producer's loans fill.
class HostRing final : public ServedRing {
 public:
  struct Parts {
    const ProducerOptions& options;  ///< checked; outlives the ring
    /// For each field of the schema how far apart samples should lie, so that a run of them is one
    /// copy to a device ring. 0, or no entry: the host ring chooses.
    std::vector<std::uint64_t> strides = {};
    std::string head = {};  ///< its name, where it is a head
    std::uint64_t first_consumer_id = 1;
    LogCallback log = {};
    OnEvicted on_evicted = {};
  };
  /// Throws InvalidArgument where not one sample fits, OutOfMemory, SystemError.
  explicit HostRing(const Parts& parts);

  [[nodiscard]] Placement placement() const noexcept override { return {}; }
  [[nodiscard]] const std::string& id() const noexcept override { return id_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept override { return plan_.capacity; }
  [[nodiscard]] std::uint64_t memory() const noexcept override { return plan_.total_bytes(); }
  [[nodiscard]] std::string memory_option_for(std::uint64_t samples) const override;
  [[nodiscard]] std::optional<std::uint64_t> rows_of(const std::string& axis) const override;
  [[nodiscard]] std::optional<RowsThere> rows_at(const std::string& axis,
                                                 std::uint64_t position) override;
  [[nodiscard]] std::string axes_text() const override;
  [[nodiscard]] RingWriter& writer() noexcept override { return *writer_; }
  [[nodiscard]] const Segment& board_segment() const noexcept override { return board_->segment(); }
  void offer(Welcome& welcome, std::vector<int>& descriptors) override;
  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                          std::shared_ptr<Desk> desk) override;
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join,
                                                                std::uint64_t cursor) override;
  void look_for_demand() override {}
  [[nodiscard]] bool rests() override { return false; }
  [[nodiscard]] bool wait_drained(int timeout_ms) override {
    return writer_->wait_drained(timeout_ms);
  }

  // Loans, for any thread. They must not outlive the ring.
  [[nodiscard]] Claim lend(std::uint64_t samples_max, int timeout_ms, LoanContents& loan,
                           std::optional<std::uint64_t> interruptions = std::nullopt);
  /// The same, as RingWriter's `try_claim`.
  [[nodiscard]] std::optional<Claim> try_lend(std::uint64_t samples_max, LoanContents& loan);
  void publish(const LoanContents& loan);
  void give_back(const LoanContents& loan) noexcept;
  [[nodiscard]] std::byte* data(std::size_t field, std::uint64_t position) const noexcept {
    return windows_[field].at(position);
  }
  /// Gives samples of a loan rows, and makes the loan shorter where not all fit (RingWriter).
  /// Returns how many samples got rows.
  [[nodiscard]] std::uint64_t take_rows(LoanContents& loan, std::size_t axis, std::uint64_t index,
                                        std::span<const std::uint64_t> lengths, int timeout_ms,
                                        std::span<const std::uint64_t> first = {});
  [[nodiscard]] bool has_turn(const LoanContents& loan) {
    return writer_->has_turn({loan.position, loan.size, loan.epoch});
  }
  /// The rows of a loan's sample; nothing where it has none yet. It keeps them while the stream
  /// goes back.
  [[nodiscard]] std::optional<RowRange> rows_of(const LoanContents& loan, std::size_t axis,
                                                std::uint64_t sample) {
    const std::uint64_t position = loan.position + sample;
    if (const auto rows = rows_of(axis, position)) return rows;
    return writer_->left_rows({loan.position, loan.size, loan.epoch}, axis, position);
  }
  /// The rows of a position; nothing where it has none yet.
  [[nodiscard]] std::optional<RowRange> rows_of(std::size_t axis, std::uint64_t position) noexcept {
    if (position >= ordered::get_acquire(board().axis(axis).taken_to)) return std::nullopt;
    const AxisSpec& spec = plan_.axes[axis];
    return RowTable(table_of(axis), spec.table_capacity, spec.rows).at(position);
  }

  // What a ring that is filled from this one copies.
  [[nodiscard]] Board board() noexcept { return board_->board(); }
  [[nodiscard]] const Schema& fields() const noexcept { return fields_; }  ///< sample_id last
  [[nodiscard]] const RingPlan& plan() const noexcept { return plan_; }
  /// The windows, writable, sample_id last.
  [[nodiscard]] const std::vector<FieldWindow>& windows() const noexcept { return windows_; }

 private:
  void make_memory(const Parts& parts);
  [[nodiscard]] bool make_segments(const Parts& parts, const MemoryChoice& choice);
  [[nodiscard]] RingPlan plan_with(std::uint64_t memory, std::uint64_t granularity) const;
  [[nodiscard]] bool make_segment(const Parts& parts, const MemoryChoice& choice,
                                  const std::string& name, std::uint64_t bytes);
  void show_fields(const LogCallback& log);
  [[nodiscard]] RowEntry* table_of(std::size_t axis) const noexcept {
    return reinterpret_cast<RowEntry*>(mappings_[fields_.size() + axis].data());
  }
  void make_board(const ProducerOptions& options);
  void show(const Ticket& ticket, LoanContents& loan);

  const std::string id_;
  Schema fields_;         ///< sample_id last
  Schema spaced_fields_;  ///< the same, each as long as device rings lay its samples apart
  RingPlan plan_;
  FieldTable field_table_;
  std::vector<AxisWish> axis_wishes_;
  std::vector<Segment> segments_;  ///< of the fields, and then of the tables of the axes
  std::vector<DoubleMapping> mappings_;
  std::vector<FieldWindow> windows_;
  std::optional<BoardMemory> board_;
  std::unique_ptr<Populator> populator_;
  std::unique_ptr<RingWriter> writer_;
};

}  // namespace batchcast::inline v0_1::detail
