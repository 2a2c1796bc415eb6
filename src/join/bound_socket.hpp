// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1 {

/// Which file a path leads to.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};
/// Zeros if there is none. Does not follow a symlink at the end of `path`.
[[nodiscard]] FileIdentity identity_at(const std::string& path) noexcept;

struct BoundSocket {
  FileDescriptor socket;
  FileIdentity identity;
};
/// Puts a listening socket (CLOEXEC, nonblocking) in place of what lies at `path`. It is open to no
/// more than `mode` says at any moment. Throws InvalidArgument, SystemError.
[[nodiscard]] BoundSocket listen_at(const std::string& path, int type, unsigned mode);

}  // namespace batchcast::inline v0_1
