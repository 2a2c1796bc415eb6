// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/stage/parameter_table.hpp"
#include "data/stage/policy_space.hpp"
#include "data/stage/warp_options.hpp"

#include <optional>
#include <span>
#include <vector>

namespace batchcast::inline v0_1::detail {

inline constexpr Whole operation_counts{1, 32};

/// A stage that draws which operations change an image, and how strongly.
class PolicyStage : public PixelStage {
 public:
  [[nodiscard]] bool moves_pixels() const noexcept final { return true; }
  [[nodiscard]] std::int32_t output_channels(std::int32_t channels) const override {
    check_fill(name(), fill_, channels);
    return channels;
  }
  [[nodiscard]] std::size_t scratch_bytes(ImageSize size, std::int32_t channels) const override {
    return operation_scratch_bytes(size, channels);
  }

 protected:
  static void warp_rows(auto& self, auto& table) {
    table("interpolation", self.interpolation_, Choice{warp_interpolation_names});
    table("fill", self.fill_, LevelsOf());
  }
  [[nodiscard]] WarpOptions warps() const noexcept { return warp_options(interpolation_, fill_); }
  /// Returns 0 for operations that have no strength.
  static double draw_sign(Operation operation, std::optional<double> magnitude, Draws& draws) {
    if (!magnitude) return 0;
    return is_signed(operation) && draws.unit_f64() < 0.5 ? -*magnitude : *magnitude;
  }
  void apply(const ImageView& image, Operation operation, double magnitude,
             std::span<std::byte> scratch, StageContext& context) const {
    context.note("operation", name_of(operation));
    context.note("magnitude", magnitude);
    apply_operation(image, operation, magnitude, warps(), scratch);
  }

  // For pixels between pixels, and beyond the edge, where an operation moves them.
  Interpolation interpolation_ = Interpolation::nearest;
  std::vector<std::uint8_t> fill_ = {0};
};

}  // namespace batchcast::inline v0_1::detail
