// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/row_place.hpp>
#include <batchcast/join/message.hpp>
#include "producer/served_rings.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::detail {

/// Where a ring is, for messages; empty for one in host memory.
[[nodiscard]] std::string on_device(const ServedRing& ring);

/// What a hello asks for that a stream's rings cannot give: each refusal says what would. Belongs
/// to the door's thread.
class HelloChecks {
 public:
  /// Both must outlive it.
  HelloChecks(const std::string& stream, ServedRings& rings) noexcept
      : stream_(stream), rings_(rings) {}

  [[nodiscard]] Refusal not_served_at(const std::string& placement) const;
  [[nodiscard]] std::optional<Refusal> refusal_of(const Hello& hello, ServedRing& ring) const;
  [[nodiscard]] std::optional<Refusal> refusal_of_row(RowPlace cursor, const std::string& axis,
                                                      ServedRing& ring) const;

 private:
  [[nodiscard]] Refusal too_large(std::uint64_t batch_size, const ServedRing& ring) const;
  [[nodiscard]] std::optional<Refusal> refusal_of_window(const Hello& hello,
                                                         ServedRing& ring) const;
  [[nodiscard]] std::optional<Refusal> refusal_of_budget(const Hello& hello,
                                                         ServedRing& ring) const;
  [[nodiscard]] std::optional<Refusal> refusal_of_other_recipe(const Hello& hello,
                                                               ServedRing& ring) const;
  [[nodiscard]] std::string stream_text() const;

  const std::string& stream_;
  ServedRings& rings_;
};

}  // namespace batchcast::inline v0_1::detail
