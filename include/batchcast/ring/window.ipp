// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/window.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/core/sanitizer.hpp>

#include <cstring>

namespace batchcast::inline v0_1 {
namespace detail::window {

#if defined(BATCHCAST_THREAD_SANITIZER)
// The one intended race of the project: the claim reveals a torn copy, which is dropped. Sanitizers
// intercept memcpy, so the bytes are moved by hand here.
inline __attribute__((no_sanitize("thread"))) void copy_bytes(std::byte* to, const std::byte* from,
                                                              std::uint64_t bytes) noexcept {
  const auto* source = reinterpret_cast<const volatile unsigned char*>(from);
  auto* target = reinterpret_cast<volatile unsigned char*>(to);
  for (std::uint64_t i = 0; i < bytes; ++i) target[i] = source[i];
}
#else
inline void copy_bytes(std::byte* to, const std::byte* from, std::uint64_t bytes) noexcept {
  std::memcpy(to, from, bytes);
}
#endif

}  // namespace detail::window

BATCHCAST_INLINE void copy_from_ring(std::byte* to, const FieldWindow& window,
                                     std::uint64_t position, std::uint64_t samples) noexcept {
  const std::byte* from = window.at(position);
  if (window.stride_bytes == window.sample_bytes) {
    detail::window::copy_bytes(to, from, samples * window.sample_bytes);
    return;
  }
  for (std::uint64_t i = 0; i < samples; ++i) {
    detail::window::copy_bytes(to + i * window.sample_bytes, from + i * window.stride_bytes,
                               window.sample_bytes);
  }
}

}  // namespace batchcast::inline v0_1
