// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/fingerprint.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// A fingerprint of texts and numbers, each with its length, so that no two sequences are alike.
class FingerprintBuilder {
 public:
  FingerprintBuilder();
  ~FingerprintBuilder();
  FingerprintBuilder(const FingerprintBuilder&) = delete;
  FingerprintBuilder& operator=(const FingerprintBuilder&) = delete;

  void add(std::string_view text) noexcept;
  void add(std::uint64_t number) noexcept;
  [[nodiscard]] Fingerprint finish() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace batchcast::inline v0_1::detail
