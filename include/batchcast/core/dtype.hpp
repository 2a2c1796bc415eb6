// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace batchcast::inline v0_1 {

/// Element types of a field. The values are part of the layout: append, never renumber.
enum class DType : std::uint8_t {
  u8 = 0,
  i8 = 1,
  i16 = 2,
  i32 = 3,
  i64 = 4,
  u16 = 5,
  u32 = 6,
  u64 = 7,
  f16 = 8,
  bf16 = 9,
  f32 = 10,
  f64 = 11,
  boolean = 12,
};

inline constexpr std::array<std::string_view, 13> dtype_names = {
    "u8", "i8", "i16", "i32", "i64", "u16", "u32", "u64", "f16", "bf16", "f32", "f64", "bool"};

inline constexpr std::array<std::size_t, 13> dtype_sizes = {1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 1};

[[nodiscard]] constexpr std::size_t size_of(DType dtype) noexcept {
  return dtype_sizes[static_cast<std::size_t>(dtype)];
}

[[nodiscard]] constexpr std::string_view name_of(DType dtype) noexcept {
  return dtype_names[static_cast<std::size_t>(dtype)];
}

[[nodiscard]] constexpr std::optional<DType> parse_dtype(std::string_view name) noexcept {
  for (std::size_t i = 0; i < dtype_names.size(); ++i) {
    if (dtype_names[i] == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

/// True where elements of `dtype` may be looked at as T. There is no C++ type for f16 and bf16 yet:
/// std::uint16_t shows their bits. As std::byte every type may be looked at.
template <class T>
[[nodiscard]] constexpr bool is_viewed_as(DType dtype) noexcept {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, std::byte>) {
    return true;
  } else if constexpr (std::is_same_v<U, bool>) {
    return dtype == DType::boolean;
  } else if constexpr (std::is_same_v<U, float>) {
    return dtype == DType::f32;
  } else if constexpr (std::is_same_v<U, double>) {
    return dtype == DType::f64;
  } else if constexpr (std::is_integral_v<U> && std::is_signed_v<U>) {
    return sizeof(U) == size_of(dtype) && (dtype == DType::i8 || dtype == DType::i16 ||
                                           dtype == DType::i32 || dtype == DType::i64);
  } else if constexpr (std::is_integral_v<U>) {
    return sizeof(U) == size_of(dtype) &&
           (dtype == DType::u8 || dtype == DType::u16 || dtype == DType::u32 ||
            dtype == DType::u64 || dtype == DType::f16 || dtype == DType::bf16);
  } else {
    return false;
  }
}

}  // namespace batchcast::inline v0_1
