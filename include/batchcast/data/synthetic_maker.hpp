// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/data/maker.hpp>
#include <batchcast/data/order.hpp>
#include <batchcast/data/synthetic.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace batchcast::inline v0_1 {

/// Makes the samples of a synthetic recipe.
class SyntheticMaker final : public SampleMaker {
 public:
  /// Throws InvalidArgument as SyntheticRecipe::check does.
  explicit SyntheticMaker(SyntheticRecipe recipe);

  [[nodiscard]] const Schema& schema() const noexcept override { return schema_; }
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept override {
    return recipe_.samples_per_epoch;
  }
  [[nodiscard]] std::string recipe_json() const override { return recipe_.to_json(); }
  [[nodiscard]] Fingerprint identity() const override { return recipe_.identity(); }
  [[nodiscard]] std::uint64_t sample_id_at(std::uint64_t epoch,
                                           std::uint64_t index) const noexcept override {
    return order_.sample_id_at(epoch, index);
  }
  [[nodiscard]] std::unique_ptr<SampleWorker> worker() const override;
  [[nodiscard]] bool know_ids(std::uint64_t epoch, std::uint64_t index,
                              std::span<std::uint64_t> ids) const override;
  [[nodiscard]] const SyntheticRecipe& recipe() const noexcept { return recipe_; }

 private:
  SyntheticRecipe recipe_;
  Schema schema_;
  Order order_;
};

}  // namespace batchcast::inline v0_1
