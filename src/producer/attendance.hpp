// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "producer/reception.hpp"

#include <string>

namespace batchcast::inline v0_1::detail {

/// Who is there that a stream's layout may not change for.
struct Attendance {
  /// One that is attached, has a kept place, or waits for its group; empty where none does. Those
  /// that observe do not count.
  [[nodiscard]] static std::string text_of(const Reception& at);
};

}  // namespace batchcast::inline v0_1::detail
