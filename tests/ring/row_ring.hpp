// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "heap_ring.hpp"

#include <batchcast/ring/row_table.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace batchcast::testing {

/// The rows of a RowRing, which its board and its writer point to.
struct HeapRows {
  HeapRows(std::uint64_t capacity, std::vector<std::uint64_t> arenasof)
      : arenas(std::move(arenasof)) {
    for (const std::uint64_t arena : arenas) {
      tables.push_back(std::make_unique<std::vector<RowEntry>>(capacity + 1));
      rows.push_back(std::make_unique<std::vector<std::atomic<std::uint64_t>>>(arena));
    }
  }
  [[nodiscard]] std::vector<AxisSpec> axes() const {
    std::vector<AxisSpec> specs;
    for (std::size_t i = 0; i < arenas.size(); ++i) {
      specs.push_back({text("axis{}", i), arenas[i], tables[i]->size(), tables[i]->size() * 16});
    }
    return specs;
  }
  [[nodiscard]] RingWriter::Options known_to(RingWriter::Options options) const {
    for (const auto& table : tables) options.row_tables.push_back(table->data());
    return options;
  }

  std::vector<std::uint64_t> arenas;
  std::vector<std::unique_ptr<std::vector<RowEntry>>> tables;
  std::vector<std::unique_ptr<std::vector<std::atomic<std::uint64_t>>>> rows;
};

/// A ring on the heap whose samples have rows on axes: ids, and one number a row.
class RowRing : private HeapRows, public HeapRing {
 public:
  RowRing(std::uint64_t capacity, std::vector<std::uint64_t> arenasof, RingWriter::Options options)
      : HeapRows(capacity, std::move(arenasof)),
        HeapRing(capacity, known_to(std::move(options)), 16, HeapRows::axes()) {}

  [[nodiscard]] std::vector<ReaderAxis> axes() const {
    std::vector<ReaderAxis> axes;
    for (std::size_t i = 0; i < arenas.size(); ++i) {
      axes.push_back({table(i), text("axis{}", i), 8});
    }
    return axes;
  }
  [[nodiscard]] RowTable table(std::size_t axis) const {
    return {tables[axis]->data(), tables[axis]->size(), arenas[axis]};
  }
  [[nodiscard]] std::vector<RowEntry>& entries(std::size_t axis) { return *tables[axis]; }

  /// What row i of a sample holds.
  [[nodiscard]] static std::uint64_t value(std::uint64_t position, std::uint64_t i) noexcept {
    return position * 1'000'003 + i;
  }
  void write_rows(std::size_t axis, std::uint64_t position) {
    const RowRange here = table(axis).at(position);
    for (std::uint64_t i = 0; i < here.rows; ++i) {
      (*rows[axis])[(here.first + i) % arenas[axis]].store(value(position, i),
                                                           std::memory_order_relaxed);
    }
  }
  [[nodiscard]] bool has_rows(std::size_t axis, std::uint64_t position, std::uint64_t count) const {
    const RowRange here = table(axis).at(position);
    if (here.rows != count) return false;
    for (std::uint64_t i = 0; i < count; ++i) {
      if ((*rows[axis])[(here.first + i) % arenas[axis]].load(std::memory_order_relaxed) !=
          value(position, i)) {
        return false;
      }
    }
    return true;
  }

  /// Fills the ticket's samples, which have their rows, and publishes it.
  void publish(const Ticket& ticket) {
    for (std::uint64_t p = ticket.position; p < ticket.position + ticket.size; ++p) {
      for (std::size_t axis = 0; axis < arenas.size(); ++axis) write_rows(axis, p);
    }
    HeapRing::publish(ticket);
  }
};

/// A consumer of a RowRing; a rank where its request names a group.
class RowConsumer final : public ReaderHost, public RankHost {
 public:
  RowConsumer(RowRing& ring, AdmitRequest request, RingReader::Options options = {})
      : desk_(new Desk{}) {
    request.name = request.name.empty() ? "c" : request.name;
    options.pace = request.pace;
    options.stream = "rows";
    options.axes = ring.axes();
    if (request.group.world != 0) {
      options.share = request.group.rank;
      options.shares = request.group.world;
    }
    auto reply = ring.writer().admit(request, desk_);
    if (auto* refusal = std::get_if<NotAdmitted>(&reply)) {
      refused = refusal->reason;
      return;
    }
    admitted = std::get<Admitted>(reply);
    reader = std::make_unique<RingReader>(ring.board(), *desk_, ring.window(), *this,
                                          std::move(options));
    if (request.group.world == 0) return;
    as_rank = std::make_unique<RankReader>(*reader, ring.board(), *desk_, *this, request.group);
  }
  [[nodiscard]] Next next(std::uint64_t samples, int timeout_ms, Run& run) {
    return as_rank ? as_rank->next(samples, timeout_ms, run)
                   : reader->next(samples, timeout_ms, run);
  }
  bool producer_is_dead() noexcept override { return is_dead; }
  std::string why_revoked() override { return "a test said so"; }
  bool give_oldest_back() noexcept override {
    if (kept.empty()) return false;
    ++made_private;
    reader->give_back(kept.front().lease);
    kept.erase(kept.begin());
    return true;
  }
  std::string why_evicted() override { return "a test said so"; }
  bool group_broke() noexcept override { return false; }
  void give_up_place() noexcept override {}
  bool is_hung_up() noexcept override { return false; }
  void tell_epoch_end(const RankEpoch& epoch) noexcept override { told = epoch; }
  [[nodiscard]] Desk& desk() noexcept { return *desk_; }

  std::unique_ptr<RingReader> reader;
  std::unique_ptr<RankReader> as_rank = {};  ///< null: it has no group
  std::optional<RankEpoch> told = {};        ///< last
  Admitted admitted;
  std::optional<NotAdmitted::Reason> refused;
  std::vector<Run> kept;  ///< what `give_oldest_back` gives back
  int made_private = 0;
  bool is_dead = false;  ///< the producer

 private:
  std::shared_ptr<Desk> desk_;
};

/// One ticket of up to n samples whose rows on the first axis have these lengths, published. Its
/// size; 0 where none is granted.
inline std::uint64_t produce(RowRing& ring, const std::vector<std::uint64_t>& lengths) {
  Ticket ticket;
  if (ring.writer().claim(lengths.size(), 0, ticket) != Claim::granted) return 0;
  const auto mine = std::span(lengths).first(ticket.size);
  if (ring.writer().take_rows(ticket, 0, 0, mine) == 0) return 0;
  ring.publish(ticket);
  return ticket.size;
}

}  // namespace batchcast::testing
