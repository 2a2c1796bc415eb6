// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/head_maker.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/named_thread.hpp>

#include <exception>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint64_t kept_ns = 5'000'000'000;

}  // namespace

HeadMaker::~HeadMaker() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void HeadMaker::make(Make make) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = start_thread("bc-head", [this] { run(); });
  wanted_ = std::move(make);
  makes_ = true;
  changed_.notify_all();
}

bool HeadMaker::is_making() const {
  const std::lock_guard lock(mutex_);
  return makes_ || made_;
}

std::optional<HeadMaker::Made> HeadMaker::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(made_, std::nullopt);
}

void HeadMaker::wait() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !makes_; });
}

void HeadMaker::look(std::uint64_t now_ns) {
  const std::lock_guard lock(mutex_);
  if (!made_ || now_ns - made_ns_ < kept_ns) return;
  if (made_->ring) to_free_.push_back(std::move(made_->ring));
  made_.reset();
  changed_.notify_all();
}

void HeadMaker::free(std::shared_ptr<HostRing> ring) {
  const std::lock_guard lock(mutex_);
  to_free_.push_back(std::move(ring));
  changed_.notify_all();
}

void HeadMaker::run() noexcept {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return over_ || wanted_ || !to_free_.empty(); });
    if (over_) return;
    std::vector<std::shared_ptr<HostRing>> freed = std::exchange(to_free_, {});
    const Make make = std::exchange(wanted_, nullptr);
    lock.unlock();
    freed.clear();
    Made made;
    try {
      if (make) made.ring = make();
    } catch (const std::exception& error) {
      made.why_not = error.what();
    }
    lock.lock();
    if (!make) continue;
    makes_ = false;
    made_ = std::move(made);
    made_ns_ = now_ns();
    changed_.notify_all();
  }
}

}  // namespace batchcast::inline v0_1::detail
