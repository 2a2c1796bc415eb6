// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "options/table.hpp"

#include <batchcast/consumer_options.hpp>

namespace batchcast::inline v0_1::options {

/// The options of `batchcast consume` and of Python's Consumer and Loader.
[[nodiscard]] const Table<ConsumerOptions>& consumer_options();

}  // namespace batchcast::inline v0_1::options
