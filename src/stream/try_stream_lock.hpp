// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/stream_lock.hpp>

#include <string>

// The producer's side of join/stream_lock.hpp. The lock is never unlocked explicitly: that would
// also unlock it for the parent of a forked child.
namespace batchcast::inline v0_1 {

/// Opens or makes the file in the directory `directory` and locks it. Empty if another process
/// holds the lock, or shares it for five seconds; and if the directory was removed meanwhile
/// (`vanished`). Throws Error, SystemError.
[[nodiscard]] FileDescriptor try_stream_lock(int directory, const std::string& path,
                                             bool& vanished);

}  // namespace batchcast::inline v0_1
