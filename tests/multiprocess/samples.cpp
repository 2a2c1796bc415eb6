// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "samples.hpp"

#include <batchcast/consumer/host_copy.hpp>

#include <cstdlib>
#include <cstring>
#include <stdexcept>

namespace batchcast::testing {
namespace {

constexpr std::uint64_t step = 0x9E37'79B9'7F4A'7C15;

constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58'476D'1CE4'E5B9;
  x = (x ^ (x >> 27)) * 0x94D0'49BB'1331'11EB;
  return x ^ (x >> 31);
}

constexpr std::uint64_t base_of(std::uint64_t position, std::size_t field) noexcept {
  return mix(position * 1'000'003 + field * step + 1);
}

void write_sample(std::span<std::byte> to, std::uint64_t word) noexcept {
  std::size_t at = 0;
  for (; at + sizeof word <= to.size(); at += sizeof word, word += step) {
    std::memcpy(to.data() + at, &word, sizeof word);
  }
  std::memcpy(to.data() + at, &word, to.size() - at);
}

bool holds_sample(std::span<const std::byte> from, std::uint64_t word) noexcept {
  std::uint64_t differences = 0;
  std::size_t at = 0;
  for (; at + sizeof word <= from.size(); at += sizeof word, word += step) {
    std::uint64_t seen = 0;
    std::memcpy(&seen, from.data() + at, sizeof seen);
    differences |= seen ^ word;
  }
  return differences == 0 && std::memcmp(from.data() + at, &word, from.size() - at) == 0;
}

/// How many there are besides the ids.
std::size_t user_fields(const FieldTable& fields) noexcept { return fields.size() - 1; }

}  // namespace

Schema schema_of(const std::string& kind) {
  if (kind == "small") return {{"x", DType::f32, {4}}};
  Schema schema = {{"image", DType::u8, {3, 7, 11}},
                   {"label", DType::i64, {}},
                   {"box", DType::f32, {5}},
                   {"flag", DType::u16, {1}}};
  if (kind == "padded") schema[0].shape = {7, 11, 13};
  if (kind != "padded" && kind != "mixed") throw std::invalid_argument("no schema " + kind);
  return schema;
}

Placement test_placement() {
  const char* text = std::getenv("BATCHCAST_TEST_PLACEMENT");
  return text == nullptr ? Placement() : Placement(text);
}

std::uint64_t id_at(std::uint64_t position) noexcept { return mix(position + 77); }

namespace {

template <class F>
void for_each_sample(const Loan& loan, std::size_t fields, F write) {
  for (std::size_t f = 0; f < fields; ++f) {
    const auto view = loan.field<std::byte>(f);
    for (std::size_t i = 0; i < loan.size(); ++i) write(view[i], loan.position() + i, f);
  }
}

std::size_t field_count(const Loan& loan) {
  // A loan does not say how many fields it has; the ids are the last.
  std::size_t count = 0;
  const auto* ids = reinterpret_cast<const std::byte*>(loan.sample_ids().data());
  while (loan.field<std::byte>(count).data() != ids) ++count;
  return count;
}

}  // namespace

void fill(const Loan& loan) {
  for_each_sample(loan, field_count(loan),
                  [](std::span<std::byte> to, std::uint64_t position, std::size_t field) {
                    write_sample(to, base_of(position, field));
                  });
  const auto ids = loan.sample_ids();
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = id_at(loan.position() + i);
}

void scribble(const Loan& loan) {
  for_each_sample(loan, field_count(loan) + 1,
                  [](std::span<std::byte> to, std::uint64_t, std::size_t) {
                    std::memset(to.data(), 0xEE, to.size());
                  });
}

std::string fault_of(const Batch& batch) {
  if (!batch.placement().is_host()) return fault_of(detail::copy_to_host(batch));
  const auto ids = batch.sample_ids();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] != id_at(batch.position() + i)) {
      return "the id at position " + std::to_string(batch.position() + i) + " is another's";
    }
  }
  for (std::size_t f = 0; f < user_fields(batch.fields()); ++f) {
    const auto view = batch.field<std::byte>(f);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (!holds_sample(view[i], base_of(batch.position() + i, f))) {
        return "field " + batch.fields()[f].spec.name + " at position " +
               std::to_string(batch.position() + i) + " holds other bytes";
      }
    }
  }
  return {};
}

void Checker::see(const Batch& batch) {
  const std::uint64_t position = batch.position();
  if (started_ && (gap_ ? position < next_ : position != next_)) {
    complain("position " + std::to_string(position) + " came after " + std::to_string(next_));
  }
  if (started_ && (batch.epoch() < epoch_)) complain("the epochs went backwards");
  if (samples_per_epoch_ != 0) {
    if (position / samples_per_epoch_ != batch.epoch() ||
        (position + batch.size() - 1) / samples_per_epoch_ != batch.epoch()) {
      complain("the batch of " + std::to_string(batch.size()) + " at " + std::to_string(position) +
               " is not of epoch " + std::to_string(batch.epoch()));
    }
  }
  if (batch.size() == 0) complain("an empty batch");
  if (std::string fault = fault_of(batch); !fault.empty()) complain(fault);
  if (!started_) first_ = position;
  started_ = true;
  gap_ = false;
  next_ = position + batch.size();
  epoch_ = batch.epoch();
}

void Checker::complain(const std::string& text) {
  if (fault_.empty()) fault_ = text;
}

}  // namespace batchcast::testing
