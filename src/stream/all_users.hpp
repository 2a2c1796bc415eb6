// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "stream/stream_directory.hpp"

#include <memory>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

/// A stream of another user, as root sees it.
struct ForeignStream {
  ListedStream listed;
  std::string owner;  ///< the user's name, or number
  /// Where its producer listens: the path of a descriptor of that socket, so that nothing that the
  /// user puts in its place later is asked. Empty: nowhere. Valid as long as `held` lives.
  std::string control;
  std::shared_ptr<const void> held;
};

/// The streams of all users but this one, in the usual places below `root`:
/// `/run/user/UID/batchcast` and `/tmp/batchcast-UID`. A directory counts if it belongs to the user
/// whose number is in its path. No symbolic link is followed. What cannot be read is left out.
[[nodiscard]] std::vector<ForeignStream> streams_of_other_users(const std::string& root = "");

}  // namespace batchcast::inline v0_1
