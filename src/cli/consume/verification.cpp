// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/consume/verification.hpp"

#include <fmt/format.h>

#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace batchcast::cli {
namespace {

/// With all rows of the sample at `index` of the batch.
std::uint64_t bytes_of_sample(const Batch& batch, std::size_t index) {
  const FieldTable& fields = batch.fields();
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const bool has_rows = fields[i].axis >= 0;
    bytes += has_rows ? batch.rows<std::byte>(i)[index].span().size() : fields[i].sample_bytes;
  }
  return bytes;
}

}  // namespace

void Ledger::add(const Batch& batch, std::uint64_t skipped, const Batch& held) {
  if (again_) verify(batch, skipped, held);
  if (group_.world != 0) {
    if (batch.padding() != 0) return;  // an epoch's last, which may begin with what others have
    const std::uint64_t begin = batch.position() - group_.rank * batch.size();
    place(begin, skipped);
    expected_ = begin + group_.world * batch.size();
  } else if (!again_) {
    place(batch.position(), skipped);
    expected_ = batch.position() + batch.size();
  }
}

void Ledger::verify(const Batch& batch, std::uint64_t skipped, const Batch& held) {
  const std::size_t samples = batch.size() - batch.padding();
  again_->begin(batch, samples);
  verdicts_.clear();
  bytes_.clear();
  for (std::size_t i = 0; i < samples; ++i) {
    verdicts_.push_back(again_->verify(batch, i));
    bytes_.push_back(bytes_of_sample(batch, i));
  }
  held.check();
  for (std::size_t i = 0; i < samples; ++i) {
    const Recomputation::Verdict& verdict = verdicts_[i];
    if (!verdict.position) {
      ++torn_;
      continue;
    }
    bool right = verdict.right;
    if (group_.world != 0) {
      right = right && *verdict.position == batch.position() + i;
    } else {
      place(*verdict.position, skipped);
      skipped = 0;
      expected_ = *verdict.position + 1;
    }
    verified_bytes_ += bytes_[i];
    torn_ += right ? 0 : 1;
  }
}

void Ledger::place(std::uint64_t position, std::uint64_t skipped) noexcept {
  if (!expected_) return;
  const std::uint64_t expected = *expected_ + skipped;
  if (position > expected) missing_ += position - expected;
  if (position < expected) ++duplicated_;
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
    if (batch.fields()[i].axis >= 0) {
      const auto rows = batch.rows<std::byte>(i);
      for (std::size_t j = 0; j < rows.size(); ++j) {  // the same for any batches
        const std::uint64_t count = rows[j].size();
        add(i, std::as_bytes(std::span(&count, 1)));
        add(i, rows[j].span());
      }
      continue;
    }
    const auto view = batch.field<std::byte>(i);
    if (!view.padded()) {
      add(i, view.span());
      continue;
    }
    for (std::size_t j = 0; j < view.size(); ++j) add(i, view[j]);
  }
  add_samples(batch.size());
}

void EpochDigest::add(std::size_t field, std::span<const std::byte> bytes) noexcept {
  XXH3_128bits_update(&fields_[field].xxh, bytes.data(), bytes.size());
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
