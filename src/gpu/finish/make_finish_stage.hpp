// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/pipeline/device_split.hpp"

#include <batchcast/device_stage.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The device stage that finishes images. See FinishOnGpu.
class FinishStage final : public DeviceStage {
 public:
  struct Parts {
    std::vector<FieldFinish> finishes;  ///< by field
    Schema host;                        ///< what the host's pipeline makes
    Schema whole;                       ///< and the whole recipe's
    std::string whole_recipe_json;
    std::string whole_identity;
    std::uint64_t seed = 0;
  };
  explicit FinishStage(Parts parts) : parts_(std::make_shared<const Parts>(std::move(parts))) {}

  [[nodiscard]] DevicePlan plan(const Schema& host) const override;
  [[nodiscard]] std::string recipe_json(const std::string& host_recipe_json) const override;
  [[nodiscard]] std::string identity(const std::string& host_identity) const override;
  [[nodiscard]] bool pure() const noexcept override { return true; }
  [[nodiscard]] std::unique_ptr<DeviceProgram> prepare(const Schema& host,
                                                       std::uint64_t samples_max,
                                                       std::size_t runs_max) const override;

 private:
  std::shared_ptr<const Parts> parts_;
};

}  // namespace batchcast::inline v0_1::detail
