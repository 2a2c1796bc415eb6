// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/stage.hpp>

#include <array>
#include <cstdint>

namespace batchcast::inline v0_1::detail {

using ChannelOrder = std::array<std::uint8_t, 3>;

/// Draws one of the six orders, each as likely. The note `channel_order` has digits that say which
/// channel comes first, second and third.
[[nodiscard]] ChannelOrder draw_channel_order(StageContext& context);

}  // namespace batchcast::inline v0_1::detail
