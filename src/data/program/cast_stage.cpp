// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/half.hpp"
#include "data/program/tensor_program.hpp"

#include <batchcast/core/assert.hpp>

#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

struct F16 {
  std::uint16_t bits;
};
struct Bf16 {
  std::uint16_t bits;
};

template <class T>
auto value_of(T element) noexcept {
  if constexpr (std::is_same_v<T, F16>) {
    return f32_from_f16(element.bits);
  } else if constexpr (std::is_same_v<T, Bf16>) {
    return f32_from_bf16(element.bits);
  } else {
    return element;
  }
}

template <class To, class From>
To integer_from(From value) noexcept {
  constexpr auto low = std::numeric_limits<To>::lowest();
  constexpr auto high = std::numeric_limits<To>::max();
  if constexpr (std::is_floating_point_v<From>) {
    if (!(value == value)) return 0;
    if (value <= static_cast<From>(low)) return low;
    // `high` may have been rounded up, as From, to a power of two, which does not fit.
    if (value >= static_cast<From>(high)) return high;
    return static_cast<To>(value);
  } else {
    if (std::cmp_less(value, low)) return low;
    if (std::cmp_greater(value, high)) return high;
    return static_cast<To>(value);
  }
}

template <class To, class From>
To convert(From value) noexcept {
  if constexpr (std::is_same_v<To, F16>) {
    return {f16_from_f32(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, Bf16>) {
    return {bf16_from_f32(static_cast<float>(value))};
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else if constexpr (std::is_same_v<From, bool>) {
    return static_cast<To>(value ? 1 : 0);
  } else {
    return integer_from<To>(value);
  }
}

// Neither side need be aligned: a slot may lie at any byte.
template <class From, class To>
void convert_all(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  const std::size_t count = in.size() / sizeof(From);
  for (std::size_t i = 0; i < count; ++i) {
    From element;
    if constexpr (std::is_same_v<From, bool>) {
      element = in[i] != std::byte{0};
    } else {
      std::memcpy(&element, in.data() + i * sizeof(From), sizeof element);
    }
    const To made = convert<To>(value_of(element));
    std::memcpy(out.data() + i * sizeof(To), &made, sizeof made);
  }
}

using Converter = void (*)(std::span<const std::byte>, std::span<std::byte>) noexcept;

template <class Visit>
auto with_element(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::u8:
      return visit(std::uint8_t{});
    case DType::i8:
      return visit(std::int8_t{});
    case DType::i16:
      return visit(std::int16_t{});
    case DType::i32:
      return visit(std::int32_t{});
    case DType::i64:
      return visit(std::int64_t{});
    case DType::u16:
      return visit(std::uint16_t{});
    case DType::u32:
      return visit(std::uint32_t{});
    case DType::u64:
      return visit(std::uint64_t{});
    case DType::f16:
      return visit(F16{});
    case DType::bf16:
      return visit(Bf16{});
    case DType::f32:
      return visit(float{});
    case DType::f64:
      return visit(double{});
    case DType::boolean:
      return visit(bool{});
  }
  BATCHCAST_ASSERT(false);
}

Converter converter(DType from, DType to) {
  return with_element(from, [to](auto source) {
    return with_element(to, [](auto target) -> Converter {
      return &convert_all<decltype(source), decltype(target)>;
    });
  });
}

class CastStage final : public TensorStage {
 public:
  CastStage(DType from, DType to) : to_(to), convert_(converter(from, to)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "to"; }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] std::string parameters_json() const override { return "{}"; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override { return {to_, in.shape}; }
  void run(std::span<const std::byte> in, std::span<std::byte> out,
           StageContext& /*context*/) const override {
    convert_(in, out);
  }

 private:
  DType to_;
  Converter convert_;
};

}  // namespace

std::shared_ptr<const TensorStage> cast_stage(DType from, DType to) {
  return std::make_shared<CastStage>(from, to);
}

}  // namespace batchcast::inline v0_1::detail
