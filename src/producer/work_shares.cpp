// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/work_shares.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr double least_share = 0.01;
constexpr std::uint64_t measured_ns = 1'000'000'000;

std::optional<std::size_t> hindmost_of(std::span<const WorkShares::Ring> rings) noexcept {
  std::optional<std::size_t> hindmost;
  for (std::size_t i = 0; i < rings.size(); ++i) {
    if (!rings[i].is_head) continue;
    if (!hindmost || rings[i].published < rings[*hindmost].published) hindmost = i;
  }
  return hindmost;
}

}  // namespace

WorkShares::WorkShares(double catch_up) noexcept
    : catch_up_(std::clamp(catch_up, least_share, 1 - least_share)) {}

double WorkShares::weight(std::span<const Ring> rings, std::size_t at) const noexcept {
  const std::optional<std::size_t> hindmost = hindmost_of(rings);
  if (!hindmost || rings.size() == 1) return 1.0 / static_cast<double>(rings.size());
  if (*hindmost == at) return catch_up_;
  return (1 - catch_up_) / static_cast<double>(rings.size() - 1);
}

/// A new ring begins where the one that was served least is.
void WorkShares::open_bills(std::span<const Ring> rings) {
  std::optional<double> least;
  for (const Ring& ring : rings) {
    const Bill& bill = bills_[ring.id];
    if (bill.is_known) least = std::min(least.value_or(bill.due), bill.due);
  }
  for (const Ring& ring : rings) {
    Bill& bill = bills_[ring.id];
    if (!bill.is_known) bill.due = least.value_or(0);
    bill.is_known = true;
  }
}

void WorkShares::order(std::span<const Ring> rings, std::span<std::size_t> order) {
  open_bills(rings);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    const double due = bills_[rings[one].id].due;
    const double due_of_other = bills_[rings[other].id].due;
    return due != due_of_other ? due < due_of_other : one < other;
  });
}

void WorkShares::note(std::span<const Ring> rings, std::span<const std::size_t> refused,
                      std::size_t served, std::uint64_t samples) {
  Bill& bill = bills_[rings[served].id];
  for (const std::size_t at : refused) {
    Bill& other = bills_[rings[at].id];
    if (at != served) other.due = std::max(other.due, bill.due);
  }
  bill.due += static_cast<double>(samples) / weight(rings, served);
}

void WorkShares::look(std::uint64_t now_ns) {
  if (now_ns - looked_ns_ < measured_ns) return;
  looked_ns_ = now_ns;
  std::uint64_t all_ns = 0;
  for (const auto& [id, bill] : bills_) all_ns += bill.worked_ns;
  for (auto& [id, bill] : bills_) {
    bill.share =
        all_ns == 0 ? 0 : static_cast<double>(bill.worked_ns) / static_cast<double>(all_ns);
    bill.worked_ns = 0;
  }
}

double WorkShares::share(const void* id) const {
  const auto found = bills_.find(id);
  return found == bills_.end() ? 0 : found->second.share;
}

}  // namespace batchcast::inline v0_1::detail
