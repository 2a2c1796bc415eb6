// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/interrupts.hpp"
#include "serving/serve_options.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace batchcast::cli {

/// What of a command line is `serve`'s, as `serve` takes it: what has a default and was not given
/// is left to it. Without what is in `left_out`. In the order in which the options are declared, so
/// that two that ask for the same ask with the same words.
[[nodiscard]] std::vector<std::string> words_given(const CLI::App& command,
                                                   const std::vector<std::string>& left_out);

/// A Python, and what it was chosen by.
struct Python {
  std::string file;
  std::string chosen_by;
};

/// The one of $BATCHCAST_PYTHON, else of $VIRTUAL_ENV, else of the PATH. Throws InvalidArgument,
/// naming `source`, where there is none, or one without the package.
[[nodiscard]] Python python_for(const std::string& source);

/// This process becomes that program. Throws SystemError.
[[noreturn]] void become(std::vector<std::string> words);

/// For a source that Python reads: this process becomes `python3 -m batchcast serve` with the same
/// options, and stderr says which Python that is. Throws InvalidArgument where there is none that
/// has the package, and for options that it does not take. An interrupt until then ends the process
/// in order; one that comes while Python starts is kept for it, which takes it from there.
[[noreturn]] void serve_with_python(const serving::ServeOptions& options, const CLI::App& serve,
                                    Interrupts& interrupts);

}  // namespace batchcast::cli
