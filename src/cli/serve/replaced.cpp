// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/serve/replaced.hpp"

#include "cli/output.hpp"

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/stream_lock.hpp>
#include "start/given_up.hpp"
#include "stream/lock_holder.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <thread>

namespace batchcast::cli {
namespace {

constexpr int goes_within_ms = 5'000;
constexpr int look_every_ms = 5;

FileDescriptor pidfd_of(std::int32_t pid) {
  return FileDescriptor(pid <= 0 ? -1 : static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
}

bool is_killed(const FileDescriptor& process) {
  return ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0U) == 0;
}

/// Else it would start the producer that is killed next again. Its lock is the next keeper's.
void end_keeper(const std::string& stream, const std::string& lock) {
  const auto pid = holder_of_lock(lock);
  if (!pid || *pid == ::getppid()) return;
  const FileDescriptor keeper = pidfd_of(*pid);
  // By now the number may be another process's. The lock says that its holder lives still.
  const auto again = holder_of_lock(lock);
  if (!again) return;
  if (!keeper || again != pid || !is_killed(keeper)) {
    throw StreamTaken(
        text("batchcast: the producer of stream `{}` is not replaced: its keeper (`serve "
             "--keep-alive`) cannot be ended from here, and would start it again. End both with "
             "`batchcast stop {}`.",
             stream, stream));
  }
  say(text("process {}, which kept stream `{}` alive, is killed and replaced\n", *pid, stream));
  for (const detail::Deadline deadline(goes_within_ms);
       holder_of_lock(lock) == pid && !deadline.over();) {
    std::this_thread::sleep_for(std::chrono::milliseconds(look_every_ms));
  }
}

}  // namespace

void check_replacement(const std::string& stream, const StreamPaths& paths,
                       const std::string& identity) {
  if (!look_at_lock(paths.lock).held) return;  // nothing is killed: the life file is dropped
  const std::optional<detail::Life> life = detail::life_waited_for(paths.directory);
  if (!life || life->identity == identity) return;
  std::string names;
  for (const detail::LifeMember& member : life->members) {
    if (!member.gone) names += text("{}`{}`", names.empty() ? "" : ", ", member.name);
  }
  throw StreamTaken(
      text("batchcast: the producer of stream `{}` is not replaced: it has other data or another "
           "recipe (identity {}, and this one {}), so its trainers ({}) would fail. End it with "
           "`batchcast stop {}`, or serve this under another name.",
           stream, life->identity, identity.empty() ? "none" : identity, names, stream));
}

void replace_producer(const std::string& stream, const StreamPaths& paths) {
  const std::string base = std::filesystem::path(paths.directory).parent_path().string();
  end_keeper(stream, keeper_path(base, stream));
  const LockState lock = look_at_lock(paths.lock);
  if (!lock.held) return;
  const FileDescriptor producer = pidfd_of(lock.pid);
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
  if (!is_killed(producer)) {
    throw StreamTaken(
        text("batchcast: process {}, which serves stream `{}`, may not be killed by "
             "this user.",
             lock.pid, stream));
  }
  say(text("process {}, which served stream `{}`, is killed and replaced\n", lock.pid, stream));
  for (const detail::Deadline deadline(goes_within_ms);;) {
    const LockState now = look_at_lock(paths.lock);
    if (!now.held || now.pid != lock.pid) return;  // the next one may be of another `--replace`
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
