// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/doctor/doctor.hpp"

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/text.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

// The calls that a stream is made of, each made once: a kernel may have them and a sandbox refuse
// them.
namespace batchcast::cli {
namespace {

constexpr int so_peerpidfd = 77;
constexpr long futex_waitv_number = 449;
#ifndef F_SEAL_FUTURE_WRITE
constexpr int F_SEAL_FUTURE_WRITE = 0x0010;
#endif

std::string reason() { return std::strerror(errno); }

/// Empty where it works.
std::string sealing_fails() {
  const FileDescriptor memory(::memfd_create("batchcast-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return text("memfd_create: {}", reason());
  constexpr int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (::fcntl(memory.get(), F_ADD_SEALS, seals) != 0) return text("F_ADD_SEALS: {}", reason());
  return {};
}

std::string pidfd_fails() {
  const FileDescriptor self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0U)));
  return self ? "" : text("pidfd_open: {}", reason());
}

/// Nothing to wait for is a wrong argument where the call exists.
std::string waitv_fails() {
  const long result = ::syscall(futex_waitv_number, nullptr, 0, 0, nullptr, CLOCK_MONOTONIC);
  return result < 0 && errno == EINVAL ? "" : text("futex_waitv: {}", reason());
}

std::string peer_pidfd_fails() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return reason();
  const FileDescriptor first(ends[0]), second(ends[1]);
  int peer = -1;
  socklen_t bytes = sizeof peer;
  if (::getsockopt(first.get(), SOL_SOCKET, so_peerpidfd, &peer, &bytes) != 0) {
    return text("SO_PEERPIDFD: {}", reason());
  }
  const FileDescriptor taken(peer);
  return {};
}

std::string close_range_fails() {
  const long result = ::syscall(SYS_close_range, UINT_MAX, UINT_MAX, 0U);
  return result == 0 ? "" : text("close_range: {}", reason());
}

Finding about(const std::string& subject, const std::string& failure, const std::string& if_so,
              const std::string& if_not) {
  Finding finding;
  finding.subject = subject;
  finding.mark = failure.empty() ? Mark::ok : Mark::note;
  finding.value = failure.empty() ? "yes" : text("no ({})", failure);
  finding.meaning = failure.empty() ? if_so : if_not;
  return finding;
}

Finding needed(Finding finding) {
  if (finding.mark == Mark::ok) return finding;
  finding.mark = Mark::problem;
  finding.stops_streams = true;
  return finding;
}

}  // namespace

void examine_kernel(Findings& findings) {
  utsname names{};
  ::uname(&names);
  findings.add(
      {Mark::ok, "kernel",
       text("{} {} {}", names.sysname, static_cast<const char*>(names.release),
            static_cast<const char*>(names.machine)),
       "Linux 5.4 is the oldest that can be used; what it has and is allowed to follows."});
  findings.add(
      needed(about("sealed memory", sealing_fails(),
                   "Only the producer can write or shrink the ring that trainers map.",
                   "No stream can be served or joined: rings are sealed memfds (Linux 5.1; "
                   "a sandbox may forbid them).")));
  findings.add(needed(about("process descriptors", pidfd_fails(),
                            "A killed producer or trainer is noticed at once.",
                            "No stream can be served or joined: no death would be noticed "
                            "(Linux 5.4; a sandbox may forbid it).")));
  findings.add(
      about("futex_waitv", waitv_fails(), "A trainer that waits for samples is woken at once.",
            "A trainer that waits for samples also looks every 10 ms: it may get a batch "
            "that much later (Linux 5.16, and a container runtime that allows the call)."));
  findings.add(about("peer descriptors", peer_pidfd_fails(),
                     "The kernel itself says which process has joined.",
                     "A trainer hands over a descriptor of its process, which is checked: "
                     "nothing is lost (Linux 6.5 does it itself)."));
  findings.add(about("close_range", close_range_fails(),
                     "The control channel has a private table of file descriptors.",
                     "A producer that runs out of file descriptors may be ended by the control "
                     "channel: keep `ulimit -n` high (Linux 5.9)."));
}

}  // namespace batchcast::cli
