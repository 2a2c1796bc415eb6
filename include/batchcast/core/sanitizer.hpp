// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// BATCHCAST_THREAD_SANITIZER is defined in builds with ThreadSanitizer. g++ and newer versions of
// clang define a macro for it; older versions of clang only have __has_feature.
#if defined(__SANITIZE_THREAD__)
#define BATCHCAST_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BATCHCAST_THREAD_SANITIZER
#endif
#endif
