// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/fingerprint_builder.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstdio>
#include <memory>

namespace batchcast::inline v0_1 {

std::string Fingerprint::to_hex() const {
  std::array<char, 33> text;
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(high),
                static_cast<unsigned long long>(low));
  return text.data();
}

Fingerprint fingerprint_of(std::string_view bytes) noexcept {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.high64, hash.low64};
}

namespace detail {

struct FingerprintBuilder::State {
  XXH3_state_t hash;
};

FingerprintBuilder::FingerprintBuilder() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->hash);
}
FingerprintBuilder::~FingerprintBuilder() = default;

void FingerprintBuilder::add(std::string_view text) noexcept {
  add(std::uint64_t{text.size()});
  XXH3_128bits_update(&state_->hash, text.data(), text.size());
}

void FingerprintBuilder::add(std::uint64_t number) noexcept {
  XXH3_128bits_update(&state_->hash, &number, sizeof number);
}

Fingerprint FingerprintBuilder::finish() const noexcept {
  const XXH128_hash_t hash = XXH3_128bits_digest(&state_->hash);
  return {hash.high64, hash.low64};
}

}  // namespace detail
}  // namespace batchcast::inline v0_1
