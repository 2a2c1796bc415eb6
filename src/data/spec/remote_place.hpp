// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string_view>

namespace batchcast::inline v0_1::detail {

/// Throws InvalidArgument, saying what to do instead, where one of `places`, a list with commas, is
/// no file of this machine. That is an address in a network, or `pipe:` and a command as WebDataset
/// has them. `spec` is the source as the user wrote it.
void refuse_remote(std::string_view spec, std::string_view places);

}  // namespace batchcast::inline v0_1::detail
