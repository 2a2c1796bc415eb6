// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/stage/policy_space.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// The operations of timm's policies, with timm's strengths and PIL's bytes.
namespace batchcast::inline v0_1::detail {

/// What a level means for operations that timm has in several forms.
enum class TimmScale : std::uint8_t {
  plain,       ///< as TensorFlow's code: posterize and solarize weaken with the level
  increasing,  ///< all grow stronger with the level
  original,    ///< posterize keeps 4 to 8 bits, as in the paper on AutoAugment
};

/// An operation at a level, which is 10 where it is as strong as timm makes it by default.
struct TimmOperation {
  Operation operation = Operation::identity;
  double level = 0;
  bool negates = false;  ///< of what is_signed()
  TimmScale scale = TimmScale::increasing;
  double translation = 0.45;                    ///< share of the side at level 10
  std::optional<double> radius = std::nullopt;  ///< of a blur; else the level gives it
};

/// Whether the operation may also go the other way.
[[nodiscard]] bool is_signed(const TimmOperation& what) noexcept;

[[nodiscard]] std::size_t timm_scratch_bytes(ImageSize size, std::int32_t channels) noexcept;
/// Works in place. `scratch` is aligned, of at least timm_scratch_bytes().
void apply_timm_operation(const ImageView& image, const TimmOperation& what,
                          const WarpOptions& options, std::span<std::byte> scratch);

/// An operation and how often it is chosen, against others.
struct TimmChoice {
  Operation operation = Operation::identity;
  double weight = 1;
};
/// What timm_rand_augment chooses from.
enum class TimmChoices : std::uint8_t { all, weights, three, three_weighted };
inline constexpr std::array<std::string_view, 4> timm_choice_names = {"all", "weights", "3a",
                                                                      "3aw"};
[[nodiscard]] std::span<const TimmChoice> timm_choices(TimmChoices which) noexcept;
/// Whether choices have weights. Then none of them is chosen twice.
[[nodiscard]] constexpr bool is_weighted(TimmChoices which) noexcept {
  return which == TimmChoices::weights || which == TimmChoices::three_weighted;
}

enum class TimmPolicy : std::uint8_t { original, originalr, v0, v0r, three };
inline constexpr std::array<std::string_view, 5> timm_policy_names = {"original", "originalr", "v0",
                                                                      "v0r", "3a"};
/// An operation with its probability and its level.
struct TimmStep {
  TimmOperation operation;
  double p = 1;
};
[[nodiscard]] std::size_t timm_policy_size(TimmPolicy policy) noexcept;
[[nodiscard]] std::size_t timm_steps(TimmPolicy policy) noexcept;
/// Step `step` of entry `entry` of the policy.
[[nodiscard]] TimmStep timm_step(TimmPolicy policy, std::size_t entry, std::size_t step) noexcept;

}  // namespace batchcast::inline v0_1::detail
