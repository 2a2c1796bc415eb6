// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "producer/reception.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Reception's part for heads: consumers get their places there, and come to the leading ring.
struct HeadReception {
  /// A place for a consumer that is no rank, in the ring that has its sample.
  [[nodiscard]] static std::variant<Reception::Seated, Refusal> seat(Reception& at,
                                                                     const Hello& hello,
                                                                     std::uint32_t pid);
  /// Places for all ranks of a complete group, in one head if they need one, else in the rings that
  /// they name. Returns why there are none, and then no rank has one.
  [[nodiscard]] static std::optional<Refusal> seat_group(Reception& at,
                                                         const std::vector<WaitingRank>& ranks,
                                                         Reception::GroupStart& start,
                                                         std::vector<Reception::Seated>& seats);
  /// A consumer's place, with its welcome or the refusal.
  template <class Reply>
  [[nodiscard]] static Reply welcome(Reception& at, const Hello& hello, std::uint32_t pid) {
    auto seated = seat(at, hello, pid);
    if (auto* refusal = std::get_if<Refusal>(&seated)) return std::move(*refusal);
    at.note_member(std::get<Reception::Seated>(seated), hello, pid);
    return std::move(std::get<Reception::Seated>(seated).admission);
  }
  /// Groups whose ranks come back from heads. Each gets a head; the ranks of one that gets none are
  /// to decide where the leading ring begins. Returns the heads by the names of groups.
  [[nodiscard]] static std::map<std::string, ServedRing*> open_again(
      Reception& at, ReturningMembers::Decision& decision);
  /// What a consumer gets that is refused at another place. Its ring may have lost the cursor. Then
  /// it gets a head if it attaches again, and so does a trainer that follows an observer.
  [[nodiscard]] static std::variant<Rejoined, Refusal> answer_gone(const Reception& at,
                                                                   const Reception::Seat& seat,
                                                                   ConsumerKey key,
                                                                   const Rejoin& rejoin,
                                                                   Refusal refusal);
  /// A consumer that was asked to comes from a head to the leading ring, or from there to a head.
  /// It keeps its place in the first ring until it has given back what it holds there. Nothing
  /// where the hello is of none.
  [[nodiscard]] static std::optional<AdmissionReply> move(Reception& at, const Hello& hello,
                                                          std::uint32_t pid);
  /// Says whether members of an earlier producer's heads are to come: loans do not end meanwhile.
  /// One that has its place, or has given up, has left the lock of its earlier one.
  static void await_members(Reception& at);
  /// At each tick.
  static void look(Reception& at);
  [[nodiscard]] static HeadPlaces::Seats seats(const Reception& at);

 private:
  [[nodiscard]] static std::optional<Refusal> seat_all(Reception& at,
                                                       const std::vector<WaitingRank>& ranks,
                                                       Reception::GroupStart& start,
                                                       std::vector<Reception::Seated>& seats);
  /// For the end of the refusal of a cursor that is gone: why no head opens there. Empty where the
  /// refusal says it, or the stream was to have none.
  [[nodiscard]] static std::string why_no_head(const Reception& at, bool is_host);
  [[nodiscard]] static AdmissionReply move_to(Reception& at, ServedRing& ring, const Hello& hello,
                                              const Reception::Seat& seat);
};

}  // namespace batchcast::inline v0_1::detail
