// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace batchcast::cli {

/// The words with which this process was started.
[[nodiscard]] std::vector<std::string> own_words();
/// Without that flag, also where it has a value, as in `--keep-alive=true`.
[[nodiscard]] std::vector<std::string> without_flag(std::vector<std::string> words,
                                                    std::string_view flag);

}  // namespace batchcast::cli
