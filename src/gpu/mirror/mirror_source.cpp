// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/mirror/mirror_source.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/ring/futex.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint64_t spin_ns = 50'000;

bool is_over(StreamState state) noexcept {
  return state != StreamState::starting && state != StreamState::running;
}

}  // namespace

MirrorSource::MirrorSource(Board host, std::shared_ptr<Desk> desk, const Admitted& admitted)
    : host_(host),
      desk_(std::move(desk)),
      entry_(host_.consumer(admitted.index)),
      consumer_id_(admitted.consumer_id),
      samples_per_epoch_(host_.head().samples_per_epoch),
      position_(admitted.position),
      spinner_(spin_ns) {}

void MirrorSource::start(const MirrorStart& start) noexcept {
  position_ = start.position;
  epoch_ = start.epoch;
  end_.reset();
  ordered::set(desk_->cursor, position_);
}

MirrorSource::Sight MirrorSource::look(std::uint64_t samples_max, std::uint64_t& samples) noexcept {
  const BoardProgress& progress = host_.progress();
  seen_state_ = ordered::load_state(progress);  // before what it is the end of
  // And `published` before the ends that it has passed: those were announced first.
  const std::uint64_t published = ordered::load_published(progress);
  seen_announced_ = ordered::load_announced(progress);
  if (samples_per_epoch_ != 0) {
    epoch_ = position_ / samples_per_epoch_;
    end_ = (epoch_ + 1) * samples_per_epoch_;
  } else if (!end_) {
    end_ = announced_end();
  }
  if (end_ && position_ >= *end_) return Sight::end_of_epoch;
  const std::uint64_t until = end_ ? std::min(published, *end_) : published;
  samples = std::min(samples_max, saturating_sub(until, position_));
  if (samples != 0) return Sight::samples;
  return is_over(seen_state_) ? Sight::over : Sight::nothing;
}

std::optional<std::uint64_t> MirrorSource::announced_end() const noexcept {
  if (seen_announced_ <= epoch_) return std::nullopt;
  // It stays on the board as long as the mirror gates.
  return ordered::get_acquire(static_cast<const BoardView&>(host_).epoch(epoch_).end);
}

void MirrorSource::take(std::uint64_t samples) noexcept {
  position_ += samples;
  ordered::set(desk_->cursor, position_);
  ordered::count(desk_->samples, samples);
  ordered::count(desk_->batches);
}

void MirrorSource::next_epoch() noexcept {
  ++epoch_;
  end_.reset();
}

void MirrorSource::release(std::uint64_t position) noexcept {
  if (ordered::release(*desk_, host_.progress(), consumer_id_, position))
    futex_wake(desk_->release_sequence);
}

bool MirrorSource::revoked() const noexcept {
  return ordered::load_consumer_id_after_reading(entry_) != consumer_id_;
}

StreamState MirrorSource::see_state() noexcept {
  return seen_state_ = ordered::load_state(host_.progress());
}

std::string MirrorSource::state_text() const {
  const auto& text = static_cast<const BoardView&>(host_).progress().state_text;
  return {text.begin(), std::find(text.begin(), text.end(), '\0')};
}

MirrorStart MirrorSource::end() const noexcept {
  const BoardProgress& progress = static_cast<const BoardView&>(host_).progress();
  MirrorStart end;
  end.position = end.epoch_start = ordered::get(progress.end_position);
  end.epoch = samples_per_epoch_ != 0 ? end.position / samples_per_epoch_
                                      : ordered::load_announced(progress);
  return end;
}

bool MirrorSource::is_closed() const noexcept {
  return ordered::load_state(static_cast<const BoardView&>(host_).progress()) ==
         StreamState::finished;
}

bool MirrorSource::is_new(std::uint64_t wanted) const noexcept {
  const BoardProgress& progress = static_cast<const BoardView&>(host_).progress();
  return rung_.load() || ordered::look_again_published(progress) >= wanted ||
         ordered::load_state(progress) != seen_state_ ||
         (samples_per_epoch_ == 0 && ordered::load_announced(progress) != seen_announced_) ||
         revoked();
}

void MirrorSource::wait(int timeout_ms, bool resting) {
  if (resting) {
    seen_announced_ = ordered::load_announced(static_cast<const BoardView&>(host_).progress());
  }
  const std::uint64_t started_ns = now_ns();
  const std::uint64_t wanted = resting ? ~std::uint64_t{0} : position_ + 1;
  const bool found = !resting && spinner_.look([&] { return is_new(wanted); });
  if (!found) {
    const std::uint32_t slept_at = ordered::load_word(entry_.wake_word);
    ordered::consumer_sleeps_until(*desk_, wanted);
    if (!is_new(wanted)) futex_wait(entry_.wake_word, slept_at, timeout_ms);
    ordered::consumer_wakes(*desk_);
  }
  rung_.store(false);
  if (resting) return;
  ordered::count(desk_->waits);
  ordered::count(desk_->wait_ns, now_ns() - started_ns);
}

void MirrorSource::ring() noexcept {
  rung_.store(true);
  ordered::bump(entry_.wake_word);
  futex_wake(entry_.wake_word);
}

}  // namespace batchcast::inline v0_1::detail
