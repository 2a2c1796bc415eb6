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

/// For a source that Python reads: this process becomes `python3 -m batchcast serve` with the same
/// options, and stderr says which Python that is. Throws InvalidArgument where there is none that
/// has the package, and for options that it does not take. An interrupt until then ends the process
/// in order; one that comes while Python starts is kept for it, which takes it from there.
[[noreturn]] void serve_with_python(const serving::ServeOptions& options, const CLI::App& serve,
                                    Interrupts& interrupts);

}  // namespace batchcast::cli
