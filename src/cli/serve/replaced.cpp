// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/serve/replaced.hpp"

#include "cli/output.hpp"

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/stream_lock.hpp>

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace batchcast::cli {
namespace {

constexpr int goes_within_ms = 5'000;
constexpr int look_every_ms = 5;

}  // namespace

void replace_producer(const std::string& stream, const StreamPaths& paths) {
  const LockState lock = look_at_lock(paths.lock);
  if (!lock.held) return;
  const FileDescriptor producer(
      lock.pid == 0 ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, lock.pid, 0U)));
  // By now the number may be another process's. The lock says that its holder lives still.
  const LockState again = look_at_lock(paths.lock);
  if (!again.held) return;
  if (!producer || again.pid != lock.pid) {
    throw StreamTaken(
        text("batchcast: the producer of stream `{}` cannot be seen from here, so it is not "
             "replaced: it runs in another container, or belongs to another user. End it there, or "
             "with `batchcast stop {}`.",
             stream, stream));
  }
  if (::syscall(SYS_pidfd_send_signal, producer.get(), SIGKILL, nullptr, 0U) != 0) {
    throw StreamTaken(
        text("batchcast: process {}, which serves stream `{}`, may not be killed by "
             "this user.",
             lock.pid, stream));
  }
  say(text("process {}, which served stream `{}`, is killed and replaced\n", lock.pid, stream));
  for (const detail::Deadline deadline(goes_within_ms); look_at_lock(paths.lock).held;) {
    if (deadline.over()) {
      throw StreamTaken(
          text("batchcast: process {} was killed, and still holds {}: a child that it "
               "forked may live on. `fuser {}` shows which.",
               lock.pid, paths.lock, paths.lock));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(look_every_ms));
  }
}

}  // namespace batchcast::cli
