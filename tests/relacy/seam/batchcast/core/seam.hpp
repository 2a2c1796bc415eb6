// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <source_location>
#include <thread>

// In the driver of Relacy this file stands in place of the library's: fences are Relacy's.
namespace batchcast::inline v0_1 {

template <class T>
using SharedWord = std::atomic<T>;
using Mutex = std::mutex;
using ThreadId = std::thread::id;

namespace ordered {
void acquire_fence(std::source_location where = std::source_location::current()) noexcept;
void release_fence(std::source_location where = std::source_location::current()) noexcept;
}  // namespace ordered
}  // namespace batchcast::inline v0_1
