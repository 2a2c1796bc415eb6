// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>

#include <cstddef>
#include <utility>

namespace batchcast::inline v0_1::python {

/// One field of a batch, which it keeps.
class Field {
 public:
  Field(const Batch& batch, std::size_t index) : batch_(batch.share()), index_(index) {}

  [[nodiscard]] const Batch& batch() const noexcept { return batch_; }
  [[nodiscard]] std::size_t index() const noexcept { return index_; }
  [[nodiscard]] const FieldInfo& info() const noexcept { return batch_.fields()[index_]; }

 private:
  Batch batch_;
  std::size_t index_;
};

}  // namespace batchcast::inline v0_1::python
