// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/placement.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/printable.hpp>

#include <charconv>

namespace batchcast::inline v0_1 {
namespace detail::placement {

inline constexpr std::string_view cuda_prefix = "cuda:";
inline constexpr unsigned devices_max = 1024;

}  // namespace detail::placement

BATCHCAST_INLINE std::optional<Placement> Placement::parse(std::string_view text) noexcept {
  if (text == "host") return Placement();
  if (text == "cuda") return on_own_cuda();
  if (!text.starts_with(detail::placement::cuda_prefix)) return std::nullopt;
  const std::string_view number = text.substr(detail::placement::cuda_prefix.size());
  unsigned device = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), device);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  if (!whole || device >= detail::placement::devices_max) return std::nullopt;
  if (number.size() > 1 && number.front() == '0') return std::nullopt;  // one spelling each
  return on_cuda(device);
}

BATCHCAST_INLINE Placement::Placement(std::string_view words) {
  const auto parsed = parse(words);
  if (!parsed) {
    throw InvalidArgument(batchcast::text(
        "batchcast: `{}` is no placement. It is `host`, a GPU by its number (`cuda:0`), or "
        "`cuda`, the GPU of this process.",
        printable(words)));
  }
  *this = *parsed;
}

BATCHCAST_INLINE std::string Placement::text() const {
  if (is_own_cuda()) return "cuda";
  return is_host() ? "host" : batchcast::text("{}{}", detail::placement::cuda_prefix, device());
}

}  // namespace batchcast::inline v0_1
