// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <batchcast/consumer/brought.hpp>
#include <batchcast/consumer/rider.hpp>
#include <batchcast/launcher/launched_group.hpp>

#include <atomic>

namespace batchcast::inline v0_1 {
namespace detail::trainer {

[[gnu::visibility("hidden")]] inline StartAndAttach code_to_start(const ConsumerOptions& options) {
  if (StartAndAttach code = brought_start.load(std::memory_order_acquire)) return code;
  throw InvalidArgument(
      text("batchcast: to start stream `{}` needs code that this program was built without. Add "
           "`#include <batchcast/start.hpp>` to one of its source files.",
           options.stream));
}

/// Joins the stream. Where the options name a source, the stream is started first if need be, and
/// is what they ask for.
inline std::shared_ptr<ConsumerCore> attach_to_stream(ConsumerOptions options) {
  options.group = settled(options.group, options.log);
  const bool starts = !options.start.source.empty();
  std::shared_ptr<ConsumerCore> consumer =
      starts ? code_to_start(options)(options) : ConsumerCore::attach(options);
  warn_of_other_nodes(options.group, options.stream, consumer->board().recipe_json(), options.log);
  return consumer;
}

}  // namespace detail::trainer

BATCHCAST_INLINE Consumer::Consumer(ConsumerOptions options)
    : rider_(std::make_unique<detail::Rider>(detail::trainer::attach_to_stream(options))),
      batch_size_(options.batch_size) {}

BATCHCAST_INLINE Consumer::~Consumer() = default;

BATCHCAST_INLINE Consumer::Consumer(Consumer&&) noexcept = default;

BATCHCAST_INLINE Consumer& Consumer::operator=(Consumer&&) noexcept = default;

BATCHCAST_INLINE detail::Rider& Consumer::rider() const noexcept {
  if (!rider_) {
    detail::misused("this Consumer was moved from: it may only be destroyed or assigned to");
  }
  return *rider_;
}

BATCHCAST_INLINE detail::ConsumerCore& Consumer::core() const noexcept { return rider().core(); }

BATCHCAST_INLINE std::optional<Batch> Consumer::next() {
  for (;;) {
    NextBatch next = rider().next(batch_size_, -1);
    if (next.outcome == Outcome::batch) return std::move(next.batch);
    if (next.outcome == Outcome::end_of_epoch) return std::nullopt;
  }
}

BATCHCAST_INLINE NextBatch Consumer::try_next(int timeout_ms) {
  return rider().next(batch_size_, timeout_ms);
}

BATCHCAST_INLINE NextBatch Consumer::poll() {
  return rider().next(batch_size_, 0, detail::Rider::Room::take_as_it_is);
}

BATCHCAST_INLINE std::optional<Batch> Consumer::peek(int timeout_ms) {
  return rider().peek(batch_size_, timeout_ms);
}

BATCHCAST_INLINE bool Consumer::has_next_epoch() { return rider().has_next_epoch(batch_size_); }

BATCHCAST_INLINE bool Consumer::move_to(RowPlace cursor) { return rider().move_to(cursor); }

BATCHCAST_INLINE std::optional<Batch> Consumer::newest(std::uint64_t samples_max) {
  return rider().newest(samples_max);
}

BATCHCAST_INLINE void Consumer::leave_epoch() noexcept { rider().leave_epoch(); }

BATCHCAST_INLINE std::optional<std::uint64_t> Consumer::batches_of_epoch() {
  return core().batches_of_epoch(batch_size_);
}

BATCHCAST_INLINE void Consumer::set_budget(const Budget& budget, Oversize oversize) {
  rider().set_budget(budget, oversize);
}

BATCHCAST_INLINE void Consumer::set_budget(const Budget& budget) {
  rider().set_budget(budget, rider().oversize());
}

BATCHCAST_INLINE Budget Consumer::budget() const { return rider().budget(); }

BATCHCAST_INLINE void Consumer::set_window(const Window& window) { rider().set_window(window); }

BATCHCAST_INLINE Window Consumer::window() const { return rider().window(); }

BATCHCAST_INLINE void Consumer::set_batch_size(std::uint64_t batch_size) {
  core().set_batch_size(batch_size);
  batch_size_ = batch_size;
}

BATCHCAST_INLINE std::uint64_t Consumer::cursor() const noexcept {
  return cursor_of(core().cursor().position);
}

BATCHCAST_INLINE std::uint64_t Consumer::cursor_of(std::uint64_t position) const noexcept {
  return detail::cursor_in(core().grid(), position);
}

BATCHCAST_INLINE std::uint64_t Consumer::cursor_row() const noexcept { return core().cursor().row; }

BATCHCAST_INLINE std::uint64_t Consumer::epoch() const noexcept { return core().reader().epoch(); }

BATCHCAST_INLINE void Consumer::check() const { core().check(); }

BATCHCAST_INLINE const std::string& Consumer::name() const noexcept { return rider().name(); }
BATCHCAST_INLINE Placement Consumer::placement() const noexcept { return core().placement(); }
BATCHCAST_INLINE const Group& Consumer::group() const noexcept { return rider().options().group; }
BATCHCAST_INLINE void Consumer::set_cuda_stream(void* stream) noexcept {
  core().set_cuda_stream(stream);
}

BATCHCAST_INLINE const Schema& Consumer::schema() const noexcept { return rider().schema(); }

BATCHCAST_INLINE std::string Consumer::recipe_json() const {
  return std::string(core().board().recipe_json());
}

BATCHCAST_INLINE bool Consumer::pure() const noexcept { return core().board().head().pure != 0; }

BATCHCAST_INLINE std::string Consumer::identity() const {
  // The ring's own identity has the grid.
  if (core().grid()) return detail::identity_in(core().board().recipe_json());
  return detail::text_of(core().board().head().identity);
}

BATCHCAST_INLINE std::string Consumer::incarnation() const {
  return detail::to_hex(core().board().head().incarnation);
}

BATCHCAST_INLINE std::uint64_t Consumer::samples_per_epoch() const noexcept {
  return core().board().head().samples_per_epoch;
}

BATCHCAST_INLINE std::uint64_t Consumer::cursors_per_epoch() const noexcept {
  return core().grid() ? core().grid()->samples : samples_per_epoch();
}

BATCHCAST_INLINE std::uint64_t Consumer::capacity() const noexcept {
  return core().board().head().capacity;
}

BATCHCAST_INLINE const std::string& Consumer::notes() const noexcept { return rider().notes(); }

BATCHCAST_INLINE ConsumerStats Consumer::stats() const noexcept {
  const ReaderStatus status = rider().status();
  ConsumerStats stats;
  stats.samples = status.samples;
  stats.batches = status.batches;
  stats.skipped = status.skipped;
  stats.waits = status.waits;
  stats.wait_seconds = seconds_from_ns(status.wait_ns);
  stats.attach_seconds = rider().attach_seconds();
  stats.late_wakeups = status.late_wakeups;
  stats.epochs_matched = status.epochs_matched;
  stats.epochs_mismatched = status.epochs_mismatched;
  stats.epochs_unknown = status.epochs_unknown;
  stats.leases_held = status.leases_held;
  stats.oversized = status.oversized;
  stats.dropped_rows = status.dropped_rows;
  stats.rows = status.rows;
  return stats;
}

}  // namespace batchcast::inline v0_1
