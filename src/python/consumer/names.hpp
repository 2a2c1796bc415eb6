// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

// Texts that advise options of the command, as a user of Python needs them.
namespace batchcast::inline v0_1::python {

/// `--wait-for` becomes `wait_for`, and `--memory 8KiB` becomes `memory="8KiB"`. Commands between
/// backticks are for a shell, and stay. `only` names the options that Python has, as the command
/// calls them; empty: all.
[[nodiscard]] std::string with_names_of_python(std::string_view text,
                                               std::initializer_list<std::string_view> only = {});

/// The same with the names of bc.Start. Other options are among its `arguments`, and stay.
[[nodiscard]] std::string with_names_of_start(const std::string& text);

}  // namespace batchcast::inline v0_1::python
