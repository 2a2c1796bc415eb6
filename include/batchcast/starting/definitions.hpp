// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/definitions.hpp>
#include <batchcast/starting/start.ipp>
#include <batchcast/starting/start_attach.ipp>
#include <batchcast/starting/start_command.ipp>
#include <batchcast/starting/start_process.ipp>

namespace batchcast::inline v0_1::detail {

[[gnu::visibility("hidden")]] inline const bool start_is_here = bring_start();

}  // namespace batchcast::inline v0_1::detail
