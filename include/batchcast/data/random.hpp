// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/assert.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// All randomness of a stream is counter-based. A draw is a pure function of seed, epoch, sample id,
// name of what draws, and number of the draw. Nothing here has state that threads or processes
// could share. It uses only integers and exact float operations, so every machine draws the same.
namespace batchcast::inline v0_1 {

namespace detail {
__extension__ typedef unsigned __int128 U128;

inline constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;

/// A bijection in which every input bit reaches every output bit (splitmix64's finaliser).
[[nodiscard]] constexpr std::uint64_t mix64(std::uint64_t z) noexcept {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

[[nodiscard]] constexpr std::uint64_t fold_key(std::uint64_t seed, std::uint64_t epoch) noexcept {
  return mix64(mix64(seed + golden_ratio) + epoch * golden_ratio);
}

/// Both halves of the 128-bit product, combined by xor.
[[nodiscard]] constexpr std::uint64_t multiply_fold(std::uint64_t a, std::uint64_t b) noexcept {
  const U128 product = static_cast<U128>(a) * b;
  return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
}

/// floor(x / 2^64 × n): `x` as a fraction, scaled to [0, n).
[[nodiscard]] constexpr std::uint64_t scale_down(std::uint64_t x, std::uint64_t n) noexcept {
  return static_cast<std::uint64_t>((static_cast<U128>(x) * n) >> 64);
}
}  // namespace detail

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011): for each key a bijection of the counter.
[[nodiscard]] constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) noexcept {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xd2511f53} * counter[0];
    const std::uint64_t product1 = std::uint64_t{0xcd9e8d57} * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += 0x9e3779b9;
    key[1] += 0xbb67ae85;
  }
  return counter;
}

/// Which sample in which epoch under which seed the randomness is for.
struct SampleKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sample_id = 0;

  friend bool operator==(const SampleKey&, const SampleKey&) = default;
};

/// What draws are for: the hash of a random stage's draw group, its path in the recipe and the view
/// of its field. Equal names draw the same.
struct DrawName {
  std::uint64_t hash = 0;

  /// The same stage's draws for another view; view 0 is the name itself.
  [[nodiscard]] constexpr DrawName in_view(std::uint32_t view) const noexcept {
    return {hash ^ detail::mix64(view)};
  }
  friend bool operator==(const DrawName&, const DrawName&) = default;
};

namespace detail {
/// Each byte goes through a bijection that depends on the bytes before it. The length is hashed
/// first, so that no text's hash is the beginning of another's.
[[nodiscard]] constexpr std::uint64_t hash_text(std::uint64_t before,
                                                std::string_view text) noexcept {
  std::uint64_t hash = mix64(before + golden_ratio * (text.size() + 1));
  for (const char c : text) hash = mix64((hash ^ static_cast<unsigned char>(c)) + golden_ratio);
  return hash;
}
}  // namespace detail

/// The name for view 0.
[[nodiscard]] constexpr DrawName draw_name(std::string_view group, std::string_view path) noexcept {
  return {detail::hash_text(detail::hash_text(0, group), path)};
}

/// Numbers that name draws which no stage of a recipe makes. Renumbering changes streams.
namespace draw_stage {
inline constexpr std::uint32_t synthetic_bytes = 0xffff'ff01;
inline constexpr std::uint32_t synthetic_label = 0xffff'ff02;
}  // namespace draw_stage

/// The draws of one stage for one sample, in order. A value: copies continue independently, and a
/// new object starts over. Seed, epoch and name make Philox's 64-bit key. Sample id and the number
/// of the draw are its counter, unhashed, so no two samples share a block.
class Draws {
 public:
  Draws(const SampleKey& key, DrawName name) noexcept
      : Draws(detail::fold_key(detail::fold_key(key.seed, key.epoch), name.hash), key.sample_id,
              0) {}
  /// For draws of no stage: `number` is a draw_stage.
  Draws(const SampleKey& key, std::uint32_t number) noexcept
      : Draws(detail::fold_key(key.seed, key.epoch), key.sample_id, number) {}

  [[nodiscard]] std::uint32_t next_u32() noexcept {
    if (used_ == block_.size()) {
      block_ = philox4x32({next_block_++, number_, static_cast<std::uint32_t>(sample_id_),
                           static_cast<std::uint32_t>(sample_id_ >> 32)},
                          key_);
      used_ = 0;
    }
    return block_[used_++];
  }

  [[nodiscard]] std::uint64_t next_u64() noexcept {
    const std::uint64_t low = next_u32();
    return low | (std::uint64_t{next_u32()} << 32);
  }

  /// Uniform in [0, n), without bias (Lemire's method). n must not be 0.
  [[nodiscard]] std::uint64_t below(std::uint64_t n) noexcept {
    BATCHCAST_ASSERT(n != 0);
    return n <= 0xffff'ffff ? below_u32(static_cast<std::uint32_t>(n)) : below_u64(n);
  }

  /// Uniform in [0, 1): a multiple of 2^-24, exact.
  [[nodiscard]] float unit_f32() noexcept { return static_cast<float>(next_u32() >> 8) * 0x1p-24F; }

  /// Uniform in [0, 1): a multiple of 2^-53, exact.
  [[nodiscard]] double unit_f64() noexcept {
    return static_cast<double>(next_u64() >> 11) * 0x1p-53;
  }

 private:
  Draws(std::uint64_t key, std::uint64_t sample_id, std::uint32_t number) noexcept
      : sample_id_(sample_id),
        key_{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)},
        number_(number) {}

  // Some results would come once too often. They are those of products whose low half is below
  // 2^bits mod n.
  [[nodiscard]] std::uint32_t below_u32(std::uint32_t n) noexcept {
    std::uint64_t product = std::uint64_t{next_u32()} * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t threshold = (0U - n) % n;
      while (static_cast<std::uint32_t>(product) < threshold) {
        product = std::uint64_t{next_u32()} * n;
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

  [[nodiscard]] std::uint64_t below_u64(std::uint64_t n) noexcept {
    detail::U128 product = static_cast<detail::U128>(next_u64()) * n;
    if (static_cast<std::uint64_t>(product) < n) {
      const std::uint64_t threshold = (std::uint64_t{0} - n) % n;
      while (static_cast<std::uint64_t>(product) < threshold) {
        product = static_cast<detail::U128>(next_u64()) * n;
      }
    }
    return static_cast<std::uint64_t>(product >> 64);
  }

  std::uint64_t sample_id_;
  PhiloxKey key_;
  std::uint32_t number_;
  std::uint32_t next_block_ = 0;
  PhiloxCounter block_{};
  std::size_t used_ = 4;
};

}  // namespace batchcast::inline v0_1
