// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/producer.hpp>

#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// What a producer whose last epoch is made waits for, and what ends the wait: a message.
[[nodiscard]] std::string awaited_text(const ProducerStats& stats, std::string_view stream);

}  // namespace batchcast::inline v0_1::detail
