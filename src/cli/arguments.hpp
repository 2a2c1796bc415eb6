// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

// What somebody most likely meant who mistyped a command or an option.
namespace batchcast::cli {

/// The words after the program's name, with `help serve` written as `serve --help`.
[[nodiscard]] std::vector<std::string> command_words(int argc, char** argv);

/// What is wrong with a word that stands where a command is expected; empty if nothing is.
[[nodiscard]] std::string unknown_command(const CLI::App& program,
                                          const std::vector<std::string>& words);

/// The same of what the parser could do nothing with; empty if that is not what it failed for.
[[nodiscard]] std::string unknown_argument(const CLI::App& program);

}  // namespace batchcast::cli
