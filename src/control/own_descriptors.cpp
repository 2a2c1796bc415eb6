// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "control/own_descriptors.hpp"

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/sanitizer.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace batchcast::inline v0_1 {
namespace {

#ifdef BATCHCAST_THREAD_SANITIZER
constexpr bool one_table_only = true;  // TSan follows descriptors by number, process-wide
#else
constexpr bool one_table_only = false;
#endif

bool close_range_of(unsigned first, unsigned last, unsigned flags) noexcept {
  return first > last || ::syscall(SYS_close_range, first, last, flags) == 0;
}

}  // namespace

bool take_own_descriptors(int keep) noexcept {
  constexpr unsigned close_range_unshare = 2;
  if (one_table_only || keep <= STDERR_FILENO) return false;
  const auto kept = static_cast<unsigned>(keep);
  // The last descriptors are closed first: unsharing then copies only the others. Once unshared,
  // the table is private, even if the rest fails.
  if (!close_range_of(kept + 1, UINT_MAX, close_range_unshare)) return false;
  static_cast<void>(close_range_of(STDERR_FILENO + 1, kept - 1, 0));
  // The program's standard streams must end when it closes them. Their numbers stay taken, also
  // where the program had closed them before.
  const FileDescriptor null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  if (null) {
    ::dup2(null.get(), STDIN_FILENO);
    ::dup2(null.get(), STDOUT_FILENO);
    if (::fcntl(STDERR_FILENO, F_GETFD) < 0) ::dup2(null.get(), STDERR_FILENO);
  }
  return true;
}

bool has_free_descriptors(unsigned count) noexcept {
  if (count == 0) return true;
  const FileDescriptor one(::eventfd(0, EFD_CLOEXEC));
  return one && has_free_descriptors(count - 1);
}

}  // namespace batchcast::inline v0_1
