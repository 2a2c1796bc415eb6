// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/message.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

// The producer's end of the door's messages (batchcast/join/message.hpp): it writes its own, and
// reads those of consumers.
namespace batchcast::inline v0_1 {

[[nodiscard]] std::string encode(const Welcome& welcome);
[[nodiscard]] std::string encode(const Refusal& refusal);
[[nodiscard]] std::string encode(const Rejoined& rejoined);
[[nodiscard]] std::string encode(const BatchCount& count);
[[nodiscard]] std::string encode(const Farewell& farewell);
[[nodiscard]] std::string encode(const Forming& forming);

/// Decodes a hello. The refusal of another layout version names both; the refusal of a malformed
/// hello says what is wrong.
[[nodiscard]] std::variant<Hello, Refusal> decode_hello(std::string_view datagram,
                                                        std::uint32_t our_layout_version);
/// Decodes a message of an admitted consumer.
[[nodiscard]] ConsumerMessage decode_from_consumer(std::string_view datagram);

[[nodiscard]] std::string_view name_of(RefusalKind) noexcept;
[[nodiscard]] std::string_view name_of(SegmentKind) noexcept;

}  // namespace batchcast::inline v0_1
