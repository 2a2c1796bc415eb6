// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <spng.h>

#include <memory>

namespace batchcast::inline v0_1::detail {

struct FreePngContext {
  void operator()(spng_ctx* context) const noexcept { spng_ctx_free(context); }
};
using PngContext = std::unique_ptr<spng_ctx, FreePngContext>;

}  // namespace batchcast::inline v0_1::detail
