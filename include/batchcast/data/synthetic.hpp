// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/dtype.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/data/fingerprint.hpp>
#include <batchcast/data/order.hpp>
#include <batchcast/data/random.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The synthetic source. Its samples' bytes are a pure function of seed, epoch and sample id, so
// that a consumer can check every byte from the recipe. They are the same on every machine and at
// every SIMD level. All functions here are pure and may be called from any thread.
namespace batchcast::inline v0_1 {

using SyntheticKey = SampleKey;

inline constexpr std::int64_t synthetic_classes = 1000;

/// Fills `out` with elements of `dtype`: random bits for integers, 0 or 1 for bool, values uniform
/// in [0, 1) for floats. These are multiples of 2^-8 for bf16, 2^-11 for f16, 2^-23 for f32, 2^-52
/// for f64. A shorter `out` gets a prefix of what a longer one gets; `out` needs no alignment.
void fill_synthetic(const SyntheticKey& key, DType dtype, std::span<std::byte> out) noexcept;

/// Whether `bytes` are what fill_synthetic would write there. Allocates nothing.
[[nodiscard]] bool check_synthetic(const SyntheticKey& key, DType dtype,
                                   std::span<const std::byte> bytes) noexcept;

/// A class in [0, synthetic_classes). The same in every epoch, as a real dataset's labels are.
[[nodiscard]] std::int64_t synthetic_label(std::uint64_t seed, std::uint64_t sample_id) noexcept;

/// Everything that determines a synthetic stream. Its fields are, in this order: `image` (dtype and
/// shape as here), `label` (i64 scalar), and `sample_id` (u64 scalar), which every stream has.
struct SyntheticRecipe {
  std::vector<std::int64_t> shape;
  DType dtype = DType::f32;
  std::uint64_t samples_per_epoch = 50'000;
  std::uint64_t seed = 0;
  OrderMode order = OrderMode::reshuffle;
  std::optional<std::uint64_t> epochs;  ///< endless without

  static constexpr std::size_t image_field = 0;
  static constexpr std::size_t label_field = 1;
  static constexpr std::size_t sample_id_field = 2;

  /// Reads a source such as `synthetic:3x224x224`, which gives the shape; the rest keeps its
  /// defaults. Throws InvalidArgument with what is wrong and what to write instead.
  [[nodiscard]] static SyntheticRecipe parse(std::string_view source);

  /// Reads what to_json wrote. Throws InvalidArgument for anything else: another source, a newer
  /// version, a missing, unknown or impossible value.
  [[nodiscard]] static SyntheticRecipe from_json(std::string_view json);

  /// One line, the same text for equal recipes.
  [[nodiscard]] std::string to_json() const;

  /// The identity of the bytes; the number of epochs is no part of them.
  [[nodiscard]] Fingerprint identity() const;

  /// Throws InvalidArgument, which names the first impossible value.
  void check() const;

  /// `image` and `label`; the producer adds `sample_id` itself.
  [[nodiscard]] Schema schema() const;

  // The functions below need a recipe that passes check().

  [[nodiscard]] std::uint64_t sample_id_at(std::uint64_t position) const;

  /// The sample's position in the stream; nothing if the dataset has no such sample (a torn id).
  [[nodiscard]] std::optional<std::uint64_t> position_of(std::uint64_t epoch,
                                                         std::uint64_t sample_id) const;

  /// Writes one field of the sample at `position`. Throws InvalidArgument where there is no such
  /// field, or where `out` does not have exactly its size.
  void fill(std::uint64_t position, std::size_t field, std::span<std::byte> out) const;

  /// Whether `bytes` are exactly that field of the sample at `position`. A wrong size is false.
  [[nodiscard]] bool check(std::uint64_t position, std::size_t field,
                           std::span<const std::byte> bytes) const;

  /// Bytes of one sample's field; throws InvalidArgument where there is no such field.
  [[nodiscard]] std::size_t byte_count(std::size_t field) const;

  friend bool operator==(const SyntheticRecipe&, const SyntheticRecipe&) = default;
};

}  // namespace batchcast::inline v0_1
