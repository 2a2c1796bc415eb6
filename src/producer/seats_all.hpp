// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/writer.hpp"

namespace batchcast::inline v0_1::detail {

/// While it lives, the members of an earlier producer get their places. Then the ring goes on.
class SeatsAll {
 public:
  explicit SeatsAll(RingWriter& writer) noexcept : writer_(writer) {}
  ~SeatsAll() { writer_.members_are_seated(); }
  SeatsAll(const SeatsAll&) = delete;
  SeatsAll& operator=(const SeatsAll&) = delete;

 private:
  RingWriter& writer_;
};

}  // namespace batchcast::inline v0_1::detail
