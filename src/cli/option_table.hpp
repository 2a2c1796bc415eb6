// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "options/table.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace batchcast::cli {

/// Adds a table's options, which the parser puts into `taken`: first those of `by_place`, without
/// hyphens. The struct lives as long as the command. A size or a placement that is refused ends the
/// parse, or goes into `refusal` where there is one, for a command that answers it.
void add_options(CLI::App& command, const options::Options& table, void* taken,
                 const std::vector<std::string>& by_place, std::string* refusal = nullptr);

template <class Struct>
void add_options(CLI::App& command, const options::Table<Struct>& table, Struct& taken,
                 const std::vector<std::string>& by_place = {}, std::string* refusal = nullptr) {
  add_options(command, table.options(), &taken, by_place, refusal);
}

}  // namespace batchcast::cli
