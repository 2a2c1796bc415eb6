// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "process.hpp"

// The system calls that make and map shared memory, in this program's place of libc's: one of them
// fails where a role asks for it.
namespace batchcast::testing {

/// From here on counts the calls of `fails`: memfd_create, fallocate, mmap of a file, or rename to
/// a life file. The one of number `fails_at`, from 1, fails with the error `fails_with`, and so do
/// as many as `fails_times` says, with `fails_while` only while that file exists. Without the word
/// `fails` none does.
void begin_failing(const Words& words) noexcept;
/// Whether it has come to that call.
[[nodiscard]] bool has_failed() noexcept;
/// False under sanitizers, which have these functions themselves.
[[nodiscard]] bool can_fail() noexcept;

}  // namespace batchcast::testing
