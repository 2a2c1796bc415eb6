// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/data/synthetic.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

static_assert(std::endian::native == std::endian::little, "samples are little-endian in the ring");

namespace batchcast::inline v0_1 {
namespace {

// Words are made in groups of one cache line: loops of constant length, which every optimisation
// level vectorises.
constexpr std::size_t group_words = 8;
constexpr std::size_t group_bytes = group_words * sizeof(std::uint64_t);
constexpr std::size_t chunk_bytes = 2048;

using Group = std::array<std::uint64_t, group_words>;

struct WordStream {
  explicit WordStream(const SyntheticKey& key) noexcept {
    Draws draws(key, draw_stage::synthetic_bytes);
    counter = draws.next_u64();
    factor = draws.next_u64();
  }

  void next(Group& group) noexcept {
    for (std::uint64_t& word : group) {
      counter += detail::golden_ratio;
      word = detail::multiply_fold(counter, counter ^ factor);
    }
  }

  std::uint64_t counter;
  std::uint64_t factor;
};

// 1.m − 1 is exact, so that the result does not depend on how the subtraction is done.
float unit_from_mantissa(std::uint32_t mantissa23) noexcept {
  return std::bit_cast<float>(0x3f80'0000U | mantissa23) - 1.0F;
}

std::uint32_t to_f32(std::uint32_t bits) noexcept {
  return std::bit_cast<std::uint32_t>(unit_from_mantissa(bits >> 9));
}

std::uint64_t to_f64(std::uint64_t bits) noexcept {
  return std::bit_cast<std::uint64_t>(std::bit_cast<double>(0x3ff0'0000'0000'0000U | (bits >> 12)) -
                                      1.0);
}

// f16 holds eleven bits exactly and bf16 eight, and the least of them is a normal number there. So
// the conversion is a shift and a change of the exponent's bias. It takes two elements at a time in
// 32-bit lanes, which SSE2 can do.
std::uint32_t to_f16(std::uint32_t bits) noexcept {
  const auto one = [](std::uint32_t eleven_bits) {
    const auto wide = std::bit_cast<std::uint32_t>(unit_from_mantissa(eleven_bits << 12));
    const std::uint32_t rebiased = (wide >> 13) - (112U << 10);
    return rebiased & (0U - static_cast<std::uint32_t>(wide != 0));
  };
  return one(bits & 0x7ffU) | (one((bits >> 16) & 0x7ffU) << 16);
}

std::uint32_t to_bf16(std::uint32_t bits) noexcept {
  const auto one = [](std::uint32_t eight_bits) {
    return std::bit_cast<std::uint32_t>(unit_from_mantissa(eight_bits << 15));
  };
  return (one(bits & 0xffU) >> 16) | (one((bits >> 16) & 0xffU) & 0xffff'0000U);
}

template <class Element, class Convert>
void convert(Group& group, Convert to) noexcept {
  std::array<Element, group_bytes / sizeof(Element)> elements;
  std::memcpy(elements.data(), group.data(), group_bytes);
  for (Element& element : elements) element = to(element);
  std::memcpy(group.data(), elements.data(), group_bytes);
}

/// Calls `take(chunk, done)` for chunk after chunk, each of at most chunk_bytes, until `total`
/// bytes are made or it returns false.
template <class Convert, class Take>
bool make_chunks(WordStream words, std::size_t total, Convert convert_group, Take take) noexcept {
  alignas(64) std::array<std::byte, chunk_bytes> chunk;
  for (std::size_t done = 0; done < total; done += chunk_bytes) {
    const std::size_t size = std::min(chunk_bytes, total - done);
    for (std::size_t at = 0; at < size; at += group_bytes) {
      Group group;
      words.next(group);
      convert_group(group);
      std::memcpy(chunk.data() + at, group.data(), group_bytes);
    }
    if (!take(std::span<const std::byte>(chunk.data(), size), done)) return false;
  }
  return true;
}

template <class Take>
bool make(const SyntheticKey& key, DType dtype, std::size_t total, Take take) noexcept {
  const WordStream words(key);
  switch (dtype) {
    case DType::boolean:
      return make_chunks(
          words, total,
          [](Group& group) {
            for (std::uint64_t& word : group) word &= 0x0101'0101'0101'0101;
          },
          take);
    case DType::f16:
      return make_chunks(
          words, total, [](Group& group) { convert<std::uint32_t>(group, to_f16); }, take);
    case DType::bf16:
      return make_chunks(
          words, total, [](Group& group) { convert<std::uint32_t>(group, to_bf16); }, take);
    case DType::f32:
      return make_chunks(
          words, total, [](Group& group) { convert<std::uint32_t>(group, to_f32); }, take);
    case DType::f64:
      return make_chunks(
          words, total, [](Group& group) { convert<std::uint64_t>(group, to_f64); }, take);
    default:
      return make_chunks(
          words, total, [](Group&) {}, take);
  }
}

}  // namespace

void fill_synthetic(const SyntheticKey& key, DType dtype, std::span<std::byte> out) noexcept {
  make(key, dtype, out.size(), [out](std::span<const std::byte> chunk, std::size_t done) {
    std::memcpy(out.data() + done, chunk.data(), chunk.size());
    return true;
  });
}

bool check_synthetic(const SyntheticKey& key, DType dtype,
                     std::span<const std::byte> bytes) noexcept {
  return make(key, dtype, bytes.size(),
              [bytes](std::span<const std::byte> chunk, std::size_t done) {
                return std::memcmp(bytes.data() + done, chunk.data(), chunk.size()) == 0;
              });
}

std::int64_t synthetic_label(std::uint64_t seed, std::uint64_t sample_id) noexcept {
  Draws draws({seed, 0, sample_id}, draw_stage::synthetic_label);
  return static_cast<std::int64_t>(draws.below(std::uint64_t{synthetic_classes}));
}

}  // namespace batchcast::inline v0_1
