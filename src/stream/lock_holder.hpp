// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1 {

/// The first process that shares the lock of `path`, by the kernel's list, as `look_at_lock` does
/// for an instant. Nothing where none does; 0 where that process cannot be seen from here.
[[nodiscard]] std::optional<std::int32_t> looker_at_lock(const std::string& path);
/// The same of the process that has the lock of `path` for itself.
[[nodiscard]] std::optional<std::int32_t> holder_of_lock(const std::string& path);

}  // namespace batchcast::inline v0_1
