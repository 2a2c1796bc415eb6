// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/rider.hpp>

#include <batchcast/consumer/core_handover.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/process_state.hpp>
#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/stream_lock.hpp>
#include <batchcast/ring/reader_handover.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <thread>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace rider {

inline constexpr std::uint64_t look_every_ns = 50'000'000;
inline constexpr int slice_ms = 50;
inline constexpr int rest_ms = 50;  // before it tries again to get memory
inline constexpr std::uint64_t tell_after_ns = 500'000'000;
inline constexpr double gone_timeout_s = 30;
inline constexpr double gone_timeout_of_start_s = 300;

inline std::string seconds_text(int ms) {
  const std::string seconds = text("{}", ms / 1'000);
  return ms % 1'000 == 0 ? seconds + " s" : text("{}.{} s", seconds, ms % 1'000 / 100);
}

inline void add(ReaderStatus& to, const ReaderStatus& more) noexcept {
  to.samples += more.samples;
  to.batches += more.batches;
  to.skipped += more.skipped;
  to.waits += more.waits;
  to.wait_ns += more.wait_ns;
  to.late_wakeups += more.late_wakeups;
  to.epochs_matched += more.epochs_matched;
  to.epochs_mismatched += more.epochs_mismatched;
  to.epochs_unknown += more.epochs_unknown;
  to.oversized += more.oversized;
  to.dropped_rows += more.dropped_rows;
  to.rows.add(more.rows);
}

}  // namespace rider

BATCHCAST_INLINE Rider::Rider(std::shared_ptr<ConsumerCore> core)
    : core_(std::move(core)),
      rides_(CoreHandover::rides(*core_)),
      options_(core_->options()),
      name_(core_->name()),
      notes_(core_->notes()),
      schema_(core_->schema()) {
  lock_.take(core_->member_lock());
}

BATCHCAST_INLINE Rider::~Rider() {
  search_.reset();
  if (next_) next_->abandon();
  core_->abandon();
}

// ---- what a trainer calls

/// Calls `call(batch_size, timeout_ms)` until a producer's death does not end it. False at the
/// time-out.
template <class Call>
bool Rider::ride(std::uint64_t batch_size, int timeout_ms, Call&& call) {
  core_->check_process();
  // Each batch comes here. A wait without an end needs no exact time.
  const std::uint64_t began_ns = timeout_ms < 0 ? about_now_ns() : now_ns();
  const Deadline deadline(timeout_ms, began_ns);
  look_at_producers(batch_size, began_ns);
  for (;;) {
    if (state_ == State::waiting && !wait_for_next(deadline)) return false;
    if (state_ == State::attached) {
      take_later();
    } else if (broken_) {
      std::rethrow_exception(broken_);
    }
    try {
      call(state_ == State::draining ? drained_by_ : batch_size, deadline.left_ms());
      return true;
    } catch (const ProducerGone&) {
      if (!rides_) throw;
      begin_wait(batch_size);
    } catch (const GroupBroken&) {
      drop_next();
      lock_.release();  // it goes no further
      throw;
    }
  }
}

BATCHCAST_INLINE NextBatch Rider::next(std::uint64_t batch_size, int timeout_ms, Room room) {
  if (std::exchange(owes_epoch_end_, false)) return {Outcome::end_of_epoch, {}};
  NextBatch next{Outcome::timed_out, {}};
  static_cast<void>(ride(batch_size, timeout_ms, [&](std::uint64_t samples, int left_ms) {
    next = core_->next(samples, left_ms, room);
  }));
  if (next.outcome == Outcome::end_of_epoch) tell_ends();
  return next;
}

BATCHCAST_INLINE std::optional<Batch> Rider::peek(std::uint64_t batch_size, int timeout_ms) {
  std::optional<Batch> batch;
  static_cast<void>(ride(batch_size, timeout_ms, [&](std::uint64_t samples, int left_ms) {
    batch = core_->peek(samples, left_ms);
  }));
  return batch;
}

BATCHCAST_INLINE bool Rider::has_next_epoch(std::uint64_t batch_size) {
  bool has = false;
  static_cast<void>(
      ride(batch_size, -1, [&](std::uint64_t, int) { has = core_->has_next_epoch(); }));
  return has;
}

BATCHCAST_INLINE std::optional<Batch> Rider::newest(std::uint64_t samples_max) {
  if (state_ == State::waiting) return std::nullopt;  // the ring is gone
  return core_->newest(samples_max);
}

BATCHCAST_INLINE bool Rider::move_to(RowPlace cursor) {
  const bool is_rank = options_.group.world != 0;
  if (state_ != State::attached || is_rank) return false;
  drop_next();
  return core_->move_to(cursor);
}

BATCHCAST_INLINE void Rider::leave_epoch() noexcept {
  if (std::exchange(owes_epoch_end_, false)) return;
  core_->leave_epoch();
  tell_ends();
  // A loop that has not begun anywhere keeps no place.
  if (options_.between_epochs == BetweenEpochs::let_go) drop_next();
}

BATCHCAST_INLINE void Rider::set_budget(const Budget& budget, Oversize oversize) {
  if (state_ == State::attached) {
    core_->set_budget(budget, oversize);
    return later_.reset();
  }
  core_->check_budget(budget, window());
  later_ = LaterBudget{budget, oversize};
}

BATCHCAST_INLINE const Budget& Rider::budget() const noexcept {
  return later_ ? later_->budget : core_->budget();
}

BATCHCAST_INLINE Oversize Rider::oversize() const noexcept {
  return later_ ? later_->oversize : core_->oversize();
}

BATCHCAST_INLINE void Rider::set_window(const Window& window) {
  if (state_ == State::attached) {
    core_->set_window(window);
    return later_window_.reset();
  }
  core_->check_window(window, budget());
  later_window_ = window;
}

BATCHCAST_INLINE const Window& Rider::window() const noexcept {
  return later_window_ ? *later_window_ : core_->window();
}

BATCHCAST_INLINE ReaderStatus Rider::status() const noexcept {
  ReaderStatus status = core_->reader_status();
  rider::add(status, past_);
  return status;
}

BATCHCAST_INLINE double Rider::attach_seconds() const noexcept {
  return attach_seconds_ != 0 ? attach_seconds_ : core_->attach_seconds();
}

// ---- draining

/// Also while there are samples: the earlier the next producer hears of this consumer, the less it
/// makes that no trainer needs.
BATCHCAST_INLINE void Rider::look_at_producers(std::uint64_t batch_size, std::uint64_t now_ns) {
  if (now_ns < looked_ns_ + rider::look_every_ns) return;
  looked_ns_ = now_ns;
  if (state_ == State::attached) {
    if (!CoreHandover::has_lost_producer(*core_)) return look_at_other_ring(batch_size);
    if (!rides_) return;
    begin_drain(batch_size);
    if (!ends_loop_first()) begin_search();
  } else if (state_ == State::draining) {
    look_at_next();
    if (options_.group.world != 0) look_at_group();
  }
}

BATCHCAST_INLINE void Rider::begin_drain(std::uint64_t batch_size) {
  state_ = State::draining;
  drained_by_ = batch_size;
  lost_ns_ = now_ns();
  told_ = told_why_ = told_of_memory_ = false;
  search_.reset();  // for another ring of the producer that died
  drop_found();
  if (!next_) return;
  resumes_ = CoreHandover::resumes(*next_);
  lock_.take(next_lock_);
  next_.reset();
}

/// It holds its place in both rings until it has changed over. If that fails it stays.
BATCHCAST_INLINE void Rider::look_at_other_ring(std::uint64_t batch_size) {
  const bool is_on_its_way = search_ || next_;
  if (!is_on_its_way) {
    const std::uint32_t moves = CoreHandover::moves(*core_);
    if (std::exchange(moves_seen_, moves) == moves || core_->reader().revoked()) return;
    ConsumerOptions options = CoreHandover::options_to_resume(*core_, batch_size);
    options.cursor = core_->cursor().position;
    search_ = Search(new SuccessorSearch(
        {std::move(options), "host", CoreHandover::resumes(*core_), gone_timeout_ms()}));
    return;
  }
  if (search_ && search_->wait(0)) {
    try {
      const Search over = std::move(search_);
      found_ = over->take();
      if (found_) attach_to_found();
    } catch (const std::exception&) {
      return drop_next();
    }
  }
  if (!next_ || !CoreHandover::may_move(*core_, batch_size)) return;
  // A desk is not believed beyond what is published: then its producer moves it there.
  const RowPlace place = core_->cursor();
  const bool is_ahead = place.position > ordered::load_published(next_->board().progress());
  bool may_go = !is_ahead;
  try {
    if (is_ahead) may_go = next_->move_to(place);
  } catch (const Error&) {
    // It is refused there.
  }
  may_go ? change_over() : drop_next();
}

/// With `let_go`: what is published has the rest of this loop, and the next one joins where the
/// stream is by then.
BATCHCAST_INLINE bool Rider::ends_loop_first() const {
  if (options_.between_epochs != BetweenEpochs::let_go) return false;
  const std::uint64_t samples = core_->board().head().samples_per_epoch;
  const std::uint64_t end = (core_->reader().epoch() + 1) * samples;
  return CoreHandover::options_to_resume(*core_, drained_by_).cursor >= end;
}

/// Attaches to the producer that was found, so that its death is seen as well. What goes wrong is
/// for the call that waits.
BATCHCAST_INLINE void Rider::look_at_next() {
  if (next_ && CoreHandover::has_lost_producer(*next_)) {
    resumes_ = CoreHandover::resumes(*next_);
    next_.reset();
    begin_search();
  }
  if (found_ && is_dead(found_->descriptors[2])) {
    drop_found();
    begin_search();
  }
  if (next_ || found_ || !search_ || !search_->wait(0) || !search_->has_found()) return;
  found_ = search_->take();
  search_.reset();
  try {
    attach_to_found();
  } catch (const std::exception&) {
    // It is tried again once it matters: then the last ring's memory is back.
  }
}

/// What it drains is there, but no step can be finished without the lost rank. The others must not
/// wait for that one in a collective.
BATCHCAST_INLINE void Rider::look_at_group() {
  try {
    if (next_) return CoreHandover::check_group(*next_, *core_);
    const bool is_refused = search_ && search_->wait(0) && search_->is_group_broken();
    if (is_refused && CoreHandover::needs_group(*core_)) static_cast<void>(search_->take());
  } catch (const GroupBroken&) {
    broken_ = std::current_exception();
    drop_next();
    lock_.release();  // it goes no further
    throw;
  }
}

/// A rank ended an epoch while it drained. The next producer hears of it now, where it is found.
/// Else it does before this rank's next batch there.
BATCHCAST_INLINE void Rider::tell_ends() noexcept {
  if (options_.group.world == 0 || state_ != State::draining) return;
  try {
    if (!next_ && search_) static_cast<void>(search_->wait(rider::slice_ms));
    look_at_next();
    if (next_) CoreHandover::tell_ends_again(*next_, *core_);
  } catch (const std::exception&) {
    // As where it is not found yet.
  }
}

BATCHCAST_INLINE void Rider::begin_search() {
  Resumes resumes = CoreHandover::resumes(*core_);
  const bool in_loop = resumes.in_loop;
  if (resumes_) resumes = *resumes_;
  resumes.in_loop = in_loop;
  search_ =
      Search(new SuccessorSearch({CoreHandover::options_to_resume(*core_, drained_by_),
                                  CoreHandover::ring_of(*core_), resumes, gone_timeout_ms()}));
}

// ---- waiting

/// There is no whole batch any more.
BATCHCAST_INLINE void Rider::begin_wait(std::uint64_t batch_size) {
  if (state_ == State::attached) begin_drain(batch_size);
  // A call that looked beyond this epoch's end found none: the last core can still end it.
  if (ReaderHandover::owes_epoch_end(core_->reader(), drained_by_)) {
    owes_epoch_end_ = core_->next(drained_by_, 0).outcome == Outcome::end_of_epoch;
  }
  state_ = State::waiting;
  CoreHandover::outlive_ring(*core_);
}

BATCHCAST_INLINE bool Rider::wait_for_next(const Deadline& deadline) {
  if (next_ && CoreHandover::has_lost_producer(*next_)) {
    resumes_ = CoreHandover::resumes(*next_);
    next_.reset();
  }
  while (!next_) {
    CoreHandover::give_device_memory_back(*core_);
    if (found_) {
      if (try_found()) break;
      if (deadline.over()) return false;
      rest(deadline);
      continue;
    }
    if (!search_) begin_search();
    const int left_ms = deadline.left_ms();
    const int slice_ms = left_ms < 0 ? rider::slice_ms : std::min(left_ms, rider::slice_ms);
    if (search_->wait(slice_ms)) {
      take_found();
    } else if (deadline.over()) {
      return false;
    } else {
      tell_of_wait();
      waits_.look();
    }
  }
  change_over();
  return true;
}

/// Throws what ended the search; nothing is lost then, and the next call searches again.
BATCHCAST_INLINE void Rider::take_found() {
  const Search search = std::move(search_);
  try {
    found_ = search->take();
  } catch (...) {
    lock_.release();
    throw;
  }
  if (!found_) throw_gone(search->kept_out());
}

BATCHCAST_INLINE void Rider::attach_to_found() {
  try {
    next_ = CoreHandover::attach_again(*core_, *found_);
  } catch (const std::exception& error) {
    if (!is_lack_of_memory(error)) drop_found();
    throw;
  }
  (state_ == State::attached ? next_lock_ : lock_).take(found_->member_lock);
  found_.reset();
}

/// False while there is no memory for that ring. Throws once that took too long.
BATCHCAST_INLINE bool Rider::try_found() {
  if (is_dead(found_->descriptors[2])) return drop_found(), false;
  try {
    attach_to_found();
    return true;
  } catch (const std::exception& error) {
    if (!found_) throw;
    const int timeout_ms = gone_timeout_ms();
    const bool is_over =
        timeout_ms >= 0 && now_ns() - lost_ns_ > static_cast<std::uint64_t>(timeout_ms) * 1'000'000;
    if (is_over) {
      drop_found();
      throw;
    }
    if (!std::exchange(told_of_memory_, true)) {
      report(options_.log, LogLevel::warning,
             text("`{}` has its place with the next producer of stream `{}`, and tries again to "
                  "attach to its ring: {}",
                  name_, options_.stream, error.what()));
    }
  }
  return false;
}

BATCHCAST_INLINE void Rider::drop_found() noexcept { found_.reset(); }

/// Before it tries again.
BATCHCAST_INLINE void Rider::rest(const Deadline& deadline) {
  const int left_ms = deadline.left_ms();
  const int rest_ms = left_ms < 0 ? rider::rest_ms : std::min(left_ms, rider::rest_ms);
  std::this_thread::sleep_for(std::chrono::milliseconds(rest_ms));
  waits_.look();
}

BATCHCAST_INLINE void Rider::change_over() {
  CoreHandover::take_over(*next_, *core_);
  if (state_ == State::attached) CoreHandover::leave_ring(*core_);
  rider::add(past_, core_->reader_status());
  if (attach_seconds_ == 0) attach_seconds_ = core_->attach_seconds();
  core_ = std::move(next_);
  moves_seen_ = 0;
  if (std::exchange(state_, State::attached) == State::attached) return lock_.take(next_lock_);
  resumes_.reset();
  report(options_.log, told_ ? LogLevel::warning : LogLevel::info,
         text("`{}` goes on at position {} of stream `{}` with its next producer, process {}.",
              name_, saved_position(), options_.stream, core_->board().head().producer_pid));
}

/// A budget and a window exclude each other: what is unset goes first. What the ring has no room
/// for stays, and the next call throws again, until the trainer sets something else.
BATCHCAST_INLINE void Rider::take_later() {
  const auto take_window = [this] {
    core_->set_window(*later_window_);
    later_window_.reset();
  };
  if (later_window_ && !later_window_->is_set()) take_window();
  if (later_) {
    core_->set_budget(later_->budget, later_->oversize);
    later_.reset();
  }
  if (later_window_) take_window();
}

BATCHCAST_INLINE void Rider::drop_next() noexcept {
  search_.reset();
  drop_found();
  if (next_) next_->abandon();
  next_.reset();
  next_lock_.release();
}

BATCHCAST_INLINE void Rider::tell_of_wait() {
  if (now_ns() - lost_ns_ < rider::tell_after_ns) return;
  const std::string kept_out = search_->kept_out();
  if (std::exchange(told_, true)) return tell_why(kept_out);
  told_why_ = !kept_out.empty();
  const int timeout_ms = gone_timeout_ms();
  report(options_.log, LogLevel::warning,
         text("stream `{}` lost its producer (pid {} died). `{}` waits {}for the next one, and "
              "then goes on at position {} as if nothing had been. {}",
              options_.stream, core_->board().head().producer_pid, name_,
              timeout_ms < 0 ? "" : rider::seconds_text(timeout_ms) + " ", saved_position(),
              told_why_ ? "The next one does not let it in yet: " + kept_out : who_starts_it()));
}

/// Once, where that is news.
BATCHCAST_INLINE void Rider::tell_why(const std::string& kept_out) {
  if (kept_out.empty() || std::exchange(told_why_, true)) return;
  report(options_.log, LogLevel::warning,
         text("`{}` waits for the next producer of stream `{}` to let it in: {}", name_,
              options_.stream, kept_out));
}

BATCHCAST_INLINE std::string Rider::who_starts_it() const {
  const std::vector<std::string> bases = searched_by(options_);
  for (const std::string& base : bases) {
    const LockState lock = look_at_lock(stream_paths(base, options_.stream).lock);
    if (!lock.held) continue;
    const bool is_seen = lock.pid > 0;
    if (is_seen && is_stopped(static_cast<std::uint32_t>(lock.pid))) {
      return text(
          "Process {} has the stream's name, and is stopped: `kill -CONT {}` continues it, "
          "`batchcast serve --replace` takes its place.",
          lock.pid, lock.pid);
    }
    return text("{} has the stream's name, and is about to serve it.",
                is_seen ? text("Process {}", lock.pid) : "Another process");
  }
  if (has_keeper(options_.stream, bases))
    return "Its keeper (`serve --keep-alive`) starts it again.";
  if (!options_.start.source.empty()) return "It is started again.";
  return "Start the producer again, with the same words.";
}

BATCHCAST_INLINE void Rider::throw_gone(const std::string& kept_out) {
  lock_.release();  // no place is kept for a trainer that may not come back
  const std::string instead =
      kept_out.empty() ? "no other came" : "the next one did not let this consumer in";
  throw ProducerGone(
      text("batchcast: stream `{}` lost its producer (pid {} died) at position {}, and {} "
           "within {} (gone_timeout){} Every whole batch that it had published was "
           "delivered. Start it again: this consumer goes on with its next call, or a new one that "
           "joins with the cursor of this position.",
           options_.stream, core_->board().head().producer_pid, saved_position(), instead,
           rider::seconds_text(gone_timeout_ms()), kept_out.empty() ? "." : ": " + kept_out));
}

BATCHCAST_INLINE int Rider::gone_timeout_ms() const noexcept {
  const bool is_started_again =
      !options_.start.source.empty() || has_keeper(options_.stream, searched_by(options_));
  const double seconds = options_.gone_timeout_s.value_or(
      is_started_again ? rider::gone_timeout_of_start_s : rider::gone_timeout_s);
  if (seconds < 0) return -1;
  return static_cast<int>(std::min(seconds * 1'000, double{std::numeric_limits<int>::max()}));
}

}  // namespace batchcast::inline v0_1::detail
