// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/core/text.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/try_write.hpp>

#include <unistd.h>

#include <string>

namespace batchcast::inline v0_1::detail {

BATCHCAST_INLINE void report(const LogCallback& log, LogLevel level, std::string_view text,
                             std::string_view about) noexcept {
  try {
    if (log) {
      log(level, text);
    } else if (level >= LogLevel::warning) {
      const std::string line = batchcast::text("batchcast: {}{}\n", about, printable_lines(text));
      static_cast<void>(try_write(STDERR_FILENO, line));
    }
  } catch (...) {
    // There is no other place to report it to.
  }
}

}  // namespace batchcast::inline v0_1::detail
