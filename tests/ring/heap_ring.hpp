// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "../catch.hpp"

#include <batchcast/ring/rank_reader.hpp>
#include <batchcast/ring/reader.hpp>
#include "ring/writer/writer.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <variant>
#include <vector>

namespace batchcast::testing {

/// A ring of sample ids alone, on the heap: writer and readers in one process, for tests of the
/// protocol without memfds, doors and processes.
class HeapRing {
 public:
  explicit HeapRing(std::uint64_t capacity, RingWriter::Options options,
                    std::uint32_t consumers_max = 8, const std::vector<AxisSpec>& axes = {})
      : ids_(2 * capacity) {
    FieldEntry field{};
    field.capacity = capacity;
    field.stride_bytes = field.sample_bytes = 8;
    field.segment_bytes = 8 * capacity;
    const std::vector<FieldEntry> fields(2, field);
    BoardSpec spec;
    spec.fields = fields;
    spec.axes = axes;
    spec.capacity = capacity;
    spec.samples_per_epoch = options.samples_per_epoch;
    spec.epochs = options.epochs;
    spec.consumers_max = consumers_max;
    spec.first_position = options.start;
    bytes_ = board_bytes_for(spec);
    memory_ = static_cast<std::byte*>(::operator new (bytes_, std::align_val_t{64}));
    std::memset(memory_, 0, bytes_);
    format_board({memory_, bytes_}, spec);
    writer_ = std::make_unique<RingWriter>(Board(memory_), std::move(options));
  }
  ~HeapRing() {
    writer_.reset();
    ::operator delete (memory_, std::align_val_t{64});
  }
  HeapRing(const HeapRing&) = delete;
  HeapRing& operator=(const HeapRing&) = delete;

  [[nodiscard]] RingWriter& writer() noexcept { return *writer_; }
  [[nodiscard]] BoardView board() const noexcept { return BoardView(memory_); }
  [[nodiscard]] FieldWindow window() noexcept {
    return {reinterpret_cast<std::byte*>(ids_.data()), ids_.size() / 2, 8, 8};
  }
  /// What the double mapping does by itself.
  void write(std::uint64_t position, std::uint64_t id) noexcept {
    const std::uint64_t capacity = ids_.size() / 2;
    ids_[position % capacity] = ids_[position % capacity + capacity] = id;
  }

  /// Takes, fills and publishes up to n samples; the id is `offset` plus the index in the epoch.
  std::uint64_t produce(std::uint64_t n, int timeout_ms = 0) {
    Ticket ticket;
    if (writer_->claim(n, timeout_ms, ticket) != Claim::granted) return 0;
    publish(ticket);
    return ticket.size;
  }
  void publish(const Ticket& ticket) {
    Receipt receipt;
    for (std::uint64_t i = 0; i < ticket.size; ++i) {
      const std::uint64_t id = ticket.position + i;
      write(ticket.position + i, id);
      receipt.add(std::span(&id, 1));
    }
    writer_->publish(ticket, receipt);
  }

 private:
  std::vector<std::uint64_t> ids_;
  std::size_t bytes_ = 0;
  std::byte* memory_ = nullptr;
  std::unique_ptr<RingWriter> writer_;
};

/// A consumer of a HeapRing; a rank where its request names a group.
class HeapConsumer : public ReaderHost, public RankHost {
 public:
  HeapConsumer(HeapRing& ring, AdmitRequest request, RingReader::Options options = {})
      : desk_(new Desk{}) {
    request.name = request.name.empty() ? "c" : request.name;
    const bool is_rank = request.group.world != 0;
    options.pace = request.pace;
    options.stream = "heap";
    if (is_rank) {
      options.share = request.group.rank;
      options.shares = request.group.world;
    }
    auto reply = ring.writer().admit(request, desk_);
    if (auto* refusal = std::get_if<NotAdmitted>(&reply)) {
      refused_ = refusal->reason;
      return;
    }
    admitted = std::get<Admitted>(reply);
    reader = std::make_unique<RingReader>(ring.board(), *desk_, ring.window(), *this,
                                          std::move(options));
    if (!is_rank) return;
    as_rank = std::make_unique<RankReader>(*reader, ring.board(), *desk_, *this, request.group);
  }

  bool producer_is_dead() noexcept override { return dead; }
  std::string why_revoked() override { return as_rank ? as_rank->why_revoked() : why_evicted(); }
  std::string why_evicted() override { return "a test said so"; }
  bool group_broke() noexcept override { return false; }
  void give_up_place() noexcept override { gave_up_place = true; }
  bool is_hung_up() noexcept override { return producer_hung_up; }
  void tell_epoch_end(const RankEpoch& epoch) noexcept override { told = epoch; }

  [[nodiscard]] Desk& desk() noexcept { return *desk_; }
  [[nodiscard]] std::optional<NotAdmitted::Reason> refused() const noexcept { return refused_; }

  /// Of the rank, if it is one.
  [[nodiscard]] Next next(std::uint64_t n, Run& run) {
    return as_rank ? as_rank->next(n, 0, run) : reader->next(n, 0, run);
  }

  std::unique_ptr<RingReader> reader;
  std::unique_ptr<RankReader> as_rank = {};  ///< null: it has no group
  Admitted admitted;
  bool dead = false;
  bool producer_hung_up = false;
  bool gave_up_place = false;
  std::optional<RankEpoch> told = {};  ///< last

 private:
  std::shared_ptr<Desk> desk_;
  std::optional<NotAdmitted::Reason> refused_;
};

// What most tests say about rings and consumers.

inline RingWriter::Options epochs_of(std::uint64_t samples, std::uint64_t epochs = 0) {
  RingWriter::Options options;
  options.samples_per_epoch = samples;
  options.epochs = epochs;
  return options;
}

inline AdmitRequest joining(Join join, std::uint64_t cursor = 0) {
  AdmitRequest request;
  request.join = join;
  request.cursor = cursor;
  return request;
}

inline Run take(HeapConsumer& consumer, std::uint64_t n) {
  Run run;
  REQUIRE(consumer.next(n, run) == Next::batch);
  return run;
}

inline void take_and_return(HeapConsumer& consumer, std::uint64_t n) {
  consumer.reader->give_back(take(consumer, n).lease);
}

}  // namespace batchcast::testing
