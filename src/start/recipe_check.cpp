// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/recipe_check.hpp"

#include <batchcast/core/bytes_in.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/data/pipeline.hpp>
#include <batchcast/data/recipe.hpp>
#include <batchcast/data/synthetic.hpp>

#include <batchcast/starting/start_command.hpp>
#include "data/reason.hpp"
#include "data/source/json_parts.hpp"
#include "data/source/read_by_python.hpp"
#include "start/recipe_difference.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;
using Lines = std::vector<std::string>;

constexpr std::size_t lines_max = 12;

std::uint64_t number_of(std::string_view number_text, const std::string& option) {
  std::uint64_t number = 0;
  const auto [end, error] =
      std::from_chars(number_text.data(), number_text.data() + number_text.size(), number);
  if (error != std::errc() || end != number_text.data() + number_text.size()) {
    throw InvalidArgument(
        text("batchcast: the argument {} has `{}` where a number must be.", option, number_text));
  }
  return number;
}

constexpr std::string_view by_blocks = "blocks";

Shard shard_of(const StartOptions& options) {
  const auto text = value_of(options.arguments, "--shard");
  if (!text || text == by_blocks) return {};
  const std::size_t slash = std::min(text->find('/'), text->size());
  const std::string_view all = *text;
  return {number_of(all.substr(0, slash), "--shard"),
          number_of(all.substr(std::min(slash + 1, all.size())), "--shard")};
}

/// A recipe without a file: the words may still say its order.
Recipe recipe_of_words(const StartOptions& options) {
  Recipe recipe;
  const auto mode = value_of(options.arguments, "--order");
  if (mode) recipe.order = parse_order_mode(*mode).value_or(recipe.order);
  if (const auto budget = value_of(options.arguments, "--pack")) {
    const std::size_t equals = std::min(budget->rfind('='), budget->size() - 1);
    recipe.packed.axis = budget->substr(0, equals);
    recipe.packed.budget = bytes_in(budget->substr(equals + 1)).value_or(0);
  }
  if (const auto among = value_of(options.arguments, "--among")) {
    recipe.packed.among = number_of(*among, "--among");
  }
  if (const auto tokens = value_of(options.arguments, "--max-tokens")) {
    recipe.max_tokens = number_of(*tokens, "--max-tokens");
    const auto overlong = value_of(options.arguments, "--overlong");
    if (overlong) recipe.overlong = parse_overlong(*overlong).value_or(recipe.overlong);
  }
  return recipe;
}

bool is_synthetic(std::string_view source) { return source.starts_with("synthetic:"); }

std::string text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string source_differs(const std::string& there, const std::string& asked,
                           const std::string& more = {}) {
  return text("source: the stream has `{}`, asked for `{}`{}", there, asked, more);
}

Lines synthetic_differences(const Json& stream, const StartOptions& options) {
  SyntheticRecipe asked = SyntheticRecipe::parse(options.source);
  asked.seed = options.seed.value_or(0);
  if (const auto text = value_of(options.arguments, "--dtype")) {
    asked.dtype = parse_dtype(*text).value_or(asked.dtype);
  }
  if (const auto text = value_of(options.arguments, "--order")) {
    asked.order = parse_order_mode(*text).value_or(asked.order);
  }
  if (const auto text = value_of(options.arguments, "--samples")) {
    asked.samples_per_epoch = number_of(*text, "--samples");
  }
  Json there = stream;
  there.erase("epochs");  // the number of epochs is no part of the samples
  return recipe_differences(there, Json::parse(asked.to_json()));
}

/// A path says which data it is where it is absolute, or seen from the same directory.
bool same_place(const Json& source, const std::string& asked) {
  if (text_at(source, "location") != asked) return false;
  const std::string path = asked.substr(std::min(asked.find(':') + 1, asked.size()));
  if (path.starts_with('/') && path.find(',') == std::string::npos) return true;
  std::error_code ignored;
  return text_at(source, "directory") == std::filesystem::current_path(ignored).string();
}

/// A recipe without fields means all parts of the source, which only the source knows.
Json with_all_parts(Json asked, const std::shared_ptr<const Source>& source, Recipe recipe) {
  PipelineOptions pipeline;
  pipeline.source = source;
  pipeline.recipe = std::move(recipe);
  pipeline.read_ahead_threads = 0;
  asked["recipe"] = Json::parse(Pipeline(std::move(pipeline)).recipe_json()).at("recipe");
  return asked;
}

bool takes_parts_as_they_stand(const Json& recipe) {
  const Json fields = recipe.value("fields", Json::array());
  return std::all_of(fields.begin(), fields.end(), [](const Json& field) {
    return field.is_object() && field.value("stages", Json::array()).empty() &&
           text_at(field, "name") == text_at(field, "from");
  });
}

/// How a stream's recipe differs from one that makes each part a field, unchanged.
Lines stages_differ(const Json& recipe) {
  return {text(
      "recipe.fields: the stream has {}; asked for each part of the source, unchanged (no recipe)",
      in_words(recipe.value("fields", Json::array())))};
}

Lines data_differ(const Json& source, const std::string& asked, const Source& opened) {
  const std::string fingerprint = opened.fingerprint().to_hex();
  if (text_at(source, "fingerprint") == fingerprint) return {};
  std::string more = ", which holds other data: ";
  if (source.value("samples", Json()) != Json(opened.size())) {
    more +=
        text("{} samples there, {} here", source.value("samples", Json()).dump(), opened.size());
  } else {
    more += "as many samples, but other names or sizes";
  }
  return {source_differs(text_at(source, "location"), asked, more)};
}

Lines python_differs(const Json& source, const std::string& asked) {
  const std::string location = text_at(source, "location");
  if (location != asked) return {source_differs(location, asked)};
  std::error_code ignored;
  return {
      text("source: the stream has `{}` of the directory {}, asked for `{}` of the directory {}: "
           "only Python can open it and say whether it is the same",
           location, text_at(source, "directory"), asked,
           std::filesystem::current_path(ignored).string())};
}

/// A loader's batches are what its program makes: a text names the program.
Lines loader_differences(const Json& board, const StartOptions& options) {
  const Json source = {{"location", text_at(board, "served_from")},
                       {"directory", text_at(board, "directory")}};
  if (!same_place(source, options.source)) return python_differs(source, options.source);
  Lines lines;
  const auto note = [&lines](const std::string& what, const std::string& asked) {
    lines.push_back(text("{}: a loader makes its samples itself, asked for `{}`", what, asked));
  };
  if (!options.recipe.empty()) note("recipe", options.recipe);
  if (options.seed.value_or(0) != 0) note("seed", text("{}", *options.seed));
  for (const char* const option : {"--shard", "--on-bad-sample"}) {
    if (const auto value = value_of(options.arguments, option)) {
      note(std::string(option).substr(2), std::string(*value));
    }
  }
  return lines;
}

Lines pipeline_differences(const Json& stream, const StartOptions& options) {
  const Json source = stream.value("source", Json::object());
  const std::string location = text_at(source, "location");
  if (is_synthetic(options.source)) return {source_differs(location, options.source)};

  const Recipe recipe =
      options.recipe.empty() ? recipe_of_words(options) : Recipe::load(options.recipe);
  const Shard shard = shard_of(options);
  // By which grid it is laid out is settled with each job.
  const bool is_by_blocks = value_of(options.arguments, "--shard") == by_blocks;
  if (is_by_blocks != stream.contains("grid")) {
    return {text(
        "shard: the stream has {}, asked for {}",
        is_by_blocks ? "whole epochs, or a share of them" : "what its ranks here get (`blocks`)",
        is_by_blocks ? "`blocks`" : "all samples, or a share of them")};
  }
  Json asked = {
      {"recipe", Json::parse(recipe.to_json())},
      {"seed", options.seed.value_or(0)},
      {"shard", {{"index", shard.index}, {"count", shard.count}}},
      {"on_bad_sample", value_of(options.arguments, "--on-bad-sample").value_or("error")}};
  Json there = Json::object();
  for (const auto& item : asked.items()) {
    if (const auto found = stream.find(item.key()); found != stream.end()) {
      there[item.key()] = *found;
    }
  }
  const bool all_parts = recipe.fields.empty();
  const Json there_recipe = there.value("recipe", Json::object());
  if (all_parts && !takes_parts_as_they_stand(there_recipe)) return stages_differ(there_recipe);
  Lines lines;
  if (is_read_by_python(options.source)) {
    // This process does not know which Python it is, or what its code does.
    if (!same_place(source, options.source)) return python_differs(source, options.source);
    if (all_parts) {
      const Json limit = asked["recipe"];
      asked["recipe"] = there_recipe;
      for (const char* const key : {"max_tokens", "overlong"}) {
        asked["recipe"].erase(key);
        if (limit.contains(key)) asked["recipe"][key] = limit[key];
      }
    }
  } else if (all_parts || !same_place(source, options.source)) {
    try {
      // Names of classes that the recipe finds in JSON are part of the stream's fingerprint.
      const std::shared_ptr<const Source> opened =
          with_json_parts(open_source(options.source), recipe.fields);
      lines = data_differ(source, options.source, *opened);
      if (all_parts) asked = with_all_parts(std::move(asked), opened, recipe);
    } catch (const Error& error) {
      return {source_differs(location, options.source,
                             text(", which cannot be compared: {}", as_reason(error.what())))};
    }
  }
  for (std::string& line : recipe_differences(there, asked)) {
    lines.push_back(std::move(line));
  }
  return lines;
}

[[noreturn]] void refuse(const std::string& stream, const std::string& what) {
  throw RecipeMismatch(
      text("batchcast: stream `{}` {}\nAsk for what it has, give yours another name, or end "
           "that one with `batchcast stop {}`.",
           stream, what, stream));
}

}  // namespace

void check_recipe(std::string_view stream, std::string_view recipe_json,
                  const StartOptions& options) {
  const std::string name(stream);
  const std::string wanted = text("`{}` was asked for.", options.source);
  if (recipe_json.empty()) {
    refuse(name, text("has no recipe, since a program fills it by itself, and {}", wanted));
  }
  const Json board = Json::parse(recipe_json, nullptr, false);
  Lines lines;
  try {
    if (board.is_object() && board.contains("batchcast_recipe")) {
      lines = pipeline_differences(board, options);
    } else if (board.is_object() && text_at(board, "source") == "synthetic") {
      lines = is_synthetic(options.source) ? synthetic_differences(board, options)
                                           : Lines{source_differs("synthetic:", options.source)};
    } else if (board.is_object() && board.contains("served_from") &&
               is_read_by_python(options.source)) {
      lines = loader_differences(board, options);
    } else {
      refuse(name, text("has a recipe of its program's own, and {}", wanted));
    }
  } catch (const Json::exception& error) {
    refuse(name, text("has a recipe that cannot be read ({}), and {}", error.what(), wanted));
  }
  if (lines.empty()) return;
  std::string difference = "is served with another recipe than was asked for:";
  for (std::size_t i = 0; i < std::min(lines.size(), lines_max); ++i) {
    difference += text("\n  {}", lines[i]);
  }
  if (lines.size() > lines_max) difference += text("\n  … and {} more", lines.size() - lines_max);
  refuse(name, difference);
}

}  // namespace batchcast::inline v0_1::detail
