// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/directory.hpp>

#include <string>

namespace batchcast::cli {

/// It counts for one start: what starts a producer again leaves it out.
inline constexpr const char* replace_flag = "--replace";

/// What `serve --replace` does first: kills the keeper of the stream, unless it is this process's
/// own, and the producer that has the stream. Waits until the name is free. Does nothing where none
/// has it. Throws StreamTaken where such a process cannot be seen from here, as in another
/// container, or does not go.
void replace_producer(const std::string& stream, const StreamPaths& paths);

/// Throws StreamTaken where trainers of that producer would fail on this one, which has other data
/// or another recipe. `identity`: of this one; empty where it is not pure. Nothing is killed then.
void check_replacement(const std::string& stream, const StreamPaths& paths,
                       const std::string& identity);

}  // namespace batchcast::cli
