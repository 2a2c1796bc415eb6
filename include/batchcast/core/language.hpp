// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#if __cplusplus < 202002L
#error "batchcast needs C++20: compile with -std=c++20"
#endif
