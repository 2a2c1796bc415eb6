// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>

// Every limit of the project, with the reason for its value. No limit is silent: a request that
// exceeds one is refused with a message that names it.
namespace batchcast::inline v0_1::limits {

// Fields and axes of one stream together, `sample_id` included. The welcome carries one file
// descriptor for each, besides board, desk and pidfd. The kernel takes 253 in one message
// (SCM_MAX_FD).
inline constexpr std::size_t fields_max = 64;
inline constexpr std::size_t dimensions_max = 8;

inline constexpr std::size_t consumers_default = 64;
inline constexpr std::size_t consumers_max = 1024;

// Stream and consumer names are file names and board entries.
inline constexpr std::size_t stream_name_bytes_max = 48;
inline constexpr std::size_t consumer_name_bytes_max = 63;
inline constexpr std::size_t field_name_bytes_max = 63;

// sun_path holds 108 bytes with its terminator.
inline constexpr std::size_t socket_path_bytes_max = 107;

// Epochs whose ends the board remembers at one time. A full table holds the producer back. So a
// ring may span two fewer: one epoch is being written, and one was just left.
inline constexpr std::uint64_t epochs_on_board = 4096;

// Positions stay below 2^63, so that adding a capacity to one cannot overflow.
inline constexpr std::uint64_t position_max = std::uint64_t{1} << 63;

// Positions that a consumer may ask for, unless the ring holds them already, stay below 2^62. A
// stream that jumps there still has 2^62 positions before its last. The rest of its epoch, later
// epochs and the ring's length, counted from there, do not come near 2^63.
inline constexpr std::uint64_t cursor_limit = std::uint64_t{1} << 62;

// One message of the control socket, and how deep its JSON may be nested.
inline constexpr std::size_t message_bytes_max = 64 * 1024;
inline constexpr std::size_t message_depth_max = 16;

// One datagram of the door, in either direction: a hello and a welcome with room to grow.
inline constexpr std::size_t consumer_record_bytes_max = 1024;
inline constexpr std::size_t producer_record_bytes_max = 16 * 1024;

// Connections that have not sent a hello yet. For each further one the producer closes the oldest.
inline constexpr std::size_t silent_connections_max = 64;
inline constexpr int hello_timeout_ms = 2'000;

// The longest stall time-out: about three weeks, so that sums in nanoseconds fit into 64 bits.
inline constexpr std::uint64_t stall_timeout_ms_max = 2'000'000'000;

// The longest time-out of the command: about three weeks, which in milliseconds fits into an int.
inline constexpr double waiting_seconds_max = 2e6;

// A sleeping consumer or producer looks again at least this often. A lost wake-up, or the death of
// the other side, costs no more time than that.
inline constexpr int sleep_ms_max = 100;

// Texts on the board (the producer's reason for stopping or failing).
inline constexpr std::size_t state_text_bytes_max = 2048;

// Fields of all consumers of one process whose misuse is explained (ring/fault_message.hpp).
inline constexpr std::size_t fault_ranges_max = 512;

}  // namespace batchcast::inline v0_1::limits
