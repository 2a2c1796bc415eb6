// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include "control/own_descriptors.hpp"

#include <cerrno>
#include <cstddef>
#include <string>

namespace batchcast::inline v0_1 {

// What a ZeroMQ context with one thread for input and output takes when its first socket is made.
// It takes that thread and the one that ends sockets, and memory for them. Its descriptors include
// those of two sockets and their first connections.
inline constexpr unsigned zmq_threads = 2;
inline constexpr std::size_t zmq_bytes = std::size_t{16} << 20;
inline constexpr unsigned zmq_descriptors = 16;

/// Call it right before the first socket of a context is made. ZeroMQ aborts the process where it
/// cannot start its threads, or open its descriptors. This throws SystemError instead.
inline void check_zmq_can_start() {
  rehearse_threads(zmq_threads, zmq_bytes, "ZeroMQ");
  if (has_free_descriptors(zmq_descriptors)) return;
  throw SystemError(
      text("batchcast: ZeroMQ, which carries commands, takes {} open files, and this process may "
           "not open that many more. Raise the limit (`ulimit -n`), or close files",
           zmq_descriptors),
      errno);
}

}  // namespace batchcast::inline v0_1
