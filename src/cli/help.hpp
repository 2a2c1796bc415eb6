// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace batchcast::cli {

/// What `--help` prints, in lines of 80 columns, or fewer on a narrower terminal. docs/commands.sh,
/// cmake/man_page.sh and the completion for bash read it. A command or an option begins two columns
/// into its line, and its text stands two or more columns after it or below.
class HelpFormatter final : public CLI::Formatter {
 public:
  /// The whole help of `app`; `name` is how it was called, such as `batchcast serve`.
  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override;
};

}  // namespace batchcast::cli
