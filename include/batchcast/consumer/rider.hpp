// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/consumer_core.hpp>
#include <batchcast/consumer/successor_search.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/wait_watch.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::detail {

/// A consumer over the lives of its stream's producers. Each life has a ConsumerCore. When its
/// producer dies in mid-stream, the consumer goes through these states:
///
/// - *draining*: the core gives the whole batches that are published. Meanwhile the search finds
///   the next producer, joins it behind these, and so holds that place there.
/// - *waiting*: the core has no whole batch any more. The ring's memory is given up. The call that
///   needs a batch waits. Where there is no memory for the next ring, the connection to the next
///   producer holds the place, and it tries again.
/// - *attached* again: the next core has taken over where the last one stands.
///
/// While it is attached, its producer may ask it to join another ring. The search joins that ring
/// in the same way, and the next core takes over between two batches.
///
/// docs/decisions/0037-a-producers-death-is-a-pause.md says why nothing is lost, twice or torn. The
/// consuming thread makes all calls.
class Rider {
 public:
  using Room = ConsumerCore::Room;

  explicit Rider(std::shared_ptr<ConsumerCore> core);
  /// Leaves. Nothing in a forked child.
  ~Rider();
  Rider(const Rider&) = delete;
  Rider& operator=(const Rider&) = delete;

  /// That of the producer whose batches it gives, or has given last.
  [[nodiscard]] ConsumerCore& core() const noexcept { return *core_; }

  // These stay the same over all lives.
  [[nodiscard]] const ConsumerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& notes() const noexcept { return notes_; }
  [[nodiscard]] const Schema& schema() const noexcept { return schema_; }

  // As ConsumerCore's.
  [[nodiscard]] NextBatch next(std::uint64_t batch_size, int timeout_ms, Room room = Room::make);
  [[nodiscard]] std::optional<Batch> peek(std::uint64_t batch_size, int timeout_ms);
  [[nodiscard]] bool has_next_epoch(std::uint64_t batch_size);
  [[nodiscard]] std::optional<Batch> newest(std::uint64_t samples_max);
  [[nodiscard]] bool move_to(RowPlace cursor);
  void leave_epoch() noexcept;
  void set_budget(const Budget& budget, Oversize oversize);
  [[nodiscard]] const Budget& budget() const noexcept;
  [[nodiscard]] Oversize oversize() const noexcept;
  void set_window(const Window& window);
  [[nodiscard]] const Window& window() const noexcept;
  [[nodiscard]] ReaderStatus status() const noexcept;
  [[nodiscard]] double attach_seconds() const noexcept;

 private:
  using Search = std::unique_ptr<SuccessorSearch, SuccessorSearch::End>;
  enum class State : std::uint8_t { attached, draining, waiting };
  struct LaterBudget {
    Budget budget;
    Oversize oversize;
  };

  template <class Call>
  [[nodiscard]] bool ride(std::uint64_t batch_size, int timeout_ms, Call&& call);
  void look_at_producers(std::uint64_t batch_size, std::uint64_t now_ns);
  void begin_drain(std::uint64_t batch_size);
  [[nodiscard]] bool ends_loop_first() const;
  void look_at_next();
  void look_at_group();
  void tell_ends() noexcept;
  void look_at_other_ring(std::uint64_t batch_size);
  void begin_search();
  void begin_wait(std::uint64_t batch_size);
  [[nodiscard]] bool wait_for_next(const Deadline& deadline);
  void take_found();
  void attach_to_found();
  [[nodiscard]] bool try_found();
  void drop_found() noexcept;
  void rest(const Deadline& deadline);
  void change_over();
  void take_later();
  void drop_next() noexcept;
  void tell_of_wait();
  void tell_why(const std::string& kept_out);
  [[nodiscard]] std::string who_starts_it() const;
  /// Where it goes on, as a checkpoint has it.
  [[nodiscard]] std::uint64_t saved_position() const noexcept {
    return cursor_in(core_->grid(), core_->cursor().position);
  }
  [[noreturn]] void throw_gone(const std::string& kept_out);
  [[nodiscard]] int gone_timeout_ms() const noexcept;

  std::shared_ptr<ConsumerCore> core_;
  const bool rides_;
  const ConsumerOptions options_;
  const std::string name_;
  const std::string notes_;
  const Schema schema_;
  WaitWatch waits_{options_.while_waiting};
  State state_ = State::attached;
  std::uint64_t looked_ns_ = 0;
  std::uint64_t lost_ns_ = 0;         ///< when it saw the death
  std::uint64_t drained_by_ = 0;      ///< the batch size until the last ring is drained
  bool told_ = false;                 ///< that it waits
  bool told_why_ = false;             ///< why the next producer does not let it in
  std::uint32_t moves_seen_ = 0;      ///< CoreHandover::moves
  std::exception_ptr broken_;         ///< its group, while it drained: each call throws that
  bool owes_epoch_end_ = false;       ///< which the last core has ended
  std::optional<Resumes> resumes_;    ///< of the last producer that let it in
  MemberLock lock_;                   ///< of the same attachment
  MemberLock next_lock_;              ///< of another ring of its producer, until it changes over
  std::optional<LaterBudget> later_;  ///< until the next producer's ring has taken it
  std::optional<Window> later_window_;
  Search search_;
  std::optional<Joined> found_;         ///< let it in, and it has not attached there yet
  bool told_of_memory_ = false;         ///< which it lacks for the next ring
  std::shared_ptr<ConsumerCore> next_;  ///< of a producer that let it in, while it drains
  ReaderStatus past_;                   ///< of the cores that are gone
  double attach_seconds_ = 0;           ///< of the first one
};

}  // namespace batchcast::inline v0_1::detail
