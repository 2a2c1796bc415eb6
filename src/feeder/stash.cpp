// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "feeder/stash.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

bool comes_before(const Finished& one, std::uint64_t position) noexcept {
  return one.loan.position() < position;
}

}  // namespace

std::unique_ptr<MadeSample> Stash::blank() {
  {
    const std::lock_guard lock(mutex_);
    if (!spares_.empty()) {
      std::unique_ptr<MadeSample> made = std::move(spares_.back());
      spares_.pop_back();
      spare_bytes_ -= made->buffer_bytes();
      return made;
    }
  }
  auto made = std::make_unique<MadeSample>(schema_);
  made->limit_rows(arenas_);
  return made;
}

void Stash::put(Finished sample) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes = sample.made->buffer_bytes();
  const auto at =
      std::lower_bound(samples_.begin(), samples_.end(), sample.loan.position(), comes_before);
  samples_.insert(at, std::move(sample));
  bytes_ += bytes;
  if (bytes_ + spare_bytes_ <= bytes_max_) return;
  spares_.clear();
  spare_bytes_ = 0;
}

std::optional<Finished> Stash::take_ready() {
  std::optional<Finished> first;
  {
    const std::lock_guard lock(mutex_);
    if (samples_.empty() || !samples_.front().loan.has_turn()) return first;
    first.emplace(std::move(samples_.front()));
    samples_.pop_front();
    bytes_ -= first->made->buffer_bytes();
    ++calls_;
  }
  changed_.notify_all();
  return first;
}

void Stash::recycle(std::unique_ptr<MadeSample> made) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t bytes = made->buffer_bytes();
  if (bytes_ + spare_bytes_ + bytes > bytes_max_) return;
  spares_.push_back(std::move(made));
  spare_bytes_ += bytes;
}

void Stash::call() {
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  changed_.notify_all();
}

std::uint64_t Stash::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

void Stash::wait(std::uint64_t seen, int timeout_ms) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), [&] { return calls_ != seen; });
}

bool Stash::is_full_with(std::uint64_t position) const {
  const std::lock_guard lock(mutex_);
  if (bytes_ <= bytes_max_) return false;
  const auto at = std::lower_bound(samples_.begin(), samples_.end(), position, comes_before);
  return at != samples_.end() && at->loan.position() == position;
}

bool Stash::is_empty() const {
  const std::lock_guard lock(mutex_);
  return samples_.empty();
}

std::uint64_t Stash::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_ + spare_bytes_;
}

void Stash::clear() {
  const std::lock_guard lock(mutex_);
  samples_.clear();
  spares_.clear();
  bytes_ = spare_bytes_ = 0;
}

}  // namespace batchcast::inline v0_1::detail
