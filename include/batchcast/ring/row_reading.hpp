// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>
#include <batchcast/ring/epoch_receipt.hpp>
#include <batchcast/ring/lease_table.hpp>
#include <batchcast/ring/read_cursor.hpp>
#include <batchcast/ring/reader_host.hpp>
#include <batchcast/ring/row_cut.hpp>
#include <batchcast/ring/run.hpp>
#include <batchcast/ring/sample_ids.hpp>
#include <batchcast/ring/window_cut.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// An axis of the stream that a reader reads.
struct ReaderAxis {
  RowTable table;
  std::string name;
  std::uint64_t row_bytes = 0;  ///< of all its fields together
};

/// A reader's part for streams with axes: where a budget or a window cuts, and whether its leases
/// leave rows for what it waits for. The reader's thread calls it. What it is given must outlive
/// it.
class RowReading {
 public:
  struct Options {
    std::vector<ReaderAxis> axes = {};
    RowBudget budget = {};
    RowWindow window = {};
    Tail tail = Tail::keep;  ///< of a window
    Pace pace = Pace::lockstep;
    std::uint32_t share = 0;
    std::uint32_t shares = 1;
    std::string stream = {};         ///< for messages
    std::string memory_option = {};  ///< for messages
  };
  RowReading(BoardView board, Desk& desk, const SampleIds& sample_ids, ReadCursor& cursor,
             LeaseTable& leases, EpochReceipt& receipt, ReaderHost& host, Options options);

  [[nodiscard]] bool has_axes() const noexcept { return !options_.axes.empty(); }
  [[nodiscard]] bool has_window() const noexcept { return options_.window.is_set(); }
  [[nodiscard]] bool cuts_rows() const noexcept { return options_.budget.is_set() || has_window(); }
  /// The cursor is at a place that another consumer, or a checkpoint, had.
  void forget_place() noexcept {
    rest_axis_.reset();
    if (has_window()) rest_axis_ = options_.window.axis;
  }
  void set_budget(const RowBudget& budget) noexcept {
    receipt_.spoil_rows();
    options_.budget = budget;
  }
  void set_window(const RowWindow& window) noexcept {
    receipt_.spoil_rows();
    if (window.is_set()) rest_axis_ = window.axis;
    options_.window = window;
  }

  // ---- with a budget or a window

  enum class Found : std::uint8_t {
    batch,
    more,       ///< it depends on samples that are not there yet
    none,       ///< the epoch has no further batch
    oversized,  ///< a sample exceeds the budget, and that is an error
    gone,       ///< the sample at the cursor has no such row
  };
  /// The samples from `begin` on that are published, of an epoch whose end may be known.
  struct Samples {
    RowPlace begin = {};
    std::uint64_t published = 0;
    std::optional<std::uint64_t> end = {};
    std::uint64_t most = 0;  ///< of a run
  };
  /// What the batch there consists of. `is_over`: what is published is all that there will be.
  [[nodiscard]] Found cut(const Samples& samples, bool is_over);
  /// Whether an epoch whose end is published has no further batch: all of it is dropped, or there
  /// are fewer samples than ranks. False where that is not known, since the cut is not sound.
  [[nodiscard]] bool cuts_nothing(const Samples& samples);
  /// Samples without rows, and those that are dropped, before a batch begins would fill the ring
  /// while it waits: the reader goes on behind them. True if there were any.
  /// The last cut is sound.
  [[nodiscard]] bool pass_dropped(const Samples& samples);
  /// Where the batch begins that the last cut looked for: behind samples that are dropped and, with
  /// a window, behind those without rows.
  [[nodiscard]] std::uint64_t begin_of_batch(const Samples& samples) const noexcept;
  /// Of an epoch, after `none`.
  [[nodiscard]] std::string why_no_batch() const;
  /// What ends the wait for the rest of a batch: a position, and a row.
  [[nodiscard]] std::uint64_t await(const Samples& samples, ReadCursor::RowWish& wish) const;
  /// This reader's run of the cut.
  [[nodiscard]] Run run(const Samples& samples, std::uint64_t epoch) const noexcept;
  /// Leases that run, and counts the batch.
  void deliver(Run& run);
  /// The same at `free` pace, once the copy is whole.
  void note_copied(const Run& run) noexcept;
  /// `free` pace may have found what was overwritten: false then.
  [[nodiscard]] bool is_cut_sound(std::uint64_t begin) const noexcept;
  /// Throws after `oversized` and `gone`.
  void refuse(Found found, const Samples& samples) const;
  /// Batches of samples begin at a sample: rows that a window left of one that is published are
  /// dropped. True if there were any. Throws where the sample has no such row.
  [[nodiscard]] bool drop_rest(std::uint64_t published);
  /// `free` pace: whether the copy of a window's run is whole. Then the cursor moves on.
  [[nodiscard]] bool take_copied(const Run& run);

  // ---- what becomes of rows, at `lockstep` pace: on the axis that is cut, else on the first

  /// A batch that no rows cut. `dropped`: samples at its end.
  void count_samples(const Run& run, std::uint64_t dropped) noexcept;
  /// The rows before the sample at `end` are in no batch, and are the first rank's.
  void leave_out(RowPlace from, std::uint64_t end) noexcept;

  // ---- of a stream with axes

  /// The producer may sleep for the rows of a sample below `needed`. The axis on which it fits the
  /// ring together with the samples from `begin` on, but not with those from the cursor on. Empty
  /// if there is none. With a budget or a window, the last cut saw what is published.
  [[nodiscard]] std::string axis_filled_before(std::uint64_t begin, std::uint64_t needed) const;
  /// Where to go on after a miss: into the middle of what there is. Rows may end the ring's window
  /// before its samples do. `middle`: of its samples.
  [[nodiscard]] std::uint64_t after_miss(std::uint64_t oldest, std::uint64_t published,
                                         std::uint64_t middle) const noexcept {
    const std::uint64_t target = middle < published ? middle : published;
    if (!has_axes() || published <= oldest) return target;
    const std::uint64_t middle_held = oldest + (published - oldest) / 2;
    return target > middle_held ? target : middle_held;
  }

  /// The producer may wait for the rows of a position below `needed`. Then the reader sleeps until
  /// everything before that is there. Where it is, and the reader's own leases are in the way, they
  /// go back, if `makes`. `begin`: the batch that it waits for begins there, as the last cut found
  /// it; `limits::position_max` where it waits for no batch. Returns what to wait for, at most
  /// `wanted`. Throws RingTooSmall.
  [[nodiscard]] std::uint64_t make_room(std::uint64_t begin, std::uint64_t needed,
                                        std::uint64_t wanted, bool makes,
                                        ReadCursor::RowWish& wish);

 private:
  [[noreturn]] void throw_oversized() const;
  [[noreturn]] void throw_gone(RowPlace place) const;
  [[nodiscard]] Found cut_window(const Samples& samples, std::uint64_t end, bool is_final);
  [[nodiscard]] Run window_run(const Samples& samples, std::uint64_t epoch) const noexcept;
  [[nodiscard]] bool pass_empty(const Samples& samples);
  [[nodiscard]] std::uint64_t most_empty() const noexcept;
  [[nodiscard]] std::uint64_t out_of_positions() const noexcept;
  [[nodiscard]] std::size_t axis_of_row(RowPlace place) const;
  void make_room_on(std::size_t axis, const RowWait& wait, RowRange rows, std::uint64_t begin);
  void count_gap(std::uint64_t begin, std::uint64_t end);
  void count_window(const Run& run) noexcept;
  [[nodiscard]] const RowTable& counted_table() const noexcept {
    return options_.axes[has_window() ? options_.window.axis : options_.budget.axis].table;
  }
  [[nodiscard]] bool is_held(std::uint64_t position) const noexcept;
  /// What a batch takes of an axis up to a position.
  struct Needs {
    std::uint64_t position = 0;
    std::uint64_t rows = 0;
  };
  [[nodiscard]] bool exceeds_budget(std::size_t axis, std::uint64_t rows) const noexcept;
  [[noreturn]] void throw_too_many(std::size_t axis, std::uint64_t begin, Needs needs,
                                   std::uint64_t rows) const;
  [[noreturn]] void throw_held(std::size_t axis, std::uint64_t position) const;

  BoardView board_;
  Desk& desk_;
  const SampleIds& sample_ids_;
  ReadCursor& cursor_;
  LeaseTable& leases_;
  EpochReceipt& receipt_;
  ReaderHost& host_;
  Options options_;
  RowCut cut_;
  WindowCut window_cut_;
  std::optional<std::size_t> rest_axis_;  ///< of the last window: the cursor's row is on it
  // What the last cut knew: what came after it may end its batch.
  RowWait cut_wait_;
  std::uint64_t cut_published_ = 0;
};

}  // namespace batchcast::inline v0_1
