// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/core_handover.hpp>

#include <batchcast/consumer/delivery.hpp>
#include <batchcast/consumer/option_checks.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/ring/reader_handover.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace core_handover {

inline std::vector<FileDescriptor> duplicates_of(const std::vector<FileDescriptor>& descriptors) {
  std::vector<FileDescriptor> duplicates;
  for (const FileDescriptor& one : descriptors) {
    duplicates.emplace_back(::fcntl(one.get(), F_DUPFD_CLOEXEC, 0));
    if (!duplicates.back()) throw SystemError("batchcast: duplicating a file descriptor", errno);
  }
  return duplicates;
}

}  // namespace core_handover

BATCHCAST_INLINE bool CoreHandover::rides(const ConsumerOptions& options,
                                          BoardView board) noexcept {
  const BoardHead& head = board.head();
  return may_ride(options) && head.pure != 0 && head.samples_per_epoch != 0 &&
         !is_none(head.identity);
}

BATCHCAST_INLINE bool CoreHandover::has_lost_producer(const ConsumerCore& core) noexcept {
  return core.link_.producer_is_dead() && !has_ended(ordered::load_state(core.board().progress()));
}

BATCHCAST_INLINE std::string CoreHandover::ring_of(const ConsumerCore& core) {
  return core.ring_.on_device() ? core.ring_.delivery()->id() : "host";
}

BATCHCAST_INLINE Resumes CoreHandover::resumes(const ConsumerCore& core) noexcept {
  const BoardHead& head = core.board().head();
  const BoardProgress& progress = core.board().progress();
  Resumes resumes;
  resumes.identity = head.identity;
  resumes.incarnation = head.incarnation;
  resumes.consumer_id = core.ring_.desk().consumer_id;
  resumes.kept_from = ordered::load_kept_from(progress);
  resumes.valid_from = ordered::get_acquire(progress.valid_from);
  resumes.claimed = ordered::load_claimed(progress);
  resumes.published = ordered::load_published(progress);
  resumes.in_loop = !core.membership_.has_let_go();
  return resumes;
}

BATCHCAST_INLINE ConsumerOptions CoreHandover::options_to_resume(const ConsumerCore& core,
                                                                 std::uint64_t batch_size) {
  ConsumerOptions options = core.options_;
  if (core.membership_.has_let_go()) {
    options.join = core.membership_.next_join();
    if (options.join != Join::at) options.cursor = options.cursor_row = 0;
  } else {
    RowPlace place = ReaderHandover::end_of_whole(core.reader_, core.most_samples(batch_size));
    if (core.rank_) place = std::min(place, core.rank_->end_of_drain());
    options.join = Join::at;
    options.cursor = place.position;
    options.cursor_row = place.row;
  }
  options.budget = core.budget_;
  options.oversize = core.oversize_;
  options.window = core.window_;
  if (!core.budget_.is_set()) options.batch_size = batch_size;
  options.name = core.name_;
  return options;
}

BATCHCAST_INLINE std::uint32_t CoreHandover::moves(const ConsumerCore& core) noexcept {
  return ordered::get(core.board().consumer(core.ring_.desk().index).moves);
}

BATCHCAST_INLINE bool CoreHandover::may_move(const ConsumerCore& core,
                                             std::uint64_t batch_size) noexcept {
  return core.pending_.run() == nullptr && !core.pending_.has_end() &&
         ReaderHandover::may_leave(core.reader_, core.most_samples(batch_size));
}

BATCHCAST_INLINE void CoreHandover::leave_ring(ConsumerCore& core) noexcept {
  core.kept_.make_all_own();
  core.membership_.leave();
}

BATCHCAST_INLINE void CoreHandover::outlive_ring(ConsumerCore& core) noexcept {
  if (core.process_.in_forked_child()) return;
  core.kept_.outlive_ring();
  core.link_.close();
}

BATCHCAST_INLINE void CoreHandover::give_device_memory_back(ConsumerCore& core) noexcept {
  if (!core.process_.in_forked_child()) core.kept_.give_device_memory_back();
}

BATCHCAST_INLINE std::shared_ptr<ConsumerCore> CoreHandover::attach_again(const ConsumerCore& last,
                                                                          Joined& joined) {
  const std::uint64_t started_ns = now_ns();
  ConsumerOptions options = last.options_;
  options.join = last.membership_.next_join();
  // Only a first loop that has not begun has the cursor before it.
  if (options.join != Join::at || !last.membership_.has_let_go()) {
    options.cursor = options.cursor_row = 0;
  }
  options.budget = last.budget_;
  options.oversize = last.oversize_;
  options.window = last.window_;
  std::unique_ptr<Delivery> delivery = delivery_for(options);
  Joined duplicate{{}, joined.welcome, core_handover::duplicates_of(joined.descriptors)};
  duplicate.in_loop = joined.in_loop;
  std::shared_ptr<ConsumerCore> core(
      new ConsumerCore(options, std::move(delivery), std::move(duplicate), started_ns),
      ConsumerCore::destroy);
  core->filler_.follow(last.filler_);
  if (core->board().head().identity == last.board().head().identity) {
    core->link_.open(std::move(joined.door));
    return core;
  }
  throw RecipeMismatch(
      text("batchcast: stream `{}` is now served with another recipe than the one that this "
           "consumer reads. Serve the first one again, or attach again to read the new one.",
           last.options_.stream));
}

BATCHCAST_INLINE void CoreHandover::take_over(ConsumerCore& next, const ConsumerCore& last) {
  if (next.membership_.has_let_go()) return;
  ReaderHandover::take_over(next.reader_, last.reader_);
  if (!next.rank_) return;
  next.rank_->take_over(*last.rank_);
  tell_ends_again(next, last);
}

BATCHCAST_INLINE bool CoreHandover::needs_group(const ConsumerCore& core) noexcept {
  return core.rank_ && core.rank_->epoch_at_stake();
}

BATCHCAST_INLINE void CoreHandover::check_group(ConsumerCore& next, const ConsumerCore& last) {
  if (next.rank_) next.rank_->check_group_for(*last.rank_);
}

BATCHCAST_INLINE void CoreHandover::tell_ends_again(ConsumerCore& next,
                                                    const ConsumerCore& last) noexcept {
  next.pending_.tell_again(last.pending_);
  static_cast<void>(next.tell_untold(0));
}

}  // namespace batchcast::inline v0_1::detail
