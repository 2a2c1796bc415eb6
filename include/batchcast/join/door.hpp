// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The door: a SOCK_SEQPACKET socket at which consumers join and over which file descriptors travel.
namespace batchcast::inline v0_1 {

struct DoorMessage {
  std::string text;
  std::vector<FileDescriptor> descriptors;  ///< CLOEXEC
  /// The sender sent more descriptors than were asked for, or this process had none free.
  bool descriptors_lost = false;
};

enum class DoorRead {
  message,
  timed_out,
  closed,     ///< the other side left, and all that it sent has been read
  oversized,  ///< a datagram above the limit of its direction; its descriptors are closed again
};

enum class DoorSend {
  sent,
  timed_out,  ///< the other side does not read
  closed,     ///< the other side left; what it sent before can still be received
};

/// One end of a connection. Move-only; one thread at a time. Never blocks longer than its
/// time-outs.
class DoorConnection {
 public:
  DoorConnection() noexcept = default;
  /// `receives_max` limits the bytes of a datagram from the other side; at most and by default it
  /// is the limit of the producer's records. More is not even copied.
  explicit DoorConnection(FileDescriptor socket,
                          std::size_t receives_max = limits::producer_record_bytes_max) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(socket_); }
  [[nodiscard]] int native_handle() const noexcept { return socket_.get(); }

  /// Sends one datagram. `descriptors` are borrowed: the other side gets duplicates. Throws
  /// InvalidArgument above limits::producer_record_bytes_max or above what the kernel takes (253
  /// descriptors), SystemError.
  [[nodiscard]] DoorSend send(std::string_view text, std::span<const int> descriptors = {},
                              int timeout_ms = 0);
  /// Receives one datagram with at most `descriptors_max` descriptors; a negative time-out waits
  /// for ever. Throws SystemError.
  [[nodiscard]] DoorRead receive(DoorMessage& message, std::size_t descriptors_max,
                                 int timeout_ms = 0);
  /// Sends, then receives the answer. It also receives an answer of a peer that left before it read
  /// anything (a refusal at the door).
  [[nodiscard]] DoorRead ask(std::string_view text, std::span<const int> descriptors,
                             DoorMessage& answer, std::size_t descriptors_max, int timeout_ms);

  /// Whether the other side closed its end. What it sent before can still be received.
  [[nodiscard]] bool is_left() const noexcept;
  /// Bytes sent that the other side has not received, as the kernel counts its memory.
  [[nodiscard]] std::size_t unread_bytes() const noexcept;

  /// Ends the connection for the other side at once, even while a forked child holds the socket.
  void shutdown() noexcept;
  /// Gives up the socket: for a forked child, which may only close it.
  [[nodiscard]] FileDescriptor release() noexcept { return std::move(socket_); }

 private:
  FileDescriptor socket_;
  std::size_t receives_max_ = limits::producer_record_bytes_max;
};

enum class DoorAnswer {
  open,      ///< connected
  absent,    ///< nothing there
  unserved,  ///< a socket whose producer is gone
  crowded,   ///< too many connections wait there: none accepted within the time-out
  denied,    ///< no permission for the path
};

struct DoorAttempt {
  DoorAnswer answer = DoorAnswer::absent;
  DoorConnection connection;  ///< for `open`
};

/// Throws InvalidArgument for a path above limits::socket_path_bytes_max, SystemError.
[[nodiscard]] DoorAttempt connect_door(const std::string& path, int timeout_ms = 1'000);

/// Where a peer's pidfd comes from. `from_hello` is for tests of what older kernels need.
enum class PidfdSource { kernel_if_it_can, from_hello };

/// The process at the other end of a connection, as the kernel says.
struct PeerIdentity {
  std::uint32_t uid = 0;
  std::int32_t pid = 0;  ///< 0 where it is not visible from our pid namespace
  FileDescriptor pidfd;  ///< readable once the peer is dead; empty where the kernel cannot say
};

/// Throws SystemError. `pidfd` is empty on kernels before 6.5: then use `adopt_pidfd`.
[[nodiscard]] PeerIdentity peer_identity(const DoorConnection& connection,
                                         PidfdSource source = PidfdSource::kernel_if_it_can);

/// Takes the descriptor that came with the peer's hello as its pidfd. Returns what is wrong unless
/// it is a pidfd, and of the peer's process where its pid is visible.
[[nodiscard]] std::optional<std::string> adopt_pidfd(PeerIdentity& peer, FileDescriptor offered);

/// A pidfd of this process. Throws SystemError (Linux before 5.3).
[[nodiscard]] FileDescriptor own_pidfd();
/// Whether that process has ended; a zombie has.
[[nodiscard]] bool is_dead(const FileDescriptor& pidfd) noexcept;

}  // namespace batchcast::inline v0_1
