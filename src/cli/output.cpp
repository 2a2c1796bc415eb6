// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/output.hpp"

#include "cli/command.hpp"

#include <batchcast/core/text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace batchcast::cli {
namespace {

/// What kept the report from being written; 0 if nothing did.
int output_error = 0;
bool output_is_a_log = false;

void flush_output() noexcept {
  if (std::fflush(stdout) != 0 && output_error == 0) output_error = errno;
}

}  // namespace

void print_json(const nlohmann::json& value) {
  std::fflush(stderr);
  // Names of files and folders may be any bytes.
  fmt::print("{}\n", value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  flush_output();
}

void print_table(std::vector<std::vector<std::string>> rows) {
  for (auto& row : rows) std::transform(row.begin(), row.end(), row.begin(), printable);
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      // The first column is a name, the others are figures.
      line += i == 0 ? fmt::format("{:<{}}", row[i], widths[i])
                     : fmt::format("  {:>{}}", row[i], widths[i]);
    }
    fmt::print("{}\n", line);
  }
  flush_output();
}

void take_output_for_a_log() noexcept { output_is_a_log = true; }

int finish_output(int code) noexcept {
  flush_output();
  if (output_is_a_log || (output_error == 0 && std::ferror(stdout) == 0)) return code;
  // The reason of an earlier failure, of the call that filled the buffer, is not known any more.
  const std::string reason = output_error == 0 ? "" : text(": {}", std::strerror(output_error));
  say(text("batchcast: the report could not be written to stdout{}\n", reason));
  // What the report said is lost, whether all was well or not.
  return code == exit_ok || code == exit_not_held ? exit_environment : code;
}

}  // namespace batchcast::cli
