// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <functional>
#include <string_view>

namespace batchcast::inline v0_1 {

enum class LogLevel { debug, info, warning, error };

/// Where the library reports what is no error. Any of its threads calls it; it must not throw.
/// Without one, warnings and errors go to stderr as `batchcast: …`; a full pipe there loses them.
using LogCallback = std::function<void(LogLevel, std::string_view)>;

namespace detail {

/// Hands `text` to the callback. Where there is none, writes it to stderr if it is a warning or an
/// error, after `about` ("stream `s`: "), which a callback need not be told. A callback that
/// throws all the same is ignored: it must not end the stream.
void report(const LogCallback& log, LogLevel level, std::string_view text,
            std::string_view about = {}) noexcept;

}  // namespace detail

}  // namespace batchcast::inline v0_1
