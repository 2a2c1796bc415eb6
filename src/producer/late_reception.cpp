// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/late_reception.hpp"

#include <batchcast/core/text.hpp>
#include "producer/returning_groups.hpp"

#include <utility>
#include <variant>

namespace batchcast::inline v0_1::detail {

Refusal LateReception::refusal_of(const Reception& at, const Hello& hello) {
  const auto why = at.parts_.rings.why_late(hello.placement);
  if (!why) return at.checks_.not_served_at(hello.placement);
  return {RefusalKind::busy,
          text("{}its ring there comes once there is room: {}", at.stream_text(), *why)};
}

ServedRing* LateReception::ring_of(const Reception& at, const LifeMember& member) {
  ServedRing* const ring = at.parts_.rings.find(member.ring);
  const bool is_late = ring == nullptr && at.parts_.rings.why_late(member.ring);
  return is_late ? &at.parts_.rings.host() : ring;
}

bool LateReception::waits_in_host(const Reception& at, const Reception::Absent& absent,
                                  const Hello& hello) {
  const bool is_to_go_on = is_in_loop(hello) && hello.join == Join::at;
  return is_to_go_on && hello.placement == absent.member.ring &&
         absent.seated.ring->placement().is_host() &&
         !at.parts_.rings.find(hello.placement)->placement().is_host();
}

/// Until it has its place on the GPU it gates the host ring, so that the samples from its cursor on
/// are there.
AdmissionReply LateReception::take_ring(Reception& at, Reception::Absent& absent,
                                        const Hello& hello, std::uint32_t pid) {
  ServedRing& ring = *at.parts_.rings.find(hello.placement);
  const RankProgress progress =
      RankProgress::of(hello.world, hello.cursor, epoch_grid_of(at.parts_.options));
  auto reply = at.seat(ring, at.request_of(hello, pid), progress.reading);
  if (auto* refusal = std::get_if<Refusal>(&reply)) return std::move(*refusal);
  auto seated = std::get<Reception::Seated>(std::move(reply));
  const Reception::Seated kept = std::move(absent.seated);
  const ConsumerKey earlier = kept.admitted.consumer_id;
  at.absent_.erase(MemberKey(absent.member.key));
  at.set_missing(kept.admitted.name, false);
  if (at.groups_.has(earlier)) {
    at.groups_.comes(earlier, {&ring, seated.admitted.index, seated.admitted.consumer_id});
    at.groups_.returned(seated.admitted.consumer_id, progress.ended_before,
                        progress.may_have_ended);
    static_cast<void>(
        at.groups_.gone(earlier, Leaving::bye, at.parts_.rings.host().writer().state()));
  }
  at.note_member(seated, hello, pid);
  at.take_out(kept);
  at.parts_.log(LogLevel::info,
                text("`{}` (pid {}) came to its place on {}, and goes on at position {}",
                     seated.admitted.name, pid, ring.placement().text(), hello.cursor));
  return std::move(seated.admission);
}

}  // namespace batchcast::inline v0_1::detail
