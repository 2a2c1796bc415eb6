// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "child.hpp"

#include <batchcast/ring/fork_guard.hpp>

#include <sys/mman.h>

using batchcast::ForkGuard;
using batchcast::testing::in_child;
using batchcast::testing::without_system_call;

TEST_CASE("a forked child knows that it is one, and its parent that it is not") {
  const ForkGuard guard;
  CHECK_FALSE(guard.in_child());
  CHECK(in_child([&] { return guard.in_child() ? 0 : 1; }).exited_with(0));
  CHECK_FALSE(guard.in_child());
}

TEST_CASE("a guard made in a child is the child's, and not its grandchild's") {
  const auto end = in_child([] {
    const ForkGuard guard;
    if (guard.in_child()) return 1;
    return in_child([&] { return guard.in_child() ? 0 : 1; }).exited_with(0) ? 0 : 2;
  });
  CHECK(end.exited_with(0));
}

TEST_CASE("where no page can be wiped, the process id tells") {
  const auto end = in_child([] {
    if (!without_system_call(SYS_madvise, EINVAL, 2, MADV_WIPEONFORK)) return 1;
    const ForkGuard guard;
    if (guard.in_child()) return 2;
    return in_child([&] { return guard.in_child() ? 0 : 1; }).exited_with(0) ? 0 : 3;
  });
  CHECK(end.exited_with(0));
}
