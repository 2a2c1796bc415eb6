// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/hex.hpp>
#include <batchcast/core/json_member.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// A stream's identity: 16 bytes of a fingerprint, written as 32 hexadecimal digits. Two streams
// have the same identity only if they have the same sample at each position. Zeros, and the empty
// text, are no identity.
namespace batchcast::inline v0_1::detail {

using Identity = std::array<std::uint8_t, 16>;

[[nodiscard]] inline bool is_none(const Identity& identity) noexcept {
  return std::all_of(identity.begin(), identity.end(), [](std::uint8_t byte) { return byte == 0; });
}

[[nodiscard]] inline std::string text_of(const Identity& identity) {
  return is_none(identity) ? std::string() : to_hex(identity);
}

/// Zeros for a text that is no identity.
[[nodiscard]] inline Identity identity_from(std::string_view text) noexcept {
  Identity identity{};
  return from_hex(text, identity) ? identity : Identity{};
}

/// The identity that a pipeline writes into its recipe's JSON; empty where there is none.
[[nodiscard]] inline std::string identity_in(std::string_view recipe_json) {
  constexpr std::size_t digits = 2 * sizeof(Identity);
  const auto member = json_member(recipe_json, "identity");
  if (!member || member->end - member->value != digits + 2) return {};
  return text_of(identity_from(recipe_json.substr(member->value + 1, digits)));
}

}  // namespace batchcast::inline v0_1::detail
