// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/resolve.hpp"

#include <cstddef>
#include <memory>
#include <span>

namespace batchcast::inline v0_1::detail {

/// What a stage of tensors derives from that also works on pixels, where it stands before `to`.
class HasPixelForm {
 public:
  HasPixelForm() = default;
  HasPixelForm(const HasPixelForm&) = delete;
  HasPixelForm& operator=(const HasPixelForm&) = delete;
  virtual ~HasPixelForm() = default;
  /// A PixelStage with the same name and parameters; always the same one.
  [[nodiscard]] virtual std::shared_ptr<const Stage> pixel_form() const = 0;
};

/// Null where the stage has none.
[[nodiscard]] inline std::shared_ptr<const Stage> pixel_form_of(const Stage& stage) {
  const auto* has = dynamic_cast<const HasPixelForm*>(&stage);
  return has == nullptr ? nullptr : has->pixel_form();
}

/// Of stage `at` of an image's stages, where it works on pixels: one after it does, or is `to`.
[[nodiscard]] inline std::shared_ptr<const Stage> pixel_form_of(std::span<const NamedStage> stages,
                                                                std::size_t at) {
  for (const NamedStage& later : stages.subspan(at + 1)) {
    if (works_on_pixels(*later.stage) || later.stage->as_to() != nullptr) {
      return pixel_form_of(*stages[at].stage);
    }
  }
  return nullptr;
}

}  // namespace batchcast::inline v0_1::detail
