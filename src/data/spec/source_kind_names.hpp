// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// All kinds that may stand before the colon, with `synthetic`, which is made and not opened.
[[nodiscard]] std::vector<std::string> source_kind_names();

/// `imagefolder:DIR, webdataset:…`: how each kind but `synthetic` is written, and then how those
/// with samples of any length are.
[[nodiscard]] std::string source_examples();

}  // namespace batchcast::inline v0_1::detail
