// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "serving/console.hpp"

#include <batchcast/core/bytes_text.hpp>

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

// What commands print: results on stdout, and all else on stderr, as src/serving does it.
namespace batchcast::cli {

using serving::bar_text;
using serving::console_log;
using serving::count_text;
using serving::counted;
using serving::left_text;
using serving::ProgressLine;
using serving::say;
using serving::UnwaitedStderr;

/// One object (or array) on one line, as the last line of stdout.
void print_json(const nlohmann::json& value);

/// Rows as wide as their widest cell; the first row is the head.
void print_table(std::vector<std::vector<std::string>> rows);

/// The output of this command is a log, not a report: a failure to write it is no failure.
void take_output_for_a_log() noexcept;

/// To be called once a command has printed its report. Returns `code`. Where the report could not
/// be written, it says so, and returns exit_environment for exit_ok and exit_not_held.
[[nodiscard]] int finish_output(int code) noexcept;

}  // namespace batchcast::cli
