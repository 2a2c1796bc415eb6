// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>

namespace batchcast::inline v0_1 {

/// The version of everything that producer and consumer share: the records of the door
/// (join/records.hpp), the board and the desks (ring/layout.hpp). Each incompatible change needs a
/// new version. Version 1 had JSON at the door, version 2 no axes.
inline constexpr std::uint32_t layout_version = 3;

}  // namespace batchcast::inline v0_1
