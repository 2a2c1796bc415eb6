// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// A compiler continues after #error; including a header that does not exist ends the compilation.
#if __cplusplus < 202002L
#error "batchcast needs C++20: compile with -std=c++20"
#include <batchcast/core/nothing behind the error above is compiled>
#elif !defined(__cpp_exceptions)
#error "batchcast needs exceptions: compile without -fno-exceptions"
#include <batchcast/core/nothing behind the error above is compiled>
#endif
