// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <functional>
#include <string_view>

namespace batchcast::inline v0_1 {

enum class LogLevel { debug, info, warning, error };

/// Gets the library's reports that are not errors of a call. Any thread of the library calls it; it
/// must not throw. Without one, warnings and errors go to stderr as `batchcast: …`; a full pipe
/// there loses them.
using LogCallback = std::function<void(LogLevel, std::string_view)>;

namespace detail {

/// Hands `text` to the callback. Without one, a warning or an error goes to stderr, after `about`
/// ("stream `s`: "), which the callback does not get. An exception of the callback is ignored: it
/// must not end the stream.
void report(const LogCallback& log, LogLevel level, std::string_view text,
            std::string_view about = {}) noexcept;

}  // namespace detail

}  // namespace batchcast::inline v0_1
