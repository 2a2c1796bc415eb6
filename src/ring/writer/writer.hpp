// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/states.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/spinner.hpp>
#include "ring/writer/epoch_ledger.hpp"

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1 {

/// A run of positions handed out to be filled, within one epoch.
struct Ticket {
  std::uint64_t position = 0;
  std::uint64_t size = 0;
  std::uint64_t epoch = 0;
  std::uint64_t epoch_start = 0;
};

enum class Claim { granted, timed_out, ended };

struct AdmitRequest {
  std::string name;
  std::uint32_t pid = 0;
  std::uint32_t batch_size = 0;
  Pace pace = Pace::lockstep;
  Join join = Join::rewind;
  std::uint64_t cursor = 0;
  BetweenEpochs between_epochs = BetweenEpochs::hold;
  bool observes = false;  ///< looks at what is there, and counts for nothing
  /// Copies the stream into another ring of this process: `lockstep`, but a consumer nowhere else
  /// than at the gate. Begins paused; only `resume_mirror` lets it in.
  bool mirrors = false;
};

struct Admitted {
  std::uint32_t index = 0;
  std::uint64_t consumer_id = 0;
  std::uint64_t position = 0;
  std::uint64_t samples_to_come = 0;  ///< before the first one that it gets
  std::string name;                   ///< made unique
};

struct NotAdmitted {
  enum class Reason { full, finished, stopped, failed, cursor_gone } reason;
  std::string text;
};

/// What a resting mirror's own ring asks for when a trainer comes to it.
struct MirrorRequest {
  Join join = Join::rewind;  ///< the trainer's
  std::uint64_t cursor = 0;
  std::uint64_t oldest = 0;  ///< position that the mirror's ring holds
  std::uint64_t next = 0;    ///< position that it would go on with
};

/// Where the mirror begins, and its trainer.
struct MirrorStart {
  std::uint64_t position = 0;  ///< `next`, or its ring has to be restarted here
  std::uint64_t epoch = 0;     ///< of `position`; an end belongs to the next one
  std::uint64_t epoch_start = 0;
  /// At least `oldest`. Nothing where the next epoch's start is not known yet.
  std::optional<std::uint64_t> trainer = std::nullopt;
};

/// One consumer as the producer sees it now.
struct ConsumerStatus {
  std::string name;
  std::uint32_t index = 0;
  std::uint64_t consumer_id = 0;
  std::uint32_t pid = 0;
  std::uint32_t batch_size = 0;
  Pace pace = Pace::lockstep;
  bool mirrors = false;  ///< no consumer, but what fills another ring
  bool fresh = true;     ///< it had no batch before its last pause, and may begin before `position`
  ConsumerState state = ConsumerState::running;  ///< never stopped: the writer looks at no process
  std::uint64_t position = 0;
  std::uint64_t lag = 0;  ///< samples published that it has not let go of yet
  std::uint64_t samples = 0;
  std::uint64_t wait_ns = 0;
  std::uint64_t leases_held = 0;
};

struct WriterStatus {
  StreamState state = StreamState::starting;
  std::uint64_t epoch = 0;
  std::uint64_t published = 0;
  std::uint64_t claimed = 0;
  std::uint64_t late_wakeups = 0;
  std::uint64_t space_waits = 0;
  std::uint64_t space_wait_ns = 0;
  WaitsFor waits_for = WaitsFor::nothing;
  std::vector<ConsumerStatus> consumers;
};

/// The producer's end of a ring: hands out positions, publishes what was filled, and keeps the book
/// of consumers. It works on a board and desks only, wherever they lie; samples are none of its
/// business.
///
/// Thread-safe: every member function may be called from any thread. One admission lock guards
/// tickets, gate, admission, eviction and every advance of `claimed` and `published`.
class RingWriter {
 public:
  struct Options {
    std::uint64_t samples_per_epoch = 0;  ///< 0: epochs end when `end_epoch` says so
    std::uint64_t epochs = 0;             ///< 0: endless
    std::uint32_t wait_for = 0;           ///< consumers that the first publication waits for
    bool free_running = false;            ///< produce although nobody asks
    /// Epochs that are made beyond the foremost consumer, or while none is attached, beyond where
    /// the next consumer would begin; 0: as many as the ring holds. Where an epoch's length is not
    /// known, one that is begun counts as whole.
    std::uint64_t ahead = 0;
    /// Samples can be made again: the stream goes back to a consumer's cursor that the ring no
    /// longer holds, if no other consumer is attached. Only where epochs have one length; a ring
    /// that is filled from another one leaves it to that.
    bool goes_back = false;
    std::uint64_t stall_timeout_ms = 60'000;
    OnStall on_stall = OnStall::report;
    std::uint64_t spin_ns = 50'000;  ///< look at most this long for space before sleeping
    std::uint64_t start = 0;         ///< first position of the stream (tests near 2^32 and 2^63)
    std::uint64_t first_consumer_id =
        1;  ///< where several rings show one stream, their consumer_ids differ
    /// Where everybody stands further on, the samples between are left out. Not in a ring that is
    /// filled from another one, which decides that.
    bool jumps = true;
    LogCallback log;
    /// Called without the lock after this writer evicted a consumer on its own account.
    std::function<void(std::uint64_t consumer_id, const std::string& reason)> on_evicted;
  };

  RingWriter(Board board, Options options);

  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

  // ---- tickets

  /// Waits until at least one position is free and grants up to `samples_max`; never past an
  /// epoch's end. A negative time-out waits for ever. `ended`: the stream is over, or wholly handed
  /// out.
  [[nodiscard]] Claim claim(std::uint64_t samples_max, int timeout_ms, Ticket& ticket);

  /// The ticket's samples are complete. In any order, from any thread.
  void publish(const Ticket& ticket, const Receipt& receipt);

  /// The ticket's samples will not come. The newest goes back to be handed out again; any other
  /// leaves a hole, and the stream fails.
  void give_back(const Ticket& ticket) noexcept;

  /// Streams of unknown epoch length: the current epoch ends after what was published so far.
  /// Throws InvalidArgument while a ticket is out, or if the epoch has no samples.
  void end_epoch();

  // ---- the stream's end

  /// No more samples will come. Ends the current epoch where its length is not known; throws
  /// InvalidArgument in the middle of one whose length is.
  void finish();
  /// Ends the stream where it is, or the wait for a finished one to drain.
  void stop(const std::string& text) noexcept;
  void fail(const std::string& text) noexcept;
  /// The same as `stop` if no consumer but observers has been attached for so long, here or
  /// elsewhere, counted from the last that left, or from the beginning. Who comes later is refused:
  /// nobody is let in and then told to go.
  [[nodiscard]] bool stop_if_unattended(std::uint64_t for_ns, const std::string& text) noexcept;

  /// Waits until every consumer has let go of all that is published, and of a stream that came to
  /// its end, until it ever had one. Negative: for ever. False at the time-out, and after `stop`.
  [[nodiscard]] bool wait_drained(int timeout_ms);
  /// `finished` for good: nobody is let in any more. False if somebody came who still drains.
  [[nodiscard]] bool close();
  /// Every sample up to the stream's end is complete, whether it could be published yet or not.
  [[nodiscard]] bool all_made() const;

  // ---- consumers

  /// The consumer counts from here on. `desk` is its mapped desk, zeroed, not yet seen by it; it
  /// stays mapped as long as the writer may look at it.
  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                          std::shared_ptr<Desk> desk);
  /// It left or died: its memory is free at once.
  void remove(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  /// Takes its place away although it lives. False if there is no such consumer.
  bool evict(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  /// `let_go`: out of the gate between its loops, and in again at a new position.
  void pause(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join, std::uint64_t cursor);

  // ---- further rings of the same stream

  /// Consumers but observers that are attached to the stream's other rings. They count as this
  /// ring's own in `wait_for`, in having had a consumer, and against `stop_if_unattended`. False if
  /// the stream was stopped or failed: whoever just came there has to be sent away again.
  bool set_trainers_elsewhere(std::uint32_t trainers);
  /// Consumers but observers and mirrors that are attached, paused ones too.
  [[nodiscard]] std::uint32_t trainers_here() const;
  /// Where the last trainer stood that has left, if it ever had a batch; nothing if none has left
  /// since this was asked last.
  [[nodiscard]] std::optional<std::uint64_t> take_left_at();
  /// The same, where that trainer left another ring of the stream.
  void set_left_at(std::optional<std::uint64_t> position);
  /// Somebody wants samples: a consumer that is not paused, and no mirror.
  [[nodiscard]] bool has_demand() const;
  /// Lets a resting mirror in again (`pause` rests it), and decides where a trainer that comes to
  /// its ring begins. Where the two rings together hold everything from `oldest` on, the mirror
  /// goes on at `next`; else it begins where the trainer does (while `wait_for` is not reached, up
  /// to a ring's length before that), or for a trainer that waits for an epoch's end that nobody
  /// knows, at what is published next. The mirror gates from there.
  [[nodiscard]] std::variant<MirrorStart, NotAdmitted> resume_mirror(std::uint32_t index,
                                                                     std::uint64_t consumer_id,
                                                                     const MirrorRequest& request);
  /// Of a mirror's own ring, where nobody asks and no ticket is out: what it holds is forgotten,
  /// and it goes on at `position`, in that epoch. A ring that stands there already keeps what it
  /// holds, and at most ends its epoch. At the stream's end it is finished. Backwards only where
  /// nobody is attached, and epochs have one length. Nothing once the stream is over.
  void restart_at(std::uint64_t position, std::uint64_t epoch, std::uint64_t epoch_start);

  /// Why nobody new is let in, whatever they ask for: the stream is over, or every place is taken.
  [[nodiscard]] std::optional<NotAdmitted> refusal_of_newcomers() const;

  [[nodiscard]] WriterStatus status() const;
  /// How many samples were published: what was jumped over is not among them.
  [[nodiscard]] std::uint64_t samples_published() const;
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept {
    return options_.samples_per_epoch;
  }
  void set_stall_policy(std::uint64_t timeout_ms, OnStall on_stall) noexcept;

 private:
  struct Attached {
    std::uint32_t index = 0;
    std::uint64_t consumer_id = 0;
    std::shared_ptr<Desk> desk;
    Pace pace = Pace::lockstep;
    bool paused = false;
    bool observes = false;  ///< paused for good
    bool mirrors = false;
    bool fresh = true;        ///< it had no batch when it last paused
    std::uint64_t floor = 0;  ///< the last `released` accepted from its desk
    std::uint64_t bound = 0;  ///< it may always have let go of this much
    std::uint64_t skipping = 0;
    std::uint32_t pid = 0;
    std::string name;
  };
  struct Outstanding {
    std::uint64_t start, end;
    bool ready;
    Receipt receipt;
  };
  struct Eviction {
    std::uint64_t consumer_id;
    std::string reason;
  };
  struct Stall {
    std::uint64_t consumer_id = 0;
    std::uint64_t stands = 0;  ///< its floor; alone at `ahead`'s bound, its cursor
    std::uint64_t since_ns = 0;
    std::uint64_t reported_ns = 0;
  };
  /// Where the consumers that are not paused stand. Indices into `attached_`; `none` without one.
  struct Standing {
    std::size_t slowest = none;  ///< in lockstep
    std::uint64_t lowest = limits::position_max;
    std::size_t foremost_free = none;
    std::uint64_t free_position = 0;
    std::size_t foremost = none;  ///< of any pace
    std::uint64_t furthest = 0;   ///< up to there it has had samples
    bool one_skips = false;       ///< a consumer waits for an epoch's end that is not known
  };
  struct PendingWakes;
  using Lock = std::unique_lock<std::mutex>;

  // All of these are called with the lock held.
  [[nodiscard]] bool over() const noexcept;
  /// Takes over what the desk says, or returns what is wrong with it.
  [[nodiscard]] std::string validate(Attached& consumer) const;
  void evict_offenders();
  /// Nothing while it skips an epoch whose end is not known: it does not gate then.
  [[nodiscard]] std::optional<std::uint64_t> position_of(const Attached& consumer) const;
  [[nodiscard]] Standing standing() const;
  void refresh_limit();
  [[nodiscard]] std::uint64_t demand_limit(const Standing& standing);
  [[nodiscard]] std::uint64_t ahead_limit(const Standing& standing) const;
  /// Once the consumer that the producer waits for has let go of all below this position, there may
  /// be room for another sample.
  [[nodiscard]] std::uint64_t wakes_at() const noexcept;
  [[nodiscard]] bool jump_is_due(std::uint64_t& target);
  void jump(std::uint64_t target);
  /// For a consumer that joins; `consumer_id` is its own, if it is attached already.
  [[nodiscard]] bool may_go_back(std::uint64_t consumer_id) const noexcept;
  void go_back_if_asked(Join join, std::uint64_t cursor, std::uint64_t consumer_id);
  /// True if the stream has gone back since this ticket was granted: its samples are not published.
  [[nodiscard]] bool take_abandoned(const Ticket& ticket) noexcept;
  [[nodiscard]] bool is_clear() const noexcept;
  void grant(std::uint64_t samples, Ticket& ticket);
  void wait_for_space(Lock& lock, int timeout_ms);
  [[nodiscard]] bool space_came_while_looking(Lock& lock);
  void look_for_stall();
  [[nodiscard]] std::size_t slowest_to_name() const;
  [[nodiscard]] bool held_back() const noexcept;
  void advance(PendingWakes& wakes);
  void wake_sleepers(PendingWakes& wakes, bool all) noexcept;
  void bump() noexcept;
  void enter_end(StreamState outcome, const std::string& text, PendingWakes& wakes) noexcept;
  struct Reach {
    std::uint64_t oldest;    ///< position that can be had
    std::uint64_t at_least;  ///< where it has to begin
  };
  [[nodiscard]] Reach reach_from(std::uint64_t at_least) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> place(Join join, std::uint64_t cursor, Reach reach,
                                                   std::string& why_not);
  /// Where `rewind` begins while no consumer is attached: at the start of the epoch that the last
  /// trainer left, or where the ring does not hold that, at the first one that it does. Nothing
  /// where that start is not known yet.
  [[nodiscard]] std::optional<std::uint64_t> rewind_start(std::uint64_t oldest) const;
  [[nodiscard]] bool deserted() const noexcept;
  /// Empty if a consumer may begin at `cursor`.
  [[nodiscard]] std::string why_not_at(std::uint64_t cursor, std::uint64_t oldest) const;
  [[nodiscard]] std::optional<NotAdmitted> refusal_if_over() const;
  /// The first entry of the board that nobody has, or why nobody may have one.
  [[nodiscard]] std::variant<std::uint32_t, NotAdmitted> free_entry() const;
  void drop(std::size_t at) noexcept;
  void evict_at(std::size_t at, std::string reason);
  [[nodiscard]] Attached* find(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  [[nodiscard]] std::uint32_t trainers() const noexcept;
  [[nodiscard]] std::string unique_name(const std::string& wanted) const;
  [[nodiscard]] bool drained();
  // Called without.
  void tell_evicted(std::vector<Eviction> evictions);
  void log(LogLevel level, const std::string& text) const;

  Board board_;
  Options options_;
  const std::uint64_t capacity_;

  std::mutex turn_;  ///< one claimer at a time waits for space
  Spinner spinner_;  ///< that claimer's
  mutable std::mutex mutex_;
  EpochLedger ledger_;
  std::deque<Outstanding> outstanding_;
  std::vector<std::uint64_t> abandoned_;  ///< starts of tickets that the stream went back behind
  std::vector<Attached> attached_;
  std::vector<Eviction> evictions_;  ///< to be told once the lock is free
  std::uint64_t next_;               ///< next position to hand out
  std::uint64_t claimed_;
  std::uint64_t published_;
  std::uint64_t limit_ = 0;  ///< below it positions may be handed out; 0: look again
  std::uint64_t demand_base_;
  std::uint64_t valid_from_ = 0;
  std::uint64_t left_out_ = 0;  ///< samples jumped over
  std::uint64_t stream_end_;
  std::uint64_t next_consumer_id_;
  std::uint32_t trainers_elsewhere_ = 0;
  std::size_t slowest_ = none;    ///< index into attached_: of those in lockstep
  std::size_t waits_for_ = none;  ///< index into attached_: the consumer that sets the limit
  std::uint64_t reach_ = 0;       ///< the limit beyond what that one has let go of
  bool far_ahead_ = false;        ///< the limit is `ahead`'s, or no consumer asks
  std::optional<std::uint64_t> left_at_;
  bool left_anew_ = false;                      ///< and no other ring was told
  StreamState outcome_ = StreamState::running;  ///< or what the stream ended in
  std::string outcome_text_;
  bool publishing_ = false;  ///< the first publication is done
  bool had_consumer_ = false;
  bool closed_ = false;
  std::uint64_t last_leave_ns_;  ///< of a consumer that was no observer; at first, the beginning
  bool claimer_waits_ = false;
  bool drain_cancelled_ = false;
  Stall stall_;
  Shared32 private_word_{0};  ///< bumped by whatever a claimer may wait for besides a desk

  static constexpr std::size_t none = ~std::size_t{0};
};

}  // namespace batchcast::inline v0_1
