// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <nlohmann/json.hpp>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace batchcast::test {

/// The lines of a table of this folder that have that member. Scripts of tests/oracle make the
/// tables; their first lines say which does, and with which versions.
inline std::vector<nlohmann::json> table_rows(const std::string& name, const char* member) {
  std::ifstream file(BATCHCAST_CHECKOUT "/tests/data/stage/" + name);
  std::vector<nlohmann::json> rows;
  for (std::string line; std::getline(file, line);) {
    nlohmann::json row = nlohmann::json::parse(line);
    if (row.contains(member)) rows.push_back(std::move(row));
  }
  if (rows.empty()) throw std::runtime_error("no " + std::string(member) + " in " + name);
  return rows;
}

}  // namespace batchcast::test
