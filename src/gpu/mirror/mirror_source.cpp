// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/mirror/mirror_source.hpp"

#include <batchcast/ring/futex.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint64_t spin_ns = 50'000;

}  // namespace

MirrorSource::MirrorSource(Board host, std::shared_ptr<Desk> desk)
    : board_(host),
      desk_(std::move(desk)),
      wake_word_(host.consumer(desk_->index).wake_word),
      cursor_(host, *desk_, spin_ns),
      leases_(host, *desk_) {}

void MirrorSource::start(const MirrorStart& start) noexcept {
  leases_.restart(start.position, false);
  cursor_.begin_at(start.position, start.epoch, start.epoch_start);
}

MirrorSource::Polled MirrorSource::poll(std::uint64_t samples_max) noexcept {
  const StreamState state = see_state();  // before what it is the end of
  std::uint64_t until = cursor_.look();
  if (cursor_.at_epoch_end()) {
    if (!cursor_.epochs_have_one_length()) return {Found::end_of_epoch};
    next_epoch();
    cursor_.look_for_end();
  }
  if (cursor_.epoch_end()) until = std::min(until, *cursor_.epoch_end());
  const std::uint64_t samples = std::min(samples_max, saturating_sub(until, position()));
  if (samples != 0) return {Found::samples, samples};
  return {has_ended(state) ? Found::end_of_stream : Found::nothing};
}

void MirrorSource::take(std::uint64_t samples) {
  static_cast<void>(leases_.add(position(), position() + samples));
  cursor_.take(samples, {position() + samples, 0});
}

void MirrorSource::give_back_oldest() noexcept { leases_.give_back(oldest_lease_++); }

void MirrorSource::next_epoch() noexcept {
  cursor_.end_epoch();
  cursor_.begin_epoch();
}

MirrorStart MirrorSource::end() const noexcept {
  const BoardProgress& progress = board_.progress();
  const std::uint64_t samples_per_epoch = board_.head().samples_per_epoch;
  MirrorStart end;
  end.position = end.epoch_start = ordered::get(progress.end_position);
  end.epoch =
      samples_per_epoch != 0 ? end.position / samples_per_epoch : ordered::load_announced(progress);
  return end;
}

void MirrorSource::wait() {
  cursor_.wait(position() + 1, seen_state_, limits::sleep_ms_max, &rung_);
  rung_.store(false);
}

void MirrorSource::rest() {
  cursor_.unplace();
  cursor_.sleep(ReadCursor::endless, seen_state_, limits::sleep_ms_max, &rung_);
  rung_.store(false);
}

void MirrorSource::ring() noexcept {
  rung_.store(true);
  ordered::bump(wake_word_);
  futex_wake(wake_word_);
}

}  // namespace batchcast::inline v0_1::detail
