// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/compared_field.hpp"

#include <cstddef>
#include <map>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Numbers the stages that draw alike in two fields and place pixels by the image's size.
class SharedCuts {
 public:
  /// The fields must outlive it.
  explicit SharedCuts(std::vector<ResolvedField>& fields)
      : fields_(fields), numbers_(fields.size()) {}

  /// Those of fields `first` and `second`; empty where they share none, or are made from the same
  /// pixels.
  [[nodiscard]] std::vector<SharedCut> between(std::size_t first, std::size_t second,
                                               const ComparedField& a, const ComparedField& b);
  /// Writes the numbers into the fields' stages. Call it last.
  void write();

 private:
  /// Of the stage at that place among all stages of the field.
  std::int32_t number_of(std::size_t field, std::size_t stage);

  std::vector<ResolvedField>& fields_;
  std::vector<std::map<std::size_t, std::int32_t>> numbers_;
};

}  // namespace batchcast::inline v0_1::detail
