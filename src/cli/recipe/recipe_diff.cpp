// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/recipe/recipe_diff.hpp"

#include "cli/command.hpp"
#include "cli/output.hpp"
#include "start/observation.hpp"
#include "start/recipe_difference.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/recipe.hpp>

#include <fmt/format.h>

#include <string_view>
#include <vector>

namespace batchcast::cli {
namespace {

using Json = nlohmann::json;

constexpr std::string_view stream_prefix = "stream:";
constexpr int look_timeout_ms = 1'000;

struct Side {
  std::string name;
  bool is_stream = false;
  Json recipe;  ///< of a stream: the whole recipe on its board
};

Json board_of(const std::string& stream) {
  ConsumerOptions options;
  options.stream = stream;
  options.connect_timeout_ms = look_timeout_ms;
  options.log = console_log(false);
  const Json board = Json::parse(detail::Observation(options).recipe_json(), nullptr, false);
  if (!board.is_object()) {
    throw Error(
        text("batchcast: stream `{}` has no recipe to compare, since a program fills it by itself.",
             stream));
  }
  return board;
}

Side side_of(const std::string& text) {
  if (text.starts_with(stream_prefix)) {
    return {text, true, board_of(text.substr(stream_prefix.size()))};
  }
  return {text, false, Json::parse(Recipe::load(text).to_json())};
}

/// What is to be compared: all that makes its samples with another stream, or what a recipe says.
Json compared(const Side& side, bool both_streams) {
  if (!side.is_stream) return side.recipe;
  if (both_streams) {
    Json all = side.recipe;
    for (const char* key : {"identity", "epochs"}) all.erase(key);
    return all;
  }
  if (!side.recipe.contains("recipe")) {
    throw Error(
        text("batchcast: {} was not made by a recipe as a preset or a file has it. Compare it with "
             "another stream:NAME.",
             side.name));
  }
  return side.recipe["recipe"];
}

Json identity_of(const Side& side) {
  return side.is_stream ? side.recipe.value("identity", Json()) : Json();
}

std::string identity_text(const Side& side) {
  const Json identity = identity_of(side);
  return text("{}: {}", side.name,
              identity.is_string() ? identity.get<std::string>() : "no identity");
}

}  // namespace

int print_recipe_diff(const std::string& a, const std::string& b, bool json) {
  const Side left = side_of(a);
  const Side right = side_of(b);
  const bool both_streams = left.is_stream && right.is_stream;
  const std::vector<std::string> lines =
      detail::recipe_differences(compared(left, both_streams), compared(right, both_streams),
                                 {text("{} has", left.name), text("{} has", right.name)});
  if (json) {
    print_json({{"a", a},
                {"b", b},
                {"equal", lines.empty()},
                {"differences", lines},
                {"identities", {identity_of(left), identity_of(right)}}});
    return lines.empty() ? exit_ok : exit_not_held;
  }
  for (const std::string& line : lines) fmt::print("{}\n", printable(line));
  if (lines.empty()) fmt::print("{} and {} are equal\n", printable(a), printable(b));
  if (both_streams) {
    fmt::print("{}\n{}\n", printable(identity_text(left)), printable(identity_text(right)));
  }
  return lines.empty() ? exit_ok : exit_not_held;
}

}  // namespace batchcast::cli
