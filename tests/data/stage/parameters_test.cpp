// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/standard_stages.hpp"

#include "data/stage/stage_support.hpp"

#include "catch.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

// What stages write of their parameters is part of a stream's identity: another text is another
// stream. A line of parameters.txt is a stage as a recipe has it, the next one what it writes.
using namespace batchcast;
using namespace batchcast::test;

namespace {

struct Written {
  std::string stage;
  std::string json;
};

std::vector<Written> written_stages() {
  std::ifstream file(BATCHCAST_CHECKOUT "/tests/data/stage/parameters.txt");
  std::vector<Written> all;
  for (Written one; std::getline(file, one.stage) && std::getline(file, one.json);) {
    one.json.erase(0, 2);
    all.push_back(one);
  }
  return all;
}

// Of `| a | b |` a and b.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream in(line.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) {
    const std::size_t begin = std::min(cell.find_first_not_of(' '), cell.size());
    cells.push_back(cell.substr(begin, cell.find_last_not_of(' ') + 1 - begin));
  }
  return cells;
}

// What stands in backquotes.
std::vector<std::string> quoted_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find('`'); at != std::string::npos; at = text.find('`', at)) {
    const std::size_t end = text.find('`', at + 1);
    if (end == std::string::npos) break;
    names.push_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return names;
}

struct Documented {
  std::vector<std::string> parameters;          // that have a row, or a part of one
  std::map<std::string, std::string> defaults;  // of those that have a row of their own
  std::set<std::string> mentioned;              // in the stage's rows
};

// What the tables of docs/recipes.md say of each stage; of warps under `all warps`.
std::map<std::string, Documented> documented_stages() {
  std::ifstream page(BATCHCAST_CHECKOUT "/docs/recipes.md");
  std::map<std::string, Documented> all;
  std::vector<std::string> stages;
  bool in_table = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| stage | parameter |")) in_table = true;
    if (!line.starts_with("|")) in_table = false;
    const auto cells = in_table ? cells_of(line) : std::vector<std::string>();
    if (cells.size() < 4 || cells[0] == "stage" || cells[0].starts_with("--")) continue;
    if (!cells[0].empty()) stages = quoted_in(cells[0]);
    if (cells[0] == "all warps") stages = {"all warps"};
    const std::vector<std::string> parameters = quoted_in(cells[1]);
    for (const std::string& stage : stages) {
      Documented& one = all[stage];
      one.parameters.insert(one.parameters.end(), parameters.begin(), parameters.end());
      for (const std::string& name : quoted_in(line)) one.mentioned.insert(name);
      if (parameters.size() == 1) one.defaults[parameters.front()] = cells[2];
    }
  }
  return all;
}

}  // namespace

TEST_CASE("parameters of every stage are written as they were") {
  std::vector<std::string> names;
  for (const Written& one : written_stages()) {
    INFO(one.stage);
    const Recipe recipe = recipe_with(one.stage);
    const Stage& stage = *recipe.fields.at(0).stages.at(0).stage;
    CHECK(stage.parameters_json() == one.json);
    CHECK(Recipe::from_json(recipe.to_json()).to_json() == recipe.to_json());
    names.emplace_back(stage.name());
  }
  for (const std::string& name : StageCatalog::standard().names()) {
    INFO(name);
    CHECK(std::find(names.begin(), names.end(), name) != names.end());
  }
}

TEST_CASE("docs/recipes.md has the parameters and defaults of every stage") {
  const std::map<std::string, Documented> documented = documented_stages();
  const std::set<std::string> everywhere = {"interpolation", "pillow", "fill",   "mask_fill",
                                            "padding_mode",  "center", "expand", "p"};
  std::map<std::string, std::string> shortest;  // of each stage, without what may be left out
  for (const Written& one : written_stages()) {
    shortest.emplace(stage_of(one.stage)->name(), one.stage);
  }
  for (const std::string& stage : StageCatalog::standard().names()) {
    INFO(stage);
    REQUIRE(documented.count(stage) == 1);
    const Documented& page = documented.at(stage);
    std::set<std::string> names;
    for (const detail::ListedParameter& parameter : detail::standard_stages().parameters(stage)) {
      INFO(parameter.name);
      names.insert(parameter.name);
      CHECK((page.mentioned.count(parameter.name) + everywhere.count(parameter.name)) != 0);
      const auto row = page.defaults.find(parameter.name);
      if (row == page.defaults.end()) continue;
      CHECK((row->second == "needed") == parameter.needed);
      // What is no value, such as `none`, is left to the reader.
      if (nlohmann::json::parse(row->second, nullptr, false).is_discarded()) continue;
      const std::string said = shortest[stage] + ", " + parameter.name + " = " + row->second;
      CHECK(stage_of(said)->parameters_json() == stage_of(shortest[stage])->parameters_json());
    }
    for (const std::string& name : page.parameters) {
      INFO(name);
      CHECK(names.count(name) == 1);
    }
  }
}
