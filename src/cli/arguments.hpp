// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

// What the parser of the command line says, with the prefix of all messages and with suggestions
// for mistyped commands and options.
namespace batchcast::cli {

/// The words after the program's name, with `help serve` written as `serve --help`.
[[nodiscard]] std::vector<std::string> command_words(int argc, char** argv);

/// What is wrong with a word in the place of a command; empty if nothing is.
[[nodiscard]] std::string unknown_command(const CLI::App& program,
                                          const std::vector<std::string>& words);

/// The page of help of a command that needs another after it, where no more words came; empty
/// elsewhere.
[[nodiscard]] std::string help_without_command(const CLI::App& program,
                                               const std::vector<std::string>& words);

/// What is wrong with an option that has no value; empty if nothing is. It has an `=` and nothing
/// behind it, or the next word names another option. The parser would take that word.
[[nodiscard]] std::string empty_value(const CLI::App& program,
                                      const std::vector<std::string>& words);

/// The same of what the parser could do nothing with; empty if that is not what it failed for.
[[nodiscard]] std::string unknown_argument(const CLI::App& program);
/// Ends a parse that threw: prints the help or version that was asked for, or what is wrong with
/// the arguments. Returns the exit code.
[[nodiscard]] int exit_of(const CLI::App& program, const CLI::ParseError& error);

/// Of an option in seconds: a number from `least` to `most`.
[[nodiscard]] CLI::Validator seconds_between(double least, double most);

}  // namespace batchcast::cli
