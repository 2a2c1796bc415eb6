// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>

namespace batchcast::inline v0_1::detail {

/// A source has encoded images, and no recipe says what becomes of them.
class RecipeNeeded : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

}  // namespace batchcast::inline v0_1::detail
