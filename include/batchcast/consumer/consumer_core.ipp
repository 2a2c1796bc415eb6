// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/consumer_core.hpp>

#include <batchcast/consumer/core_handover.hpp>
#include <batchcast/consumer/option_checks.hpp>
#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/process_end.hpp>
#include <batchcast/ring/capacity.hpp>
#include <batchcast/ring/row_refusal.hpp>
#include <batchcast/ring/spinner.hpp>
#include <batchcast/ring/stream_over.hpp>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace consumer_core {

inline ConsumerOptions with_placement(ConsumerOptions options) {
  options.placement = settled(options.placement);
  return options;
}

inline RingReader::Options reader_options(const ConsumerOptions& options, const MappedRing& ring) {
  RingReader::Options reader;
  reader.pace = options.pace;
  reader.tail = options.tail;
  reader.share = options.group.rank;
  reader.shares = std::max(options.group.world, 1U);
  reader.on_miss = options.on_miss;
  reader.axes = ring.axes();
  reader.rides = CoreHandover::rides(options, ring.board());
  if (options.join == Join::at) reader.row = options.cursor_row;
  reader.spin_ns = spin_ns_of(options.spin_us);
  reader.stream = options.stream;
  if (!options.placement.is_host()) reader.memory_option = "--device-memory";
  return reader;
}

/// What a consumer asks for at most, in samples.
inline std::uint64_t samples_max(std::uint64_t batch_size, const Budget& budget,
                                 std::uint64_t capacity, std::uint32_t world) noexcept {
  const bool is_default = batch_size == ConsumerOptions().batch_size;
  const std::uint64_t most = std::max<std::uint64_t>(1, capacity / std::max(world, 1U));
  return budget.is_set() && is_default ? most : batch_size;
}

}  // namespace consumer_core

// ---- a batch

BATCHCAST_INLINE NextBatch ConsumerCore::next(std::uint64_t batch_size, int timeout_ms, Room room) {
  process_.check();
  check_takes_part();
  pending_.throw_interruption();
  if (pending_.drop_end()) return {Outcome::end_of_epoch, {}};
  if (!wait_for_streams(timeout_ms)) return {Outcome::timed_out, {}};
  if (membership_.has_let_go()) {
    switch (begin_loop(timeout_ms, Membership::For::loop)) {
      case Membership::Loop::timed_out:
        return {Outcome::timed_out, {}};
      case Membership::Loop::stream_is_over:
        throw_stream_over(board(), StreamState::finished, options_.stream, std::nullopt);
      case Membership::Loop::joined:
        break;
    }
  }
  for (;;) {
    Run run;
    switch (next_run(batch_size, timeout_ms, run, room)) {
      case Next::timed_out:
        return {Outcome::timed_out, {}};
      case Next::end_of_epoch:
        wait_report_.end_wait();
        if (options_.between_epochs == BetweenEpochs::let_go) kept_.make_all_own();
        membership_.end_loop();
        pending_.end_epoch();
        return {Outcome::end_of_epoch, {}};
      case Next::batch:
        break;
    }
    wait_report_.end_wait();
    kept_.show_ring_again();
    BatchPool::FreshRecord record = pool_.take(pool(), run, true);
    if (!fill(*record, run)) continue;
    if (attach_seconds_ == 0) note_first_batch(run);
    pending_.drop_run();
    return {Outcome::batch, pool_.hand_out(std::move(record))};
  }
}

/// Waits where it matters which batches the CUDA streams have passed. Takes its time off the
/// time-out.
BATCHCAST_INLINE bool ConsumerCore::wait_for_streams(int& timeout_ms) {
  if (ring_.delivery() == nullptr) return true;
  // Whether a loop joins again must not depend on how far the GPU has come.
  const std::size_t most = membership_.has_let_go() ? 0
                           : ring_.copies()         ? BatchPool::waiting_copies_max
                                                    : ~std::size_t{0};
  return waits_.in_slices(timeout_ms, [this, most](int slice_ms) {
    const bool through = pool_.wait_for_streams(most, slice_ms);
    if (!through) wait_report_.look(WaitReport::Cause::gpu_streams);
    return through;
  });
}

/// For a consumer that has paused with `let_go`.
BATCHCAST_INLINE Membership::Loop ConsumerCore::begin_loop(int& timeout_ms,
                                                           Membership::For reason) {
  Membership::Loop loop = Membership::Loop::timed_out;
  static_cast<void>(waits_.in_slices(timeout_ms, [this, reason, &loop](int slice_ms) {
    loop = membership_.begin_loop(slice_ms, reason);
    const bool through = loop != Membership::Loop::timed_out;
    if (!through) wait_report_.look(WaitReport::Cause::answer);
    return through;
  }));
  return loop;
}

/// It gives the run that could not be delivered last, for any batch size now, or the next run.
BATCHCAST_INLINE Next ConsumerCore::next_run(std::uint64_t batch_size, int timeout_ms, Run& run,
                                             Room room) {
  if (const Run* const left = pending_.run()) {
    check();
    run = *left;
    return Next::batch;
  }
  batch_size = most_samples(batch_size);
  const Next next = rank_ ? rank_->next(batch_size, timeout_ms, run, room)
                          : reader_.next(batch_size, timeout_ms, run, room);
  if (next == Next::batch && options_.pace == Pace::lockstep) pending_.keep_run(run);
  return next;
}

/// False if the producer wrote over the run before its copy was whole.
BATCHCAST_INLINE bool ConsumerCore::fill(BatchRecord& record, const Run& run) {
  if (!are_rows_sound(record, run)) return false;
  const std::uint32_t word = ring_.writes().word();
  const bool written = (word & private_word::written) != 0;
  if (written && ring_.writes().note_first_write()) tell_first_write(run);
  const bool goes_round = run.goes_round();
  const bool is_private = written || (word != 0 && ring_.is_private(run, record.rows));
  if (is_private || goes_round) pool_.leave_place(record);
  if (is_private && !written) kept_.admit_copy(record);
  record.own = ring_.copies() || goes_round || (is_private && !ring_.on_device());
  if (record.own) return fill_with_copies(record, run);
  record.leased = true;
  ring_.writes().note_shown();
  filler_.show(record, run, written);
  return true;
}

/// False where the producer wrote over a run that was to be copied.
BATCHCAST_INLINE bool ConsumerCore::are_rows_sound(const BatchRecord& record,
                                                   const Run& run) const {
  if (record.rows_are_sound) return true;
  if (options_.pace == Pace::free && !reader_.still_held(run)) return false;
  check();
  throw Refused(
      text("batchcast: the producer of stream `{}` says of the samples from position {} on that "
           "they have rows which cannot be.",
           options_.stream, run.position));
}

BATCHCAST_INLINE bool ConsumerCore::fill_with_copies(BatchRecord& record, const Run& run) {
  filler_.copy(record, run);
  if (options_.pace == Pace::free) {
    // Whether the copies are good is known only once they are made.
    if (ring_.on_device()) ring_.delivery()->wait_for_copies();
    const auto* ids = reinterpret_cast<const std::uint64_t*>(record.data.back());
    return reader_.copied(run, {ids, run.size});  // with the padding
  }
  check();              // what was copied after an eviction is not what was published
  pending_.drop_run();  // the lease goes back now, and only once
  pool_.give_back_when_copied(record, run.lease);
  return true;
}

BATCHCAST_INLINE void ConsumerCore::note_first_batch(const Run& run) {
  attach_seconds_ = seconds_from_ns(now_ns() - started_ns_);
  watch_process_end();
  ring_.populate_shown(run.position);
}

BATCHCAST_INLINE void ConsumerCore::tell_first_write(const Run& run) {
  report(options_.log, LogLevel::warning,
         text("`{}` wrote into a batch of stream `{}`, whose memory all trainers read. The write "
              "stays its own; from now on its batches are copies. Attaching with access = private "
              "makes them copies from the start, which is cheaper; clone() leaves them in place.",
              name_, options_.stream));
  ring_.populate_windows(run.position);
}

// ---- between batches

BATCHCAST_INLINE std::optional<Batch> ConsumerCore::peek(std::uint64_t batch_size, int timeout_ms) {
  process_.check();
  check_takes_part();
  pending_.throw_interruption();
  if (!wait_for_streams(timeout_ms)) return std::nullopt;
  if (!membership_.has_let_go()) return look_ahead(batch_size, timeout_ms);
  const auto let_go = [](Membership* membership) {
    membership->give_up_loop();
    membership->end_loop();
  };
  const std::unique_ptr<Membership, decltype(let_go)> look(&membership_, let_go);
  switch (begin_loop(timeout_ms, Membership::For::look)) {
    case Membership::Loop::timed_out:
      return std::nullopt;
    case Membership::Loop::stream_is_over:
      throw_stream_over(board(), StreamState::finished, options_.stream, std::nullopt);
    case Membership::Loop::joined:
      break;
  }
  return look_ahead(batch_size, timeout_ms);
}

BATCHCAST_INLINE std::optional<Batch> ConsumerCore::look_ahead(std::uint64_t batch_size,
                                                               int timeout_ms) {
  batch_size = most_samples(batch_size);
  for (;;) {
    Run run;
    if (const Run* const left = pending_.run()) {
      run = *left;
    } else if (!(rank_ ? rank_->peek(batch_size, timeout_ms, run)
                       : reader_.peek(batch_size, timeout_ms, run))) {
      return std::nullopt;
    }
    BatchPool::FreshRecord record = pool_.take(pool(), run, false);
    if (!are_rows_sound(*record, run)) continue;
    filler_.copy(*record, run);
    if (ring_.on_device()) ring_.delivery()->wait_for_copies();
    check();  // what was copied after an eviction is not what was published
    // For a consumer in lockstep, the producer overwrites nothing from its cursor on.
    if (options_.pace == Pace::lockstep || reader_.still_held(run)) {
      return pool_.hand_out(std::move(record));
    }
  }
}

BATCHCAST_INLINE bool ConsumerCore::has_next_epoch() {
  process_.check();
  check_takes_part();
  pending_.throw_interruption();
  if (pending_.has_end()) return true;
  int for_ever = -1;
  static_cast<void>(wait_for_streams(for_ever));
  if (membership_.has_let_go() &&
      begin_loop(for_ever, Membership::For::loop) == Membership::Loop::stream_is_over) {
    return false;
  }
  for (;;) {
    const auto known = rank_ ? rank_->has_next_epoch(-1) : reader_.has_next_epoch(-1);
    if (!known) continue;
    wait_report_.end_wait();
    return *known;
  }
}

BATCHCAST_INLINE void ConsumerCore::leave_epoch() noexcept {
  if (process_.in_forked_child()) return;
  membership_.give_up_loop();
  pending_.drop_end();
  if (reader_.between_epochs()) return;
  give_pending_back();
  kept_.make_all_own();
  if (rank_) {
    rank_->leave_epoch();
  } else {
    reader_.leave_epoch();
  }
  membership_.end_loop();
}

BATCHCAST_INLINE void ConsumerCore::give_pending_back() noexcept {
  const Run* const left = pending_.run();
  if (left == nullptr) return;
  const std::uint64_t lease = left->lease;
  pending_.drop_run();
  if (reader_.give_back(lease)) membership_.leases_are_back();
}

BATCHCAST_INLINE bool ConsumerCore::move_to(RowPlace cursor) {
  process_.check();
  check_takes_part();
  pending_.throw_interruption();
  const bool holds_its_place = options_.between_epochs == BetweenEpochs::hold;
  if (!holds_its_place || ring_.on_device() || pending_.run() != nullptr) return false;
  if (std::max(cursor.position, cursor.row) >= limits::position_max) {
    return false;  // attaching with it says what is wrong
  }
  kept_.make_all_own();
  if (!reader_.idle()) return false;
  if (reader_.revoked()) return false;
  std::optional<bool> moved;
  int for_ever = -1;
  static_cast<void>(waits_.in_slices(for_ever, [&](int slice_ms) {
    moved = membership_.move_to(cursor, slice_ms);
    if (!moved) wait_report_.look(WaitReport::Cause::answer);
    return moved.has_value();
  }));
  if (*moved) pending_.drop_end();
  return *moved;
}

BATCHCAST_INLINE std::optional<Batch> ConsumerCore::newest(std::uint64_t samples_max) {
  process_.check();
  return observer_.newest(samples_max, pool());
}

BATCHCAST_INLINE void ConsumerCore::check_takes_part() const {
  if (!options_.observes) return;
  throw InvalidArgument(
      text("batchcast: this consumer only observes stream `{}`: it has no batches but `newest`. "
           "Attach without `observes`.",
           options_.stream));
}

BATCHCAST_INLINE void ConsumerCore::set_batch_size(std::uint64_t batch_size) {
  if (options_.group.world != 0 && batch_size != options_.batch_size) {
    throw InvalidArgument(
        text("batchcast: rank {} of group `{}` has batches of {} samples, as all its ranks have, "
             "and cannot change that alone.",
             options_.group.rank, options_.group.name, options_.batch_size));
  }
  check_batch_size(batch_size);
  ordered::set(ring_.desk().batch_size, static_cast<std::uint32_t>(batch_size));
}

BATCHCAST_INLINE std::uint64_t ConsumerCore::most_samples(std::uint64_t batch_size) const noexcept {
  if (!budget_.is_set()) return batch_size;
  return consumer_core::samples_max(batch_size, budget_, board().head().capacity,
                                    options_.group.world);
}

BATCHCAST_INLINE std::optional<std::uint64_t> ConsumerCore::batches_of_epoch(
    std::uint64_t batch_size) {
  process_.check();
  check_takes_part();
  const std::uint32_t world = std::max(options_.group.world, 1U);
  if (window_.is_set() || budget_.is_set()) {
    CountBatches request;
    request.epoch = reader_.epoch();
    request.batch_size = most_samples(batch_size);
    request.budget = budget_;
    request.oversize = oversize_;
    request.world = world;
    request.window = window_;
    request.tail = options_.tail;
    return membership_.count_batches(request);
  }
  const std::uint64_t samples = board().head().samples_per_epoch;
  if (samples == 0) return std::nullopt;
  const std::uint64_t whole = batch_size * world;
  const std::uint64_t rest = samples % whole;
  const bool has_short_one =
      options_.tail == Tail::keep ? rest >= world : options_.tail == Tail::pad && rest != 0;
  return samples / whole + (has_short_one ? 1 : 0);
}

BATCHCAST_INLINE void ConsumerCore::set_budget(const Budget& budget, Oversize oversize) {
  if (options_.group.world != 0 && (budget != budget_ || oversize != oversize_)) {
    throw InvalidArgument(
        text("batchcast: rank {} of group `{}` has the budget that all its ranks have, and cannot "
             "change that alone.",
             options_.group.rank, options_.group.name));
  }
  take_budget(budget, oversize);
}

BATCHCAST_INLINE void ConsumerCore::set_window(const Window& window) {
  if (options_.group.world != 0 && window != window_) {
    throw InvalidArgument(
        text("batchcast: rank {} of group `{}` has the window that all its ranks have, and cannot "
             "change that alone.",
             options_.group.rank, options_.group.name));
  }
  take_window(window);
}

BATCHCAST_INLINE void ConsumerCore::check_budget(const Budget& budget, const Window& beside) const {
  static_cast<void>(rows_of(budget, beside));
}

BATCHCAST_INLINE void ConsumerCore::check_window(const Window& window, const Budget& beside) const {
  static_cast<void>(rows_of(window, beside));
}

BATCHCAST_INLINE RowWindow ConsumerCore::rows_of(const Window& window, const Budget& beside) const {
  if (!window.is_set()) return {};
  ConsumerOptions checked = options_;
  checked.window = window;
  checked.budget = beside;
  option_checks::check_window(checked);
  const RowWindow rows{ring_.fields().axis_of(window.axis), window.rows, window.runs, window.extra};
  const std::uint64_t world = std::max(options_.group.world, 1U);
  if (const auto why = why_no_window(window, world, board().axis(rows.axis).rows)) {
    throw RingTooSmall(text("batchcast: stream `{}`: {}.", options_.stream, *why));
  }
  return rows;
}

BATCHCAST_INLINE void ConsumerCore::take_window(const Window& window) {
  const RowWindow rows = rows_of(window, budget_);
  window_ = window;
  reader_.set_window(rows);
}

/// With the oversize that a budget has where none is named.
BATCHCAST_INLINE RowBudget ConsumerCore::rows_of(const Budget& budget, const Window& beside) const {
  if (!budget.is_set()) return {};
  ConsumerOptions checked = options_;
  checked.budget = budget;
  checked.window = beside;
  option_checks::check_budget(checked);
  option_checks::check_window(checked);
  const std::size_t axis = ring_.fields().axis_of(budget.axis);
  const std::uint64_t rows = board().axis(axis).rows;
  const std::uint64_t world = std::max(options_.group.world, 1U);
  if (budget.rows > rows / world) {
    throw RingTooSmall(
        text("batchcast: a budget of {} rows{} does not fit into the ring of stream `{}`, which "
             "has {} on the axis `{}`. Serve it with --rows {}={}, or ask for less.",
             budget.rows, world == 1 ? "" : text(" for each of {} ranks", world), options_.stream,
             rows, budget.axis, budget.axis, budget.rows * world));
  }
  return {axis, budget.rows};
}

BATCHCAST_INLINE void ConsumerCore::take_budget(const Budget& budget, Oversize oversize) {
  RowBudget rows = rows_of(budget, window_);
  if (budget.is_set()) rows.oversize = oversize;
  budget_ = budget;
  oversize_ = oversize;
  reader_.set_budget(rows);
}

BATCHCAST_INLINE void ConsumerCore::check_batch_size(std::uint64_t batch_size) const {
  if (batch_size == 0) option_checks::throw_no_samples();
  const std::uint64_t capacity = board().head().capacity;
  if (batch_size <= capacity) return;
  const bool on_device = ring_.on_device();
  Schema there;
  for (std::size_t i = 0; i < ring_.fields().size(); ++i) {
    const FieldInfo& field = ring_.fields()[i];
    if (field.on_device == on_device) there.push_back(field.spec);
  }
  const std::uint64_t granularity = on_device ? ring_.delivery()->granularity() : page_bytes();
  const std::uint64_t enough = std::max(
      memory_for(there, batch_size, granularity),
      memory_for(there, batch_size, granularity, on_device ? lost_part_on_device : lost_part));
  throw RingTooSmall(
      text("batchcast: a batch of {} samples does not fit into the ring of stream `{}`, which "
           "spans {}. It would take {}{}.",
           batch_size, options_.stream, capacity, on_device ? "--device-memory " : "--memory ",
           memory_argument(enough)));
}

// ---- from joining to leaving

BATCHCAST_INLINE std::shared_ptr<ConsumerCore> ConsumerCore::attach(
    const ConsumerOptions& options, const Deadline& group_deadline) {
  check_stream_name(options.stream);
  check_consumer_name(options.name);
  option_checks::check_group(options);
  option_checks::check_cursor(options);
  option_checks::check_budget(options);
  option_checks::check_window(options);
  option_checks::check_one_size(options);
  if (options.batch_size == 0) option_checks::throw_no_samples();
  const std::uint64_t started_ns = now_ns();
  const Deadline deadline(options.connect_timeout_ms);
  const ConsumerOptions placed = consumer_core::with_placement(options);
  // First: no trainer has to wait for a stream that it cannot use.
  std::unique_ptr<Delivery> delivery = delivery_for(placed);
  const std::string placement = placed.placement.is_host() ? "host" : delivery->id();
  Joined joined = StreamJoiner(placed, placement, deadline, group_deadline).join();
  return {new ConsumerCore(placed, std::move(delivery), std::move(joined), started_ns), destroy};
}

BATCHCAST_INLINE ConsumerCore::ConsumerCore(const ConsumerOptions& options,
                                            std::unique_ptr<Delivery> delivery, Joined joined,
                                            std::uint64_t started_ns)
    : options_(options),
      started_ns_(started_ns),
      name_(joined.welcome.name),
      process_(options.stream),
      member_lock_(std::move(joined.member_lock)),
      link_(process_, std::move(joined.door)),
      ring_(options_, process_, std::move(delivery), joined.welcome, joined.descriptors),
      reader_(ring_.board(), ring_.desk(), ring_.sample_ids(), *this,
              consumer_core::reader_options(options_, ring_)),
      membership_(options_, link_, ring_.board(), reader_, joined.in_loop),
      filler_(ring_),
      pool_(ring_, reader_, membership_, filler_, process_),
      kept_(options_, name_, ring_, reader_, link_, pool_),
      observer_(ring_, filler_),
      wait_report_(options_, name_, ring_, reader_) {
  link_.watch(std::move(joined.descriptors[2]));
  if (options_.group.world != 0) {
    RankHost& host = *this;
    rank_.emplace(reader_, ring_.board(), ring_.desk(), host, options_.group);
  }
  take_budget(options_.budget, options_.oversize);
  take_window(options_.window);
  for (const std::string& note : joined.welcome.notes) {
    notes_ += notes_.empty() ? "" : "; ";
    notes_ += note;
  }
  if (!notes_.empty()) report(options_.log, LogLevel::info, text("`{}`: {}", name_, notes_));
}

BATCHCAST_INLINE bool ConsumerCore::producer_is_dead() noexcept { return link_.producer_is_dead(); }
BATCHCAST_INLINE std::string ConsumerCore::why_revoked() {
  return rank_ ? rank_->why_revoked() : link_.why_revoked();
}

BATCHCAST_INLINE void ConsumerCore::while_waiting() {
  static_cast<void>(tell_untold(0));
  wait_report_.look(WaitReport::Cause::samples);
  waits_.look();
}

/// The group cannot continue without it: what the door does not take by then is sent again while
/// the next call waits.
BATCHCAST_INLINE void ConsumerCore::tell_epoch_end(const RankEpoch& epoch) noexcept {
  constexpr int patience_ms = 1'000;  // with a producer that does not read
  pending_.tell({.epoch = epoch.epoch,
                 .place = epoch.place,
                 .early = epoch.early,
                 .known = epoch.known,
                 .count = epoch.receipt.count,
                 .hash = epoch.receipt.hash,
                 .rows = epoch.rows});
  try {
    int left_ms = patience_ms;
    static_cast<void>(
        waits_.in_slices(left_ms, [this](int slice_ms) { return tell_untold(slice_ms); }));
  } catch (...) {
    pending_.interrupt(std::current_exception());
  }
}

/// False while the door is full.
BATCHCAST_INLINE bool ConsumerCore::tell_untold(int timeout_ms) noexcept {
  while (const EpochEnd* const end = pending_.untold()) {
    try {
      if (link_.ask(encode(*end), timeout_ms) == DoorSend::timed_out) return false;
    } catch (const std::exception&) {
      // The next call meets the same door.
    }
    pending_.drop_untold();
  }
  return true;
}

BATCHCAST_INLINE void ConsumerCore::abandon() noexcept {
  if (process_.in_forked_child()) return;
  // A rank that goes in the middle of an epoch breaks its group: it ends no epoch for the others.
  if (options_.group.world == 0) leave_epoch();
  give_pending_back();
  kept_.make_all_own();
  static_cast<void>(tell_untold(0));
  membership_.leave();
  kept_.reserve_rest();
}

BATCHCAST_INLINE ConsumerCore::~ConsumerCore() {
  if (!process_.in_forked_child()) link_.leave();  // before what takes longer
}

/// Runs on a thread that may wait for a GPU.
BATCHCAST_INLINE void ConsumerCore::destroy(ConsumerCore* core) noexcept {
  const auto end = [](void* it) noexcept { delete static_cast<ConsumerCore*>(it); };
  Delivery* const delivery = core->ring_.delivery();
  if (delivery == nullptr || core->process_.in_forked_child()) return end(core);
  delivery->end_apart(core, end);
}

}  // namespace batchcast::inline v0_1::detail
