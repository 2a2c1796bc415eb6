// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <batchcast/consumer/brought.hpp>
#include <batchcast/consumer/consumer_core.hpp>
#include <batchcast/launcher/launched_group.hpp>

#include <atomic>

namespace batchcast::inline v0_1 {
namespace detail::trainer {

inline StartAndAttach code_to_start(const ConsumerOptions& options) {
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
    : core_(detail::trainer::attach_to_stream(options)), batch_size_(options.batch_size) {}

BATCHCAST_INLINE Consumer::~Consumer() {
  if (core_) core_->abandon();
}

BATCHCAST_INLINE Consumer::Consumer(Consumer&&) noexcept = default;

BATCHCAST_INLINE Consumer& Consumer::operator=(Consumer&& other) noexcept {
  if (this != &other) {
    if (core_) core_->abandon();
    core_ = std::move(other.core_);
    batch_size_ = other.batch_size_;
  }
  return *this;
}

BATCHCAST_INLINE detail::ConsumerCore& Consumer::core() const noexcept {
  if (!core_) {
    detail::misused("this Consumer was moved from: it may only be destroyed or assigned to");
  }
  return *core_;
}

BATCHCAST_INLINE std::optional<Batch> Consumer::next() {
  for (;;) {
    NextBatch next = core().next(batch_size_, -1);
    if (next.outcome == Outcome::batch) return std::move(next.batch);
    if (next.outcome == Outcome::end_of_epoch) return std::nullopt;
  }
}

BATCHCAST_INLINE NextBatch Consumer::try_next(int timeout_ms) {
  return core().next(batch_size_, timeout_ms);
}

BATCHCAST_INLINE NextBatch Consumer::poll() {
  return core().next(batch_size_, 0, detail::ConsumerCore::Room::take_as_it_is);
}

BATCHCAST_INLINE std::optional<Batch> Consumer::peek(int timeout_ms) {
  return core().peek(batch_size_, timeout_ms);
}

BATCHCAST_INLINE bool Consumer::has_next_epoch() { return core().has_next_epoch(); }

BATCHCAST_INLINE bool Consumer::move_to(std::uint64_t cursor) { return core().move_to(cursor); }

BATCHCAST_INLINE std::optional<Batch> Consumer::newest(std::uint64_t samples_max) {
  return core().newest(samples_max);
}

BATCHCAST_INLINE void Consumer::leave_epoch() noexcept { core().leave_epoch(); }

BATCHCAST_INLINE void Consumer::set_batch_size(std::uint64_t batch_size) {
  core().set_batch_size(batch_size);
  batch_size_ = batch_size;
}

BATCHCAST_INLINE std::uint64_t Consumer::cursor() const noexcept { return core().cursor(); }

BATCHCAST_INLINE std::uint64_t Consumer::epoch() const noexcept { return core().reader().epoch(); }

BATCHCAST_INLINE void Consumer::check() const { core().check(); }

BATCHCAST_INLINE const std::string& Consumer::name() const noexcept { return core().name(); }
BATCHCAST_INLINE Placement Consumer::placement() const noexcept { return core().placement(); }
BATCHCAST_INLINE const Group& Consumer::group() const noexcept { return core().group(); }
BATCHCAST_INLINE void Consumer::set_cuda_stream(void* stream) noexcept {
  core().set_cuda_stream(stream);
}

BATCHCAST_INLINE const Schema& Consumer::schema() const noexcept { return core().schema(); }

BATCHCAST_INLINE std::string Consumer::recipe_json() const {
  return std::string(core().board().recipe_json());
}

BATCHCAST_INLINE bool Consumer::pure() const noexcept { return core().board().head().pure != 0; }

BATCHCAST_INLINE std::string Consumer::identity() const {
  return detail::text_of(core().board().head().identity);
}

BATCHCAST_INLINE std::string Consumer::incarnation() const {
  return detail::to_hex(core().board().head().incarnation);
}

BATCHCAST_INLINE std::uint64_t Consumer::samples_per_epoch() const noexcept {
  return core().board().head().samples_per_epoch;
}

BATCHCAST_INLINE std::uint64_t Consumer::capacity() const noexcept {
  return core().board().head().capacity;
}

BATCHCAST_INLINE const std::string& Consumer::notes() const noexcept { return core().notes(); }

BATCHCAST_INLINE ConsumerStats Consumer::stats() const noexcept {
  const ReaderStatus status = core().reader_status();
  ConsumerStats stats;
  stats.samples = status.samples;
  stats.batches = status.batches;
  stats.skipped = status.skipped;
  stats.waits = status.waits;
  stats.wait_seconds = seconds_from_ns(status.wait_ns);
  stats.attach_seconds = core().attach_seconds();
  stats.late_wakeups = status.late_wakeups;
  stats.epochs_matched = status.epochs_matched;
  stats.epochs_mismatched = status.epochs_mismatched;
  stats.epochs_unknown = status.epochs_unknown;
  stats.leases_held = status.leases_held;
  return stats;
}

}  // namespace batchcast::inline v0_1
