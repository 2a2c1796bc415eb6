// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/producer.hpp>

#include "producer/producer_core.hpp"

#include <algorithm>

namespace batchcast::inline v0_1 {

Producer::Producer(ProducerOptions options)
    : core_(std::make_unique<detail::ProducerCore>(std::move(options))) {}

Producer::~Producer() {
  if (!core_) return;
  if (core_->in_forked_child()) {
    static_cast<void>(core_.release());  // its threads are the parent's, and so are its sockets
    return;
  }
  core_->end();
}

Producer::Producer(Producer&&) noexcept = default;
Producer& Producer::operator=(Producer&& other) noexcept {
  if (this != &other) {
    const Producer ended(std::move(*this));
    core_ = std::move(other.core_);
  }
  return *this;
}

std::optional<Loan> Producer::loan(std::uint64_t samples_max) { return try_loan(samples_max, -1); }

std::optional<Loan> Producer::try_loan(std::uint64_t samples_max, int timeout_ms) {
  const auto contents = core_->loan(samples_max, timeout_ms);
  if (!contents) return std::nullopt;
  return Loan(*core_, *contents);
}

bool Producer::over() const noexcept { return core_->over(); }

void Producer::end_epoch() {
  core_->check_process();
  core_->rings().host().writer().end_epoch();
}

bool Producer::finish() { return core_->finish(); }

bool Producer::finish(int linger_ms) { return core_->finish(linger_ms); }

void Producer::stop(const std::string& reason) noexcept { core_->stop(reason); }

void Producer::give_up_name(const std::string& reason) noexcept { core_->give_up_name(reason); }

void Producer::fail(const std::string& reason) noexcept {
  if (!core_->in_forked_child()) core_->rings().host().writer().fail(reason);
}

bool Producer::stop_if_unattended(double seconds, const std::string& reason) noexcept {
  constexpr double longest_s = 1e9;  // in nanoseconds it fits into 64 bits
  const double wanted_s = seconds > 0 ? std::min(seconds, longest_s) : 0;
  return core_->stop_if_unattended(static_cast<std::uint64_t>(wanted_s * 1e9), reason);
}

bool Producer::evict(std::string_view consumer, const std::string& reason) {
  return core_->evict(consumer, reason);
}

ProducerStats Producer::stats() const { return core_->stats(); }

const std::string& Producer::stream() const noexcept { return core_->options().stream; }

const std::string& Producer::directory() const noexcept { return core_->directory().base(); }

const Schema& Producer::schema() const noexcept { return core_->options().schema; }

std::uint64_t Producer::samples_per_epoch() const noexcept {
  return core_->options().samples_per_epoch;
}

std::uint64_t Producer::capacity() const noexcept { return core_->rings().host().capacity(); }

std::uint64_t Producer::memory() const noexcept { return core_->rings().host().memory(); }

void Loan::publish() {
  if (core_ != nullptr) core_->check_process();
  detail::ProducerCore* core = std::exchange(core_, nullptr);
  if (core == nullptr) throw InvalidArgument("batchcast: this loan was published already.");
  core->rings().host().publish(contents_);
}

void Loan::give_back() noexcept {
  if (core_ != nullptr && !core_->in_forked_child()) core_->rings().host().give_back(contents_);
  core_ = nullptr;
}

std::byte* Loan::data(std::size_t index) const noexcept {
  return core_->rings().host().data(index, contents_.position);
}

}  // namespace batchcast::inline v0_1
