// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>
#include <batchcast/core/row_place.hpp>
#include <batchcast/ring/batch_share.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/epoch_receipt.hpp>
#include <batchcast/ring/lease_room.hpp>
#include <batchcast/ring/lease_table.hpp>
#include <batchcast/ring/read_cursor.hpp>
#include <batchcast/ring/reader_host.hpp>
#include <batchcast/ring/row_reading.hpp>
#include <batchcast/ring/run.hpp>
#include <batchcast/ring/sample_ids.hpp>
#include <batchcast/ring/window.hpp>

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

enum class Next { batch, end_of_epoch, timed_out };

struct ReaderStatus {
  std::uint64_t samples = 0, batches = 0, skipped = 0;
  std::uint64_t waits = 0, wait_ns = 0, late_wakeups = 0;
  std::uint64_t epochs_matched = 0, epochs_mismatched = 0, epochs_unknown = 0;
  std::uint64_t leases_held = 0;
  std::uint64_t oversized = 0;
  std::uint64_t dropped_rows = 0;
  RowCounts rows = {};
};

/// A consumer's end of a ring: which run comes next, when an epoch is over, and what is thrown.
/// Where it stands is its ReadCursor's, what it still reads its LeaseTable's, and what it counts
/// its EpochReceipt's. Works on a board, a desk and the sample ids, and reads no other field.
///
/// A call takes one Look at the board after the other, and sleeps between two of them. It asks
/// three questions: is the epoch over, are the samples there, and if neither, what to sleep for. A
/// RankReader asks the same ones, and its group before it answers.
///
/// One thread at a time calls `next`, `leave_epoch` and the like; `give_back` and `idle` may be
/// called on any thread.
class RingReader {
 public:
  struct Options {
    Pace pace = Pace::lockstep;
    Tail tail = Tail::keep;
    std::uint32_t share = 0;   ///< it takes this one, from 0 on,
    std::uint32_t shares = 1;  ///< of as many equal shares of each batch
    OnMiss on_miss = OnMiss::skip;
    std::vector<ReaderAxis> axes = {};  ///< the stream's
    RowBudget budget = {};
    bool rides = false;  ///< of a dead producer it takes no batch that its death cut short
    RowWindow window = {};
    std::uint64_t row = 0;                   ///< where it begins, inside the sample at its position
    std::uint64_t spin_ns = 0;               ///< look at most this long before sleeping
    std::string stream;                      ///< for messages
    std::string memory_option = "--memory";  ///< for messages: of `serve`, what enlarges the ring
  };

  RingReader(BoardView board, Desk& desk, SampleIds sample_ids, ReaderHost& host, Options options);

  RingReader(const RingReader&) = delete;
  RingReader& operator=(const RingReader&) = delete;

  /// The next `samples` samples, fewer at an epoch's end. A negative time-out waits for ever. After
  /// `end_of_epoch` the next call begins the following epoch. Throws StreamOver's kinds, Revoked,
  /// RingTooSmall, Missed, ReceiptMismatch. `lockstep`: the run is leased until it is given back.
  /// `free`: copy it, then ask `copied`. Where the reader's own leases are in the way, it asks its
  /// host to give them back (`Room::make`), or looks no further.
  enum class Room : std::uint8_t { make, take_as_it_is };
  [[nodiscard]] Next next(std::uint64_t samples, int timeout_ms, Run& run, Room room = Room::make);

  /// The run of the next batch of `samples` samples: where this epoch has no more, the first one of
  /// the next epoch. Waits until its samples are published; false at the time-out. Changes nothing,
  /// counts nothing and takes no lease. It passes what a budget drops, and samples without rows,
  /// at the cursor of an epoch that is begun. Throws as `next`; InvalidArgument where an epoch has
  /// no such batch at all; RingTooSmall where only `next` can pass what leaves no room. The caller
  /// copies the run, and then asks `still_held`.
  [[nodiscard]] bool peek(std::uint64_t samples, int timeout_ms, Run& run);
  /// After the copy of a run without a lease: the producer overwrote none of its samples meanwhile.
  [[nodiscard]] bool still_held(const Run& run) const noexcept;

  /// `free` pace: true if the copy made of `run` is whole; the cursor moves on. Else copy what the
  /// next call of `next` gives.
  [[nodiscard]] bool copied(const Run& run, std::span<const std::uint64_t> sample_ids);

  /// From the next batch on. A batch then has at most `samples` samples, and is cut by rows.
  void set_budget(const RowBudget& budget) noexcept { rows_.set_budget(budget); }
  /// The same of a window; unset, batches begin at a sample again.
  void set_window(const RowWindow& window) noexcept { rows_.set_window(window); }
  /// Returns a lease, in any order. True if none is held any more.
  bool give_back(std::uint64_t lease) noexcept;

  /// Skips what is left of the current epoch; does nothing if it is over. What there is to complain
  /// about, the next call of `next` throws.
  void leave_epoch() noexcept;

  /// The place that the producer gave: for the next loop with `let_go`, or for one that moves. No
  /// lease is held.
  void move_to(RowPlace place);
  void move_to(std::uint64_t position) { move_to(RowPlace{position, 0}); }

  [[nodiscard]] bool between_epochs() const noexcept { return cursor_.between_epochs(); }
  /// True if another epoch begins; waits until that is known. Nothing at the time-out.
  [[nodiscard]] std::optional<bool> has_next_epoch(int timeout_ms);

  [[nodiscard]] bool revoked() const noexcept { return cursor_.revoked(); }
  void check() const;  ///< throws Revoked, or what the host throws instead

  [[nodiscard]] std::uint64_t position() const noexcept { return cursor_.position(); }
  [[nodiscard]] std::uint64_t row() const noexcept { return cursor_.row(); }
  [[nodiscard]] RowPlace place() const noexcept { return cursor_.place(); }
  /// Of the next sample: while the rest of an epoch is skipped, the one after it.
  [[nodiscard]] std::uint64_t epoch() const noexcept {
    return cursor_.epoch() + (cursor_.phase() == Phase::skipping ? 1 : 0);
  }
  /// No lease is held.
  [[nodiscard]] bool idle() const noexcept { return leases_.none_held(); }
  [[nodiscard]] ReaderStatus status() const noexcept;

 private:
  friend class RankReader;  // it takes the same steps, and asks its group between them
  friend struct ReaderHandover;
  friend class LookAhead;  // it takes them, and none that changes anything

  using Phase = ReadCursor::Phase;
  /// One look at the board: what it found, and what to sleep for where that is not enough.
  struct Look {
    StreamState state;            ///< read before what it is the end of
    std::uint64_t published = 0;  ///< read before the ends of epochs
    std::uint64_t wanted = ReadCursor::endless;
    ReadCursor::RowWish rows = {};
  };
  /// Where a batch begins, and where its epoch ends, if that is known.
  struct Place {
    RowPlace at = {};
    std::uint64_t epoch = 0;
    std::optional<std::uint64_t> end = {};
  };
  /// Who counts what this reader skips: the samples of a rest, the epoch that was skipped.
  enum class Counted { here, elsewhere, nowhere };
  /// What became of the rest of an epoch. `skipped`: its end is not known yet. `passed`: the cursor
  /// is there.
  enum class Rest { was_over, unbegun, skipped, passed };

  // ---- of every call
  void begin_call();
  [[nodiscard]] static std::uint64_t deadline_after(int timeout_ms) noexcept;
  /// Until `wanted` is published or anything else changed. False once the deadline has passed.
  [[nodiscard]] bool sleep(const Look& look, std::uint64_t deadline_ns, bool counts = true);
  void look_whether_alive(std::uint64_t now) noexcept;
  [[nodiscard]] bool is_over(StreamState state) const noexcept;
  [[nodiscard]] bool takes_rest(StreamState state) const noexcept;
  [[noreturn]] void throw_over(StreamState state) const;
  void throw_complaint();

  // ---- between epochs
  [[nodiscard]] bool enter_epoch(Look& look, Room room);
  [[nodiscard]] bool find_next_epoch(Counted skipped);
  void await_begin(Look& look, bool is_found, Room room);
  void begin_epoch() noexcept;
  [[nodiscard]] bool is_begun_epoch_real() const noexcept;
  [[nodiscard]] std::optional<bool> next_epoch_comes(StreamState state, bool is_found) const;
  void await_next_epoch(Look& look, bool is_found);

  // ---- is the epoch over?
  [[nodiscard]] bool end_epoch_if_over(Look& look, std::uint64_t samples);
  [[nodiscard]] bool missed_end();
  [[nodiscard]] bool miss_overwritten();
  [[nodiscard]] bool is_rest_left_out(const Look& look, std::uint64_t samples) noexcept;
  [[nodiscard]] bool leaves_out(std::uint64_t left, std::uint64_t samples) const noexcept;
  void close_epoch();
  void count_receipt(std::uint64_t epoch, EpochReceipt::Verdict verdict,
                     const std::string& difference);
  [[nodiscard]] Rest pass_rest(Counted counted) noexcept;
  void count_rest(std::uint64_t end, Counted counted) noexcept;
  [[nodiscard]] std::uint64_t oldest_there() const noexcept;
  [[nodiscard]] std::uint64_t after_miss(std::uint64_t oldest, const Place& place) const noexcept;

  // ---- are the samples there?
  [[nodiscard]] bool take_if_there(Look& look, std::uint64_t samples, Room room, Run& run);
  [[nodiscard]] bool deliver(std::uint64_t samples, std::uint64_t there, Run& run);
  [[nodiscard]] static Run run_of(const BatchShare::Part& part, const Place& place,
                                  std::uint64_t there) noexcept;

  // ---- rows
  void make_row_room(Look& look, std::uint64_t begin, std::uint64_t needed, Room room);
  [[nodiscard]] bool take_cut(Look& look, std::uint64_t samples, Room room, Run& run);

  BoardView board_;
  Desk& desk_;
  SampleIds sample_ids_;
  ReaderHost& host_;
  Options options_;
  const std::uint64_t capacity_;
  const BatchShare share_;
  ReadCursor cursor_;
  LeaseTable leases_;
  LeaseRoom room_;
  EpochReceipt receipt_;
  RowReading rows_;
  std::string complaint_;  ///< of a receipt that did not match, to be thrown
  bool producer_dead_ = false;
  std::uint64_t looked_alive_ns_ = 0;
};

}  // namespace batchcast::inline v0_1
