// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "failing_calls.hpp"

#include <batchcast/core/sanitizer.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>

#if defined(__SANITIZE_ADDRESS__) || defined(BATCHCAST_THREAD_SANITIZER)
#define CALLS_CANNOT_FAIL
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define CALLS_CANNOT_FAIL
#endif
#endif

namespace batchcast::testing {
namespace {

enum class Call : int { none, memfd_create, fallocate, mmap, rename };

std::atomic<Call> failing{Call::none};
std::atomic<std::int64_t> calls_left{0};
std::atomic<std::int64_t> times{1};
std::atomic<int> error_of_call{0};
std::array<char, 256> while_file{};  ///< complete before `failing`

Call call_named(const std::string& name) noexcept {
  if (name == "memfd_create") return Call::memfd_create;
  if (name == "fallocate") return Call::fallocate;
  if (name == "rename") return Call::rename;
  return name == "mmap" ? Call::mmap : Call::none;
}

}  // namespace

void begin_failing(const Words& words) noexcept {
  calls_left = words.number("fails_at");
  times = words.number("fails_times", 1);
  error_of_call = static_cast<int>(words.number("fails_with"));
  words.text("fails_while").copy(while_file.data(), while_file.size() - 1);
  failing = call_named(words.text("fails"));
}

bool has_failed() noexcept { return calls_left.load() <= 0; }

bool can_fail() noexcept {
#ifdef CALLS_CANNOT_FAIL
  return false;
#else
  return true;
#endif
}

namespace {

/// Whether this call is the one. Sets errno then.
[[maybe_unused]] bool fails(Call call) noexcept {
  if (failing.load() != call) return false;
  if (while_file[0] != '\0' && ::access(while_file.data(), F_OK) != 0) return false;
  const std::int64_t left = calls_left.fetch_sub(1);
  if (left > 1 || left <= 1 - times.load()) return false;
  errno = error_of_call.load();
  return true;
}

}  // namespace
}  // namespace batchcast::testing

#ifndef CALLS_CANNOT_FAIL

extern "C" {

int memfd_create(const char* name, unsigned flags) noexcept {
  if (batchcast::testing::fails(batchcast::testing::Call::memfd_create)) return -1;
  return static_cast<int>(::syscall(SYS_memfd_create, name, flags));
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
  if (batchcast::testing::fails(batchcast::testing::Call::fallocate)) return -1;
  return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, length));
}

void* mmap(void* at, std::size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  if (fd >= 0 && batchcast::testing::fails(batchcast::testing::Call::mmap)) return MAP_FAILED;
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, length, protection, flags, fd, offset));
}

int rename(const char* from, const char* to) noexcept {
  const bool is_life = std::string_view(to).ends_with("/life");
  if (is_life && batchcast::testing::fails(batchcast::testing::Call::rename)) return -1;
  return static_cast<int>(::syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

}  // extern "C"

#endif
