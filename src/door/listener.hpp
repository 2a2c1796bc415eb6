// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/door.hpp>
#include "stream/uninherited.hpp"

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1 {

/// The producer's listening socket. It removes nothing when destroyed: the path belongs to the
/// StreamDirectory.
class DoorListener {
 public:
  /// Replaces what lies at `path`; the caller holds the stream's lock. Throws InvalidArgument for a
  /// path too long, SystemError.
  DoorListener(std::string path, unsigned mode);

  [[nodiscard]] int native_handle() const noexcept { return socket_.get(); }
  /// Whether our path still leads to this socket.
  [[nodiscard]] bool intact() const noexcept;

  enum class Outcome { accepted, none, exhausted };
  /// Never waits. `exhausted`: this process or the machine has no descriptor or memory for it.
  [[nodiscard]] Outcome accept(DoorConnection& connection);

 private:
  std::string path_;
  UninheritedDescriptor socket_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace batchcast::inline v0_1
