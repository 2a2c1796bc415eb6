// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/log.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Where a stream lives: <base>/<stream>/{lock,door,control,events}. The process that holds the lock
// serves it. A stream that trainers start has {start,serve.log} there too (start.hpp). A stream
// that failed leaves {failure}.
namespace batchcast::inline v0_1 {

/// Throws InvalidArgument unless `name` can name a stream. A name has 1 to
/// limits::stream_name_bytes_max letters, digits and `- _ . : , + = @ % ~ # ^`, which a shell takes
/// as they are. It begins with none of `- . = ~ # ^`.
void check_stream_name(std::string_view name);
[[nodiscard]] bool is_stream_name(std::string_view name);

/// The base directories in which streams are looked for: $BATCHCAST_DIR alone if it is set. Else
/// $XDG_RUNTIME_DIR/batchcast, /run/user/<uid>/batchcast and /tmp/batchcast-<uid>. Each is absolute
/// and listed once.
[[nodiscard]] std::vector<std::string> candidate_directories();

/// The first of them that exists or can be created, for a producer. `for_other_users`: the first
/// that another user can reach (not below a private runtime directory). Throws Error if there is
/// none.
[[nodiscard]] std::string producer_directory(bool for_other_users = false);

/// The files of one stream. These are paths only: the files may not exist.
struct StreamPaths {
  std::string directory;
  std::string lock;
  std::string door;
  std::string control;
  std::string events;
  std::string start;  ///< the `ensure` that has it locked may start a producer
  std::string log;  ///< of a producer that an `ensure` started, which has it locked while it lives
  std::string failure;  ///< why the last producer failed (join/absent_stream.hpp)
};
[[nodiscard]] StreamPaths stream_paths(std::string_view base, std::string_view stream);

/// What a consumer finds of a stream in all candidate directories, best first.
struct StreamPlaces {
  std::vector<StreamPaths> places;       ///< directories with a door; its producer may be dead
  std::vector<std::string> distrusted;   ///< why a directory of that name was not used
  std::vector<std::string> denied = {};  ///< directories that this user has no permission to read
};
/// Cheap enough to be called every few milliseconds while waiting for a stream. Throws
/// InvalidArgument for a bad name.
[[nodiscard]] StreamPlaces find_stream(std::string_view stream);

}  // namespace batchcast::inline v0_1
