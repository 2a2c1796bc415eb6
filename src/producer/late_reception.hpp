// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "producer/reception.hpp"

#include <cstdint>

namespace batchcast::inline v0_1::detail {

/// Reception's part for GPUs that had no room for a ring when the producer began. Members of an
/// earlier producer's ring there have their places kept in host memory meanwhile.
struct LateReception {
  /// Of a hello for a ring that is not there, which may be to come.
  [[nodiscard]] static Refusal refusal_of(const Reception& at, const Hello& hello);
  /// Where that member has its place: in host memory as long as its ring is to come. Null where the
  /// stream is not served on its GPU.
  [[nodiscard]] static ServedRing* ring_of(const Reception& at, const LifeMember& member);
  /// Whether the member comes to a ring that is there now, and its place was kept in host memory.
  [[nodiscard]] static bool waits_in_host(const Reception& at, const Reception::Absent& absent,
                                          const Hello& hello);
  /// It gets its place there, and leaves the other one.
  [[nodiscard]] static AdmissionReply take_ring(Reception& at, Reception::Absent& absent,
                                                const Hello& hello, std::uint32_t pid);
};

}  // namespace batchcast::inline v0_1::detail
