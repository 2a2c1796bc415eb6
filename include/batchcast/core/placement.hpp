// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Where a ring's samples lie: in host memory, or on a GPU by this process's numbering (the one
/// that CUDA_VISIBLE_DEVICES gives). Written "host" and "cuda:0".
class Placement {
 public:
  constexpr Placement() noexcept = default;
  /// Throws InvalidArgument for a text that is none.
  Placement(std::string_view text);  // NOLINT: `.placement = "cuda:0"` is how it is written
  Placement(const char* text) : Placement(std::string_view(text)) {}
  Placement(const std::string& text) : Placement(std::string_view(text)) {}

  [[nodiscard]] static constexpr Placement on_cuda(unsigned device) noexcept {
    Placement placement;
    placement.device_ = static_cast<int>(device);
    return placement;
  }
  [[nodiscard]] static std::optional<Placement> parse(std::string_view text) noexcept;

  [[nodiscard]] constexpr bool is_host() const noexcept { return device_ < 0; }
  /// Number of the GPU; meaningless for the host.
  [[nodiscard]] constexpr unsigned device() const noexcept {
    return static_cast<unsigned>(device_);
  }
  [[nodiscard]] std::string text() const;

  friend constexpr bool operator==(const Placement&, const Placement&) noexcept = default;

 private:
  int device_ = -1;
};

}  // namespace batchcast::inline v0_1
