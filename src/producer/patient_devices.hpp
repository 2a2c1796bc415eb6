// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include "served/device_rings.hpp"

#include <string>

namespace batchcast::inline v0_1::detail {

/// Makes the same rings, and waits where a GPU has no room for one. It does so while trainers of an
/// earlier producer, which was killed, may have its ring there: they drain it, and give it up.
/// Throws OutOfMemory where there are none, and after 30 s. `directory`: the stream's.
[[nodiscard]] DeviceRingMaker patient(DeviceRingMaker devices, std::string directory,
                                      LogCallback log);

}  // namespace batchcast::inline v0_1::detail
