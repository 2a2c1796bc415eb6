// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/consumer_admission.hpp"
#include "ring/writer/joining.hpp"
#include "ring/writer/publisher.hpp"
#include "ring/writer/space_claimer.hpp"
#include "ring/writer/status.hpp"
#include "ring/writer/writer_options.hpp"
#include "ring/writer/writer_state.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

namespace batchcast::inline v0_1 {

/// The producer's end of a ring: hands out positions, publishes what was filled, and keeps the book
/// of consumers. It works on a board and desks only, wherever they lie; it never touches samples.
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
  /// Ends the stream where it is, or the wait for a finished one to drain. A finished one that all
  /// consumers have read, and that waits for a trainer that was told to come, stays finished.
  void stop(const std::string& text) noexcept;
  void fail(const std::string& text) noexcept;
  /// The same as `stop` if no trainer has been attached for so long, here or elsewhere, counted
  /// from the last that left or was told to come, or from the beginning. A consumer that comes
  /// later is refused: none is let in and then told to go.
  [[nodiscard]] bool stop_if_unattended(std::uint64_t for_ns, const std::string& text) noexcept;

  /// Waits until every consumer has let go of all that is published, and of a stream that came to
  /// its end, until it ever had one. That one also waits a few seconds for a trainer that was told
  /// to come (`resume` of an observer). Negative: for ever. False at the time-out, and after
  /// `stop`.
  [[nodiscard]] bool wait_drained(int timeout_ms);
  /// `finished` for good: no consumer is let in any more. False if one that still reads came.
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
  /// `let_go`: out of the gate between its loops, and in again at a new position. With join `at`
  /// `resume` also moves a consumer that is not paused and holds no lease; ranks stay. Of an
  /// observer it changes nothing for it: it asks where a trainer would begin now, and says that one
  /// follows. Refused then where that trainer would be, or would find a stream that all have read.
  void pause(std::uint32_t index, std::uint64_t consumer_id) noexcept;
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join, std::uint64_t cursor);
  /// Why no further consumer is let in, whatever it asks for: the stream is over, or every place is
  /// taken.
  [[nodiscard]] std::optional<NotAdmitted> refusal_of_newcomers() const;

  // ---- ranks of groups

  /// Returns the epoch that the rank is in, as its desk says; nothing between epochs, while it
  /// waits for the first sample of one, and where there is no such consumer. Of a rank that begins
  /// an epoch meanwhile, either this tells, or the rank sees the news.
  std::optional<std::uint64_t> tell_rank(std::uint32_t index, std::uint64_t consumer_id,
                                         const GroupNews& news) noexcept;
  /// It told of the end of all epochs below, and was told what its group has come to.
  void rank_ended(std::uint32_t index, std::uint64_t consumer_id, std::uint64_t epochs) noexcept;
  /// The epoch of the sample that is published next: no consumer can have ended a later one.
  [[nodiscard]] std::uint64_t epoch() const;
  /// What was published of that epoch; nothing where that is not known.
  [[nodiscard]] std::optional<Receipt> receipt_of(std::uint64_t epoch) const;

  // ---- other rings of the same stream

  /// Trainers that are attached to the stream's other rings. They count as this ring's own in
  /// `wait_for`, in having had a consumer, and against `stop_if_unattended`. False if the stream
  /// was stopped or failed: a trainer that just came there has to be sent away again.
  /// `jobs`: the same, with each group of ranks as one, as `wait_for` counts them.
  bool set_trainers_elsewhere(std::uint32_t trainers, std::uint32_t jobs);
  bool set_trainers_elsewhere(std::uint32_t trainers) {
    return set_trainers_elsewhere(trainers, trainers);
  }
  /// Consumers but observers and mirrors that are attached, paused ones too.
  [[nodiscard]] std::uint32_t trainers_here() const;
  [[nodiscard]] std::uint32_t jobs_here() const;
  /// Where the last trainer stood that has left, if it ever had a batch; nothing if none has left
  /// since this was asked last.
  [[nodiscard]] std::optional<std::uint64_t> take_left_at();
  /// The same, where that trainer left another ring of the stream.
  void set_left_at(std::optional<std::uint64_t> position);
  /// How far the trainers that have left were given samples; 0 if that was taken before.
  [[nodiscard]] std::uint64_t take_read_to();
  /// The same, of trainers that left another ring of the stream.
  void add_read_to(std::uint64_t position);
  /// A consumer that is not paused, and no mirror, is attached.
  [[nodiscard]] bool has_demand() const;
  /// Lets a resting mirror in again (`pause` rests it), and decides where a trainer that comes to
  /// its ring begins. Where the two rings together hold everything from `oldest` on, the mirror
  /// goes on at `next`; else it begins where the trainer does (while `wait_for` is not reached, up
  /// to a ring's length before that), or for a trainer that waits for an epoch's end that is not
  /// known, at what is published next. The mirror gates from there.
  [[nodiscard]] std::variant<MirrorStart, NotAdmitted> resume_mirror(std::uint32_t index,
                                                                     std::uint64_t consumer_id,
                                                                     const MirrorRequest& request);
  /// Of a mirror's own ring, where every consumer is paused and no ticket is out: what it holds is
  /// forgotten, and it goes on at `position`, in that epoch. A ring that stands there already keeps
  /// what it holds, and at most ends its epoch. At the stream's end it is finished. Backwards only
  /// where no consumer is attached, and epochs have one length. Does nothing once the stream is
  /// over.
  void restart_at(std::uint64_t position, std::uint64_t epoch, std::uint64_t epoch_start);

  // ---- what is told

  [[nodiscard]] WriterStatus status() const;
  /// How many samples were published: what was jumped over is not among them.
  [[nodiscard]] std::uint64_t samples_published() const;
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept {
    return state_.options.samples_per_epoch;
  }
  void set_stall_policy(std::uint64_t timeout_ms, OnStall on_stall) noexcept;

 private:
  using Lock = std::lock_guard<std::mutex>;

  [[nodiscard]] bool is_drained();
  /// Without the lock.
  void tell();

  WriterState state_;
  Publisher publisher_;
  ConsumerAdmission admission_;
  SpaceClaimer claimer_;
};

}  // namespace batchcast::inline v0_1
