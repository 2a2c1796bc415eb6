// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/producer.hpp>

#include "producer/producer_core.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>

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
  auto contents = core_->loan(samples_max, timeout_ms);
  if (!contents) return std::nullopt;
  return Loan(*core_, std::move(*contents));
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

void Producer::make_way(const std::string& reason) noexcept { core_->make_way(reason); }

void Producer::fail(const std::string& reason) noexcept {
  if (!core_->in_forked_child()) core_->rings().fail(reason);
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

StreamState Producer::state() const { return core_->state(); }

void Producer::report(LogLevel level, std::string_view text) const { core_->say(level, text); }

void Producer::set(const std::vector<std::pair<std::string, std::string>>& values) {
  core_->check_process();
  try {
    static_cast<void>(core_->settings().set(values));
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(text("batchcast: {}.", error.what()));
  }
}

void Producer::add_setting(Setting setting) { core_->settings().add(std::move(setting)); }

void Producer::remove_setting(const std::string& name) { core_->settings().remove(name); }

void Producer::report_making(std::function<MakingStats()> report) {
  core_->report_making(std::move(report));
}

void Producer::add_spans(std::shared_ptr<detail::SpanBuffer> spans) {
  if (!core_->in_forked_child()) core_->tracing().add(std::move(spans));
}
Substitutions* Producer::substitutions() noexcept { return core_->substitutions(); }

const std::string& Producer::stream() const noexcept { return core_->options().stream; }

const std::string& Producer::directory() const noexcept { return core_->directory().base(); }

const Schema& Producer::schema() const noexcept { return core_->options().schema; }

std::uint64_t Producer::samples_per_epoch() const noexcept {
  return core_->options().samples_per_epoch;
}

std::uint64_t Producer::capacity() const noexcept { return core_->rings().host().capacity(); }

std::uint64_t Producer::rows(std::string_view axis) const {
  const auto rows = core_->rings().host().rows_of(std::string(axis));
  if (rows) return *rows;
  throw InvalidArgument(text("batchcast: stream `{}` has no axis `{}`{}.", stream(), axis,
                             core_->rings().host().axes_text()));
}

std::uint64_t Producer::memory() const noexcept { return core_->rings().host().memory(); }

detail::HostRing& Loan::ring() const noexcept {
  return contents_.head ? *contents_.head : core_->rings().host();
}

void Loan::publish() {
  if (core_ != nullptr) core_->check_process();
  detail::ProducerCore* core = std::exchange(core_, nullptr);
  if (core == nullptr) throw InvalidArgument("batchcast: this loan was published already.");
  detail::HostRing& filled = contents_.head ? *contents_.head : core->rings().host();
  filled.publish(contents_);
  core->rings().heads().note_back(contents_);
  contents_.head.reset();
}

void Loan::give_back() noexcept {
  if (core_ != nullptr && !core_->in_forked_child()) {
    ring().give_back(contents_);
    core_->rings().heads().note_back(contents_);
    contents_.head.reset();
  }
  core_ = nullptr;
}

bool Loan::take_rows(std::string_view axis, std::span<const std::uint64_t> lengths) {
  const std::size_t at = contents_.fields->axis_of(axis);
  core_->check_process();
  if (lengths.empty() || contents_.size == 0) return contents_.size != 0;
  return ring().take_rows(contents_, at, 0, lengths, -1) != 0;
}

Loan::Taken Loan::try_take_rows(std::string_view axis, std::span<const std::uint64_t> lengths,
                                int timeout_ms) {
  const std::size_t at = contents_.fields->axis_of(axis);
  core_->check_process();
  if (contents_.size == 0) return Taken::lost;
  if (lengths.empty()) return Taken::taken;
  if (ring().take_rows(contents_, at, 0, lengths, timeout_ms) != 0) {
    return Taken::taken;
  }
  return contents_.size == 0 ? Taken::lost : Taken::timed_out;
}

bool Loan::take_rows(std::span<const std::span<const std::uint64_t>> lengths) {
  return try_take_rows(lengths, -1) == Taken::taken;
}

Loan::Taken Loan::try_take_rows(std::span<const std::span<const std::uint64_t>> lengths,
                                int timeout_ms) {
  core_->check_process();
  detail::HostRing& ring = this->ring();
  if (lengths.size() != ring.plan().axes.size()) {
    throw InvalidArgument(text("batchcast: take_rows() with lengths on {} axes. The stream has {}.",
                               lengths.size(), ring.plan().axes.size()));
  }
  if (contents_.size == 0) return Taken::lost;
  std::array<std::uint64_t, limits::fields_max> first{};
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    if (lengths[axis].size() < contents_.size) {
      throw InvalidArgument(text("batchcast: take_rows() with {} lengths for a loan of {} samples.",
                                 lengths[axis].size(), contents_.size));
    }
    first[axis] = lengths[axis].front();
  }
  for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
    if (ring.rows_of(axis, contents_.position)) continue;  // before a time-out
    const auto all = lengths[axis].first(contents_.size);
    const auto known = std::span(first).first(lengths.size());
    if (ring.take_rows(contents_, axis, 0, all, timeout_ms, known) != 0) continue;
    return contents_.size == 0 ? Taken::lost : Taken::timed_out;
  }
  return Taken::taken;
}

bool Loan::take_rows(std::size_t i, std::string_view axis, std::uint64_t rows) {
  const std::size_t at = contents_.fields->axis_of(axis);
  core_->check_process();
  if (contents_.size == 0) return false;
  return ring().take_rows(contents_, at, i, std::span(&rows, 1), -1) != 0;
}

bool Loan::has_turn() const {
  core_->check_process();
  return contents_.size == 0 || ring().has_turn(contents_);
}

Loan::Rows Loan::rows_of(std::size_t sample, std::size_t field) const {
  const auto axis = static_cast<std::size_t>((*contents_.fields)[field].axis);
  if (sample >= contents_.size) {
    throw InvalidArgument(text("batchcast: rows() of sample {} of a loan that has {} samples.",
                               sample, contents_.size));
  }
  detail::HostRing& ring = this->ring();
  const auto rows = ring.rows_of(contents_, axis, sample);
  if (!rows) {
    throw InvalidArgument(
        text("batchcast: rows() of sample {} of a loan, which has none yet. Call take_rows() for "
             "the axis `{}` first.",
             sample, (*contents_.fields)[field].spec.axis));
  }
  return {ring.data(field, rows->first), rows->rows};
}

std::byte* Loan::data(std::size_t index) const noexcept {
  return ring().data(index, contents_.position);
}

}  // namespace batchcast::inline v0_1
