// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/consumer_admission.hpp"
#include "ring/writer/joining.hpp"
#include "ring/writer/publisher.hpp"
#include "ring/writer/row_claimer.hpp"
#include "ring/writer/space_claimer.hpp"
#include "ring/writer/status.hpp"
#include "ring/writer/writer_options.hpp"
#include "ring/writer/writer_state.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <variant>

namespace batchcast::inline v0_1 {

/// The producer's end of a ring: hands out positions, publishes filled samples, and keeps the book
/// of consumers. It works only on a board and desks, in any memory; it never touches samples.
///
/// Thread-safe: every member function may be called from any thread. One admission lock guards
/// tickets, gate, admission, eviction and every advance of `claimed` and `published`.
class RingWriter {
 public:
  using Options = WriterOptions;

  RingWriter(Board board, Options options);

  RingWriter(const RingWriter&) = delete;
  RingWriter& operator=(const RingWriter&) = delete;

  // ---- tickets

  /// Waits until at least one position is free and grants up to `samples_max`, never past an
  /// epoch's end. A negative time-out waits for ever. `ended`: the stream is over, or wholly handed
  /// out.
  /// `interruptions`: what `interruptions()` said before; one since then ends the wait, as a
  /// time-out does.
  [[nodiscard]] Claim claim(std::uint64_t samples_max, int timeout_ms, Ticket& ticket,
                            std::optional<std::uint64_t> interruptions = std::nullopt);

  /// The same, but does not wait. Nothing where another claimer waits, or is about to have a
  /// ticket.
  [[nodiscard]] std::optional<Claim> try_claim(std::uint64_t samples_max, Ticket& ticket);
  /// Ends the waits of `claim` that are under way, as a time-out does.
  void interrupt_claims() noexcept { claimer_.interrupt(); }
  [[nodiscard]] std::uint64_t interruptions() const noexcept { return claimer_.interruptions(); }

  /// For streams with axes. Gives the ticket's samples from `index` on rows, in order: sample index
  /// + i has lengths[i] on that axis. Waits until earlier tickets have theirs or are published,
  /// and, before the ticket's first sample only, for room. Where a later sample does not fit, the
  /// ticket becomes shorter, and `claim` grants the rest of it again. Returns how many samples got
  /// rows. 0, and a ticket of size 0: the stream is over, or went back. 0 with a ticket that has
  /// samples: the time is out; a negative time-out waits for ever. `first`: the rows of the
  /// ticket's first sample by axis, where they are known before all are taken. Consumers that wait
  /// for it look at them. Throws InvalidArgument, also where this thread would wait for itself, and
  /// RingTooSmall for a sample that never fits.
  [[nodiscard]] std::uint64_t take_rows(Ticket& ticket, std::size_t axis, std::uint64_t index,
                                        std::span<const std::uint64_t> lengths, int timeout_ms = -1,
                                        std::span<const std::uint64_t> first = {});
  /// Whether `take_rows` would not wait for other tickets. Also true where the ticket has no
  /// samples any more.
  [[nodiscard]] bool has_turn(const Ticket& ticket);
  /// The rows that a ticket's position took before the stream went back and left the ticket out.
  /// They may be written until the ticket is back; nothing else gets them before.
  [[nodiscard]] std::optional<RowRange> left_rows(const Ticket& ticket, std::size_t axis,
                                                  std::uint64_t position);

  /// Says that the ticket's samples are complete. In any order, from any thread.
  void publish(const Ticket& ticket, const Receipt& receipt);

  /// Says that the ticket's samples will not come. The newest goes back to be handed out again; any
  /// other leaves a hole, and the stream fails.
  void give_back(const Ticket& ticket) noexcept;

  /// For streams of unknown epoch length: the current epoch ends after what was published so far.
  /// Throws InvalidArgument while a ticket is out, or if the epoch has no samples.
  void end_epoch();

  // ---- the stream's end

  /// Says that no more samples will come. Ends the current epoch where its length is not known;
  /// throws InvalidArgument in the middle of an epoch of known length.
  void finish();
  /// Ends the stream here, or the wait for a finished one to drain. A finished stream that all
  /// consumers have read, and that waits for an announced trainer, stays finished.
  void stop(const std::string& text) noexcept;
  void fail(const std::string& text) noexcept;
  /// Like `stop`, if no trainer has been attached, here or elsewhere, for that long. The time
  /// counts from the last trainer that left or was announced, or from the beginning. A consumer
  /// that comes later is refused, so none is admitted only to be stopped.
  [[nodiscard]] bool stop_if_unattended(std::uint64_t for_ns, const std::string& text) noexcept;

  /// Waits until every consumer has released all that is published. A stream that came to its end
  /// also waits until it ever had a consumer. It waits a few seconds more for an announced trainer
  /// (`resume` of an observer). Negative: for ever. False at the time-out, and after `stop`.
  [[nodiscard]] bool wait_drained(int timeout_ms);
  /// Makes the stream `finished` for good: no further consumer is admitted. False if a consumer
  /// that still reads came.
  [[nodiscard]] bool close();
  /// Whether every sample up to the stream's end is complete, published or not.
  [[nodiscard]] bool all_made() const;

  // ---- consumers

  /// Admits a consumer, which counts from here on. `desk` is its mapped desk, zeroed, which it has
  /// not seen yet. The desk stays mapped as long as the writer may look at it.
  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                          std::shared_ptr<Desk> desk);
  /// Removes a consumer that left or died: its memory is free at once.
  void remove(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  /// Takes a consumer's place away although it lives. False if there is no such consumer.
  bool evict(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  /// Whether that consumer has its place still.
  [[nodiscard]] bool has(std::uint32_t index, std::uint64_t consumer_id) const noexcept;
  /// For `let_go`: a consumer pauses, outside the gate, between its loops, and resumes at a new
  /// position. With join `at` `resume` also moves a consumer that is not paused and holds no lease;
  /// ranks that had a batch stay. It leaves an observer as it is: that asks where a trainer would
  /// begin now, and announces one. It refuses where that trainer would be refused, or would find a
  /// stream that all have read.
  void pause(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join, std::uint64_t cursor);
  /// Why no further consumer is admitted: the stream is over, or every place is taken.
  [[nodiscard]] std::optional<NotAdmitted> refusal_of_newcomers() const;

  // ---- the trainers of an earlier producer, which died

  /// Call it before anything is claimed: grants nothing until `members_are_seated`. Trainers of an
  /// earlier producer are to come, and decide where the stream goes on.
  void await_members();
  /// The stream goes on there, with `wait_for` met. Without a position it begins as any stream, at
  /// once.
  /// `before`: the receipt of what that epoch has before, if that is known. Call it while no
  /// consumer but observers is attached.
  void go_on_at(std::optional<std::uint64_t> position, const std::optional<Receipt>& before);
  /// All have their places, and gate. Until then a mirror that some wait for does not run ahead of
  /// those whose turn is to come.
  void members_are_seated() noexcept;
  /// `wait_for` counts as met.
  void forgo_wait();

  [[nodiscard]] const BoardHead& head() const noexcept {
    return static_cast<const BoardView&>(state_.board).head();
  }
  [[nodiscard]] const std::array<std::uint8_t, 16>& incarnation() const noexcept {
    return head().incarnation;
  }

  // ---- ranks of groups

  /// Puts news on the rank's entry. Returns the epoch that the rank is in, as its desk says.
  /// Nothing between epochs, while it waits for an epoch's first sample, and where there is no such
  /// consumer. If a rank begins an epoch meanwhile, either this call returns that epoch, or the
  /// rank sees the news.
  std::optional<std::uint64_t> tell_rank(std::uint32_t index, std::uint64_t consumer_id,
                                         const GroupNews& news) noexcept;
  /// The rank reported the end of all epochs below, and received what its group took.
  void rank_ended(std::uint32_t index, std::uint64_t consumer_id, std::uint64_t epochs) noexcept;
  /// The epoch of the sample that is published next: no consumer can have ended a later epoch.
  [[nodiscard]] std::uint64_t epoch() const;
  /// What was published of that epoch; nothing where that is not known.
  [[nodiscard]] std::optional<Receipt> receipt_of(std::uint64_t epoch) const;

  // ---- other rings of the same stream

  /// Sets how many trainers are attached to the stream's other rings. They count like this ring's
  /// trainers in `wait_for`, in having had a consumer, and against `stop_if_unattended`. `jobs`
  /// counts each group of ranks as one, as `wait_for` does. False if the stream was stopped or
  /// failed: a trainer that just came there has to be sent away again.
  bool set_trainers_elsewhere(std::uint32_t trainers, std::uint32_t jobs);
  bool set_trainers_elsewhere(std::uint32_t trainers) {
    return set_trainers_elsewhere(trainers, trainers);
  }
  /// The number of attached consumers, paused ones too, without observers and mirrors.
  [[nodiscard]] std::uint32_t trainers_here() const;
  [[nodiscard]] std::uint32_t jobs_here() const;
  /// Where the last trainer with a batch left. Nothing if none has left since the last call.
  [[nodiscard]] std::optional<std::uint64_t> take_left_at();
  /// The same, where that trainer left another ring of the stream.
  void set_left_at(std::optional<std::uint64_t> position);
  /// How far the trainers that have left received samples; 0 if that was taken before.
  [[nodiscard]] std::uint64_t take_read_to();
  /// The same, for trainers that left another ring of the stream.
  void add_read_to(std::uint64_t position);
  /// Whether a consumer is attached that is neither paused nor a mirror.
  [[nodiscard]] bool has_demand() const;
  /// Lets a resting mirror in again (`pause` rests it), and decides where a trainer that comes to
  /// its ring begins. If the two rings together hold everything from `oldest` on, the mirror
  /// continues at `next`. Else it begins where the trainer does; while `wait_for` is not reached,
  /// up to a ring's length before that. For a trainer that waits for an epoch's unknown end, it
  /// begins at what is published next. The mirror gates from there.
  [[nodiscard]] std::variant<MirrorStart, NotAdmitted> resume_mirror(std::uint32_t index,
                                                                     std::uint64_t consumer_id,
                                                                     const MirrorRequest& request);
  /// For a mirror's ring, where every consumer is paused and no ticket is out. The ring forgets
  /// what it holds, and continues at `position`, in that epoch. A ring that stands there already
  /// keeps what it holds, and at most ends its epoch. At the stream's end it is finished. It may go
  /// backwards only where no consumer is attached, and epochs have one length. The call does
  /// nothing once the stream is over.
  void restart_at(std::uint64_t position, std::uint64_t epoch, std::uint64_t epoch_start);
  /// Where a consumer would find this ring.
  [[nodiscard]] RingOutlook outlook(std::uint64_t cursor);
  /// A ring without consumers goes to that position. False, and nothing changes, where one is
  /// attached, and where samples cannot be made again or are all made.
  bool go_to(std::uint64_t position);
  /// Asks that consumer to join another ring of the stream, which has its next sample too.
  void ask_to_move(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  /// Reports, or evicts, a consumer that holds the ring up. It is for a ring on which no claimer
  /// waits: one that waits does it.
  void look_for_stall();

  // ---- what is told

  [[nodiscard]] WriterStatus status() const;
  /// The state of that.
  [[nodiscard]] StreamState state() const;
  /// How many samples were published, without those that were jumped over.
  [[nodiscard]] std::uint64_t samples_published() const;
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept {
    return state_.options.samples_per_epoch;
  }
  void set_stall_policy(std::uint64_t timeout_ms, OnStall on_stall) noexcept;
  /// Changes `ahead` and `free_running` of the options, for a claimer that waits too.
  void set_demand(std::uint64_t ahead, bool free_running) noexcept;

 private:
  using Lock = std::lock_guard<Mutex>;

  [[nodiscard]] bool is_drained();
  /// Call it without the lock.
  void tell();

  WriterState state_;
  Publisher publisher_;
  ConsumerAdmission admission_;
  SpaceClaimer claimer_;
  RowClaimer row_claimer_;
};

}  // namespace batchcast::inline v0_1
