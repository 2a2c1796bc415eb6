// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Where a ring's samples lie: in host memory, or on a GPU. GPUs have this process's numbers (those
/// that CUDA_VISIBLE_DEVICES gives). Written "host" and "cuda:0". A consumer may also say "cuda":
/// the GPU of its process.
class Placement {
 public:
  constexpr Placement() noexcept = default;
  /// Throws InvalidArgument for any other text.
  Placement(std::string_view text);  // NOLINT: `.placement = "cuda:0"` is how it is written
  Placement(const char* text) : Placement(std::string_view(text)) {}
  Placement(const std::string& text) : Placement(std::string_view(text)) {}

  [[nodiscard]] static constexpr Placement on_cuda(unsigned device) noexcept {
    Placement placement;
    placement.device_ = static_cast<int>(device);
    return placement;
  }
  /// "cuda": the GPU that is current on the thread that attaches, else the one of LOCAL_RANK, else
  /// the first. `Consumer::placement` then says its number.
  [[nodiscard]] static constexpr Placement on_own_cuda() noexcept {
    Placement placement;
    placement.device_ = own_device;
    return placement;
  }
  [[nodiscard]] static std::optional<Placement> parse(std::string_view text) noexcept;

  [[nodiscard]] constexpr bool is_host() const noexcept { return device_ == host; }
  /// A GPU whose number is not known yet.
  [[nodiscard]] constexpr bool is_own_cuda() const noexcept { return device_ == own_device; }
  /// Number of the GPU; has no meaning for the host and where `is_own_cuda`.
  [[nodiscard]] constexpr unsigned device() const noexcept {
    return static_cast<unsigned>(device_);
  }
  [[nodiscard]] std::string text() const;

  friend constexpr bool operator==(const Placement&, const Placement&) noexcept = default;

 private:
  static constexpr int host = -1;
  static constexpr int own_device = -2;

  int device_ = host;
};

}  // namespace batchcast::inline v0_1
