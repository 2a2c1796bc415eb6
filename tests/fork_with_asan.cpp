// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// AddressSanitizer's allocator and list of threads have locks. A thread that starts, ends or
// allocates holds one for a moment; a child forked in that moment has it locked for ever, and hangs
// in its first allocation. The runtime of g++ takes these locks around fork() from version 14 on,
// as LLVM's does from 18 on. Here the tests do it for older ones: the functions exist in the static
// runtime alone.
#include <pthread.h>

#include <cstdlib>

namespace __lsan {
void LockThreadRegistry();
void UnlockThreadRegistry();
void LockAllocator();
void UnlockAllocator();
}  // namespace __lsan
namespace __sanitizer {
void StackDepotLockAll();
void StackDepotUnlockAll();
}  // namespace __sanitizer

namespace {

void before_fork() {
  __lsan::LockThreadRegistry();
  __lsan::LockAllocator();
  __sanitizer::StackDepotLockAll();
}

void after_fork() {
  __sanitizer::StackDepotUnlockAll();
  __lsan::UnlockAllocator();
  __lsan::UnlockThreadRegistry();
}

// Before all other handlers, so that theirs may allocate: the first one registered locks last.
[[gnu::constructor(101)]] void take_locks_around_fork() {
  if (::pthread_atfork(before_fork, after_fork, after_fork) != 0) std::abort();
}

}  // namespace
