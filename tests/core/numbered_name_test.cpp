// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include "core/numbered_name.hpp"

#include <set>
#include <string>

using namespace batchcast;

TEST_CASE("a taken name gets the first free number, and stays short enough") {
  const std::set<std::string> taken = {"a", "a-2", "a-4"};
  const auto is_taken = [&](const std::string& name) { return taken.contains(name); };
  CHECK(numbered_name("b", is_taken) == "b");
  CHECK(numbered_name("a", is_taken) == "a-3");
  const std::string longest(limits::consumer_name_bytes_max, 'x');
  CHECK(numbered_name(longest, is_taken) == longest);
  const std::string second = longest.substr(0, longest.size() - 2) + "-2";
  CHECK(numbered_name(longest, [&](const std::string& name) { return name == longest; }) == second);
}
