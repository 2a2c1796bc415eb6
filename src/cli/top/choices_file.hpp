// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/screen.hpp"

namespace batchcast::cli {

/// Order and filter, as `top` was left: `$XDG_CONFIG_HOME/batchcast/top.json`, or that below
/// `~/.config`. What cannot be read or written is left alone.
void load_choices(observe::Choices& choices) noexcept;
void save_choices(const observe::Choices& choices) noexcept;

}  // namespace batchcast::cli
