// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>
#include <batchcast/ring/board.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/receipt.hpp>
#include <batchcast/ring/spinner.hpp>
#include <batchcast/ring/window.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

/// A run of positions that a consumer may look at. Never crosses an epoch.
struct Run {
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t lease = 0;  ///< to be given back; meaningless for `free` pace
};

enum class Next { batch, end_of_epoch, timed_out };

/// What a reader asks of whoever attached it.
class ReaderHost {
 public:
  virtual ~ReaderHost() = default;
  /// Is the producer's process dead? Asked at each time-out of a sleep.
  [[nodiscard]] virtual bool producer_is_dead() noexcept = 0;
  /// The producer's reason for the eviction, for the text of Revoked.
  [[nodiscard]] virtual std::string why_revoked() = 0;
  /// Whether leases will be given back without anybody's doing, so that too many of them are worth
  /// waiting for. Asked before RingTooSmall is thrown, with the reader's mutex held.
  [[nodiscard]] virtual bool leases_come_back() noexcept { return false; }
};

struct ReaderStatus {
  std::uint64_t samples = 0, batches = 0, skipped = 0;
  std::uint64_t waits = 0, wait_ns = 0, late_wakeups = 0;
  std::uint64_t epochs_matched = 0, epochs_mismatched = 0, epochs_unknown = 0;
  std::uint64_t leases_held = 0;
};

/// Where a reader finds the sample ids. `shown` is the mapping that the trainer has pointers into.
/// Once `written` is set the trainer has written there, and `apart` has the ring's ids. To be asked
/// once the samples are known to be published.
struct SampleIds {
  FieldWindow shown;
  FieldWindow apart;
  const std::atomic<std::uint32_t>* written = nullptr;  ///< none: `shown` has the ring's for good

  SampleIds(FieldWindow window) : shown(window) {}  // NOLINT(google-explicit-constructor)
  SampleIds(FieldWindow window, FieldWindow other, const std::atomic<std::uint32_t>& flag)
      : shown(window), apart(other), written(&flag) {}

  [[nodiscard]] std::span<const std::uint64_t> at(std::uint64_t position,
                                                  std::uint64_t size) const noexcept {
    const bool away = written != nullptr && written->load() != 0;
    return {reinterpret_cast<const std::uint64_t*>((away ? apart : shown).at(position)), size};
  }
};

/// A consumer's end of a ring: its cursor, its leases, its sleep. Works on a board, a desk and the
/// sample ids; the other fields are none of its business.
///
/// One thread at a time calls `next`, `leave_epoch` and the like; `give_back` may come from any
/// thread.
class RingReader {
 public:
  struct Options {
    Pace pace = Pace::lockstep;
    Tail tail = Tail::keep;
    OnMiss on_miss = OnMiss::skip;
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
  /// `free`: copy it, then ask `copied`.
  [[nodiscard]] Next next(std::uint64_t samples, int timeout_ms, Run& run);

  /// `free` pace: true if the copy made of `run` is whole; the cursor moves on. Else copy what the
  /// next call of `next` gives.
  [[nodiscard]] bool copied(const Run& run, std::span<const std::uint64_t> sample_ids);

  /// Returns a lease, in any order. True if none is held any more.
  bool give_back(std::uint64_t lease) noexcept;

  /// Lets go of what is left of the current epoch; nothing if it is over. What there is to complain
  /// about, the next call of `next` throws.
  void leave_epoch() noexcept;

  /// `let_go`: the place that the producer gave for the next loop.
  void move_to(std::uint64_t position);

  [[nodiscard]] bool between_epochs() const noexcept { return between_; }
  /// True if another epoch begins; waits until that is known. Nothing at the time-out.
  [[nodiscard]] std::optional<bool> has_next_epoch(int timeout_ms);

  [[nodiscard]] bool revoked() const noexcept;
  void check() const;  ///< throws Revoked

  [[nodiscard]] std::uint64_t position() const noexcept { return position_; }
  /// Of the next sample: while the rest of an epoch is skipped, the one after it.
  [[nodiscard]] std::uint64_t epoch() const noexcept { return epoch_ + (skip_wanted_ ? 1 : 0); }
  [[nodiscard]] bool idle() const noexcept;
  [[nodiscard]] ReaderStatus status() const noexcept;

 private:
  struct Lease {
    std::uint64_t start;
    std::uint64_t since_ns;
    bool returned;
  };

  [[nodiscard]] bool find_epoch();
  void look_for_end() noexcept;
  [[nodiscard]] std::optional<std::uint64_t> announced_end(std::uint64_t epoch) const noexcept;
  void begin_epoch() noexcept;
  void close_epoch() noexcept;
  void throw_complaint();
  [[nodiscard]] bool end_skip();
  void deliver(std::uint64_t size, Run& run);
  void miss(std::uint64_t oldest);
  /// After a miss: whether the end of the epoch that was begun was among what was missed. Then it
  /// is over, and what comes next belongs to a later one.
  [[nodiscard]] bool missed_end() noexcept;
  void check_room(std::uint64_t end) const;  // with the mutex
  [[noreturn]] void throw_over(StreamState state) const;
  /// Until `published` reaches `wanted` or anything else changed. False once the deadline has
  /// passed.
  [[nodiscard]] bool sleep(std::uint64_t wanted, StreamState seen, std::uint64_t deadline_ns);
  void doze(std::uint64_t wanted, StreamState seen, int timeout_ms);
  void look_whether_alive(std::uint64_t now) noexcept;
  void store_released() noexcept;
  [[nodiscard]] Lease& lease(std::uint64_t number) noexcept;

  BoardView board_;
  Desk& desk_;
  const ConsumerEntry& entry_;
  const std::uint64_t consumer_id_;
  SampleIds sample_ids_;
  ReaderHost& host_;
  Options options_;
  const std::uint64_t capacity_;
  const std::uint64_t samples_per_epoch_;

  // Written by the consuming thread under the mutex, since `give_back` reads the first two.
  mutable std::mutex mutex_;
  std::uint64_t position_;       ///< next to deliver
  bool skip_announced_ = false;  ///< the desk says `skipping`
  bool skip_wanted_ = false;     ///< it shall, once the last lease is back
  std::uint64_t released_;
  std::vector<Lease> leases_;  ///< circular; leases first_lease_ … next_lease_ - 1 are in it
  std::uint64_t first_lease_ = 0;
  std::uint64_t next_lease_ = 0;
  std::uint64_t held_ = 0;

  // The consuming thread's own.
  bool found_ = false;  ///< the epoch of position_ is known
  bool between_ = true;
  std::uint64_t epoch_ = 0;
  std::uint64_t epoch_start_ = 0;
  std::optional<std::uint64_t> epoch_end_;
  bool whole_ = false;  ///< every position of the epoch so far is in the receipt
  Receipt receipt_;
  std::string complaint_;  ///< of a receipt that did not match, to be thrown
  Spinner spinner_;
  bool producer_dead_ = false;
  std::uint64_t looked_alive_ns_ = 0;
};

}  // namespace batchcast::inline v0_1
