// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// BATCHCAST_THREAD_SANITIZER is defined where ThreadSanitizer looks on: g++ says so by one macro,
// clang by another, and older ones of clang by that alone.
#if defined(__SANITIZE_THREAD__)
#define BATCHCAST_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BATCHCAST_THREAD_SANITIZER
#endif
#endif
