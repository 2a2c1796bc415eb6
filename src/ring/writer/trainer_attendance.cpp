// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "ring/writer/trainer_attendance.hpp"

#include <batchcast/core/clock.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

// A program that loads its libraries first takes seconds to attach.
constexpr std::uint64_t expected_within_ns = 5'000'000'000;

}  // namespace

TrainerAttendance::TrainerAttendance(const EpochLedger& ledger, const ConsumerTable& consumers,
                                     const StreamOutcome& outcome, std::uint32_t wait_for) noexcept
    : ledger_(ledger),
      consumers_(consumers),
      outcome_(outcome),
      wait_for_(wait_for),
      last_leave_ns_(now_ns()) {}

bool TrainerAttendance::is_deserted() const noexcept {
  return consumers_.trainers() == 0 && elsewhere_ == 0;
}

bool TrainerAttendance::is_deserted_for(std::uint64_t ns) const noexcept {
  return is_deserted() && now_ns() - last_leave_ns_ >= ns;
}

std::uint32_t TrainerAttendance::to_come() const noexcept {
  if (outcome_.has_published() || !waits_) return 0;
  const std::uint64_t here = std::uint64_t{consumers_.jobs()} + jobs_elsewhere_;
  return here < wait_for_ ? static_cast<std::uint32_t>(wait_for_ - here) : 0;
}

void TrainerAttendance::trainer_left(std::optional<std::uint64_t> position,
                                     std::uint64_t read_to) noexcept {
  last_leave_ns_ = now_ns();
  read_to_ = std::max(read_to_, read_to);
  if (!position) return;
  left_at_ = position;
  left_anew_ = true;
}

void TrainerAttendance::expect_trainer() noexcept {
  last_leave_ns_ = expected_since_ns_ = now_ns();
  ++expected_;
}

bool TrainerAttendance::expects_trainer() const noexcept {
  return expected_ != 0 && now_ns() - expected_since_ns_ < expected_within_ns;
}

void TrainerAttendance::expected_came(std::uint32_t trainers) noexcept {
  expected_ -= std::min(expected_, trainers);
}

void TrainerAttendance::set_trainers_elsewhere(std::uint32_t trainers,
                                               std::uint32_t jobs) noexcept {
  jobs_elsewhere_ = jobs;
  if (trainers < elsewhere_) last_leave_ns_ = now_ns();
  if (trainers > elsewhere_) expected_came(trainers - elsewhere_);
  elsewhere_ = trainers;
  ever_had_trainer_ = ever_had_trainer_ || trainers != 0;
}

std::uint64_t TrainerAttendance::read_to() const noexcept {
  std::uint64_t most = read_to_;
  for (const ConsumerRecord& one : consumers_.records()) {
    if (one.is_trainer()) most = std::max(most, consumers_.read_to(one));
  }
  return most;
}

std::uint64_t TrainerAttendance::take_read_to() noexcept { return std::exchange(read_to_, 0); }

void TrainerAttendance::jumps(std::uint64_t run_start, std::uint64_t published) noexcept {
  const std::uint64_t to = read_to();
  unread_before_ = to > run_start ? published - to : published - run_start + unread_before_;
  read_to_ = 0;
}

std::optional<std::uint64_t> TrainerAttendance::take_left_at() noexcept {
  return std::exchange(left_anew_, false) ? left_at_ : std::nullopt;
}

std::optional<std::uint64_t> TrainerAttendance::rewind_start(std::uint64_t oldest) const noexcept {
  std::uint64_t from = oldest;
  // No epoch begins after the stream's end: the next trainer reads once more what is held.
  if (is_deserted() && left_at_ && *left_at_ < ledger_.stream_end()) {
    from = std::max(from, ledger_.start_of(ledger_.epoch_of(*left_at_)));
  }
  return ledger_.first_start_from(from);
}

}  // namespace batchcast::inline v0_1
