// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <span>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The classes that a text file names, one a line, in its order. Blank lines do not count.
/// `folders` are those that there are, sorted. Throws BadDataset where the file cannot be read. It
/// does so, naming the line, where a line names none of them, or one that stands above.
[[nodiscard]] std::vector<std::string> read_class_list(const std::string& path,
                                                       std::span<const std::string> folders);

}  // namespace batchcast::inline v0_1::detail
