// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "options/table.hpp"

#include <batchcast/start_options.hpp>

namespace batchcast::inline v0_1::options {

/// The options of Python's Start.
[[nodiscard]] const Table<StartOptions>& start_options();

}  // namespace batchcast::inline v0_1::options
