// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// What a small gzip file in memory holds. Throws Error for bytes that are none, or are cut short.
[[nodiscard]] std::string gunzip(std::string_view packed);

}  // namespace batchcast::inline v0_1::detail
