// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/verification.hpp"

#include <fmt/format.h>

#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace batchcast::cli {

void Ledger::add(const Batch& batch, std::uint64_t skipped) {
  if (!recipe_) {
    place(batch.position(), skipped);
    expected_ = batch.position() + batch.size();
    return;
  }
  const auto ids = batch.sample_ids();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto position = recipe_->position_of(batch.epoch(), ids[i]);
    if (!position) {
      ++torn_;
      continue;
    }
    place(*position, skipped);
    skipped = 0;
    expected_ = *position + 1;
    verify(batch, i, *position);
  }
}

void Ledger::place(std::uint64_t position, std::uint64_t skipped) noexcept {
  if (!expected_) return;
  const std::uint64_t expected = *expected_ + skipped;
  if (position > expected) missing_ += position - expected;
  if (position < expected) ++duplicated_;
}

void Ledger::verify(const Batch& batch, std::size_t index, std::uint64_t position) {
  bool right = true;
  for (const std::size_t field : {SyntheticRecipe::image_field, SyntheticRecipe::label_field}) {
    const auto bytes = batch.field<std::byte>(field)[index];
    right = right && recipe_->check(position, field, bytes);
    verified_bytes_ += bytes.size();
  }
  verified_bytes_ += sizeof(std::uint64_t);
  torn_ += right ? 0 : 1;
}

struct EpochDigest::State {
  XXH3_state_t xxh;
};

EpochDigest::EpochDigest(std::size_t fields) : fields_(new State[fields]), field_count_(fields) {
  for (std::size_t i = 0; i < fields; ++i) XXH3_128bits_reset(&fields_[i].xxh);
}
EpochDigest::~EpochDigest() = default;
EpochDigest::EpochDigest(EpochDigest&&) noexcept = default;
EpochDigest& EpochDigest::operator=(EpochDigest&&) noexcept = default;

void EpochDigest::add(const Batch& batch) {
  for (std::size_t i = 0; i < field_count_; ++i) {
    const auto view = batch.field<std::byte>(i);
    if (!view.padded()) {
      XXH3_128bits_update(&fields_[i].xxh, view.data(), view.span().size());
      continue;
    }
    for (std::size_t j = 0; j < view.size(); ++j) {
      XXH3_128bits_update(&fields_[i].xxh, view[j].data(), view[j].size());
    }
  }
  samples_ += batch.size();
}

std::string EpochDigest::finish() {
  std::vector<XXH128_canonical_t> digests(field_count_);
  for (std::size_t i = 0; i < field_count_; ++i) {
    XXH128_canonicalFromHash(&digests[i], XXH3_128bits_digest(&fields_[i].xxh));
    XXH3_128bits_reset(&fields_[i].xxh);
  }
  samples_ = 0;
  XXH128_canonical_t all;
  XXH128_canonicalFromHash(
      &all, XXH3_128bits(digests.data(), digests.size() * sizeof(XXH128_canonical_t)));
  std::string text;
  for (const unsigned char byte : all.digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace batchcast::cli
