// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/layout_version.hpp>
#include <batchcast/join/message.hpp>

#include "fuzz.hpp"
#include "join/producer_messages.hpp"

// What is said at the door, by either side: what is understood is encoded and understood again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  using batchcast::layout_version;
  const auto hello = batchcast::decode_hello(text, layout_version);
  if (const auto* said = std::get_if<batchcast::Hello>(&hello)) {
    const auto again = batchcast::decode_hello(batchcast::encode(*said), layout_version);
    BATCHCAST_ASSERT(std::holds_alternative<batchcast::Hello>(again));
  } else {
    const std::string answer = batchcast::encode(std::get<batchcast::Refusal>(hello));
    BATCHCAST_ASSERT(
        std::holds_alternative<batchcast::Refusal>(batchcast::decode_from_producer(answer)));
  }
  const auto again_is_same_kind = [&](const auto& message, auto decode) {
    std::visit(
        [&](const auto& said) {
          using Said = std::decay_t<decltype(said)>;
          if constexpr (!std::is_same_v<Said, batchcast::BadMessage>) {
            BATCHCAST_ASSERT(std::holds_alternative<Said>(decode(batchcast::encode(said))));
          }
        },
        message);
  };
  again_is_same_kind(batchcast::decode_from_consumer(text), batchcast::decode_from_consumer);
  again_is_same_kind(batchcast::decode_from_producer(text), batchcast::decode_from_producer);
  return 0;
}
