// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/core/printable.hpp>

#include <cstdio>
#include <string>

namespace batchcast::inline v0_1 {

/// Through the callback, or, for what matters, to stderr.
inline void report(const LogCallback& log, LogLevel level, const std::string& text) noexcept {
  try {
    if (log) {
      log(level, text);
    } else if (level >= LogLevel::warning) {
      std::fprintf(stderr, "batchcast: %s\n", printable_lines(text).c_str());
    }
  } catch (...) {  // a log callback must not throw; one that does cannot take the stream down
  }
}

}  // namespace batchcast::inline v0_1
