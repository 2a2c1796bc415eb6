// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "stream/stream_directory.hpp"

#include <string>

namespace batchcast::cli {

/// The stream of that name that an order is for: one that is served, where a dead one lies in
/// another directory. Throws StreamNotFound where there is none, and Error for one of another user
/// and where several nodes serve one.
[[nodiscard]] ListedStream own_stream(const std::string& stream);

/// The directory that BATCHCAST_DIR names, where it is not there; else empty. `serve` makes it.
[[nodiscard]] std::string missing_directory();

/// Throws StreamNotFound: none of that name is served.
[[noreturn]] void throw_absent(const std::string& stream);

/// Throws StreamNotFound: its producer was killed.
[[noreturn]] void throw_dead(const std::string& stream);

}  // namespace batchcast::cli
