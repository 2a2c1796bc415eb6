// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE void throw_refused(const Refusal& refusal) {
  switch (refusal.kind) {
    case RefusalKind::ring_too_small:
      throw RingTooSmall(refusal.text);
    case RefusalKind::finished:
      throw StreamFinished(refusal.text);
    case RefusalKind::stopped:
      throw Stopped(refusal.text);
    case RefusalKind::failed:
      throw StreamFailed(refusal.text);
    case RefusalKind::recipe:
      throw RecipeMismatch(refusal.text);
    case RefusalKind::group_broke:
      throw GroupBroken(refusal.text);
    case RefusalKind::bad_hello:
    case RefusalKind::layout:
    case RefusalKind::uid:
    case RefusalKind::full:
    case RefusalKind::cursor_gone:
    case RefusalKind::placement:
    case RefusalKind::busy:
    case RefusalKind::group:
      break;
  }
  throw Refused(refusal.text);
}

}  // namespace batchcast::inline v0_1
