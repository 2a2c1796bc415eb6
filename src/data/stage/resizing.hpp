// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/stage/parameter_table.hpp"

#include <cstdint>
#include <optional>

namespace batchcast::inline v0_1::detail {

/// The parameters of all stages that resize.
struct Resizing {
  std::optional<Interpolation> interpolation;
  std::int32_t pillow = 12;  ///< the release of Pillow whose pixels these are

  static void rows(auto& self, auto& table) {
    table("interpolation", self.interpolation, Choice{interpolation_names});
    // Recipes that are older than the parameter keep their identity.
    table("pillow", self.pillow, Either{12, 13, "12, for every release before 13, or 13"},
          {.printed = self.pillow != 12});
  }
  void apply(Geometry& geometry, ImageSize size) const noexcept {
    geometry.resize(size);
    geometry.interpolation = interpolation.value_or(geometry.interpolation);
    geometry.as_pillow_13 = pillow == 13;
  }
};

/// A stage that resizes, perhaps besides other things.
template <class Self>
class ResizingStage : public TableStage<Self, GeometryStage> {
 public:
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.resizes = true}; }
  [[nodiscard]] std::optional<Interpolation> interpolation() const noexcept final {
    return resizing_.interpolation;
  }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return std::nullopt;
  }

 protected:
  Resizing resizing_;
};

}  // namespace batchcast::inline v0_1::detail
