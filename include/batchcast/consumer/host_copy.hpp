// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>

namespace batchcast::inline v0_1::detail {

/// The same samples in separate host memory, for code that looks at them byte by byte. From any
/// thread. Throws GpuError.
[[nodiscard]] Batch copy_to_host(const Batch& batch);

}  // namespace batchcast::inline v0_1::detail
