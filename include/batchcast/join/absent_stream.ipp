// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/absent_stream.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/join/directory.hpp>
#include <batchcast/join/stream_lock.hpp>

#include <cstdint>
#include <filesystem>
#include <system_error>
#include <vector>

namespace batchcast::inline v0_1 {
namespace detail::absent_stream {

namespace fs = std::filesystem;

/// A producer removes its stream's directory when it ends. Where the directory is still there and
/// the lock is free, the producer was killed; 0 where that is not so.
inline std::int32_t killed_producer(std::string_view stream,
                                    std::span<const std::string> directories) {
  for (const std::string& base : directories) {
    const LockState lock = look_at_lock(stream_paths(base, stream).lock);
    if (lock.dead_pid != 0) return lock.dead_pid;
  }
  return 0;
}

inline std::vector<std::string> served_streams(std::span<const std::string> directories) {
  std::vector<std::string> names;
  for (const std::string& base : directories) {
    std::error_code error;
    for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (is_stream_name(name) && look_at_lock(stream_paths(base, name).lock).held) {
        names.push_back(name);
      }
    }
  }
  return names;
}

}  // namespace detail::absent_stream

BATCHCAST_INLINE std::string why_absent(std::string_view stream,
                                        std::span<const std::string> directories) {
  std::string text;
  const std::int32_t pid = detail::absent_stream::killed_producer(stream, directories);
  if (pid != 0) text += " Its producer (pid " + std::to_string(pid) + ") is gone.";
  const std::vector<std::string> served = detail::absent_stream::served_streams(directories);
  const std::string nearest = detail::nearest_name(stream, served);
  if (!nearest.empty() && nearest != stream) {
    text += " Did you mean `" + nearest + "`, which is served?";
  }
  return text;
}

}  // namespace batchcast::inline v0_1
