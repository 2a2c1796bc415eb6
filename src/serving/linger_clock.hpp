// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/clock.hpp>
#include <batchcast/core/states.hpp>

#include <cstdint>

namespace batchcast::inline v0_1::serving {

/// How long a stream stays for its trainers after its last epoch: `linger_s` (negative: for
/// ever). The time begins at that epoch's end, or later, once all trainers of `wait_for` have come.
class LingerClock {
 public:
  /// The last epoch is made now.
  explicit LingerClock(double linger_s) noexcept : linger_s_(linger_s), since_ns_(now_ns()) {}

  /// `state`: the stream's, as it was before the last look whether trainers have read it.
  [[nodiscard]] bool is_over(StreamState state) noexcept {
    if (state == StreamState::starting) {  // trainers of `wait_for` are still to come
      since_ns_ = now_ns();
      return false;
    }
    return linger_s_ >= 0 && seconds_from_ns(now_ns() - since_ns_) >= linger_s_;
  }

 private:
  double linger_s_;
  std::uint64_t since_ns_;
};

}  // namespace batchcast::inline v0_1::serving
