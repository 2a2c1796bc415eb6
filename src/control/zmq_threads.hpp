// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/named_thread.hpp>

#include <cstddef>

namespace batchcast::inline v0_1 {

// What a ZeroMQ context with one thread for input and output takes when its first socket is made:
// that thread and the one that ends sockets, and memory for them.
inline constexpr unsigned zmq_threads = 2;
inline constexpr std::size_t zmq_bytes = std::size_t{16} << 20;

/// To be called right before the first socket of a context is made: ZeroMQ aborts the process where
/// it cannot start its threads. Throws SystemError instead.
inline void check_zmq_can_start() { rehearse_threads(zmq_threads, zmq_bytes, "ZeroMQ"); }

}  // namespace batchcast::inline v0_1
