// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "cli/recipe/board_recipe.hpp"
#include "data/image/compile_field.hpp"
#include "data/source/read_by_python.hpp"
#include "data/spec/source_kind_names.hpp"
#include "serving/serve_table.hpp"

#include <batchcast/consumer.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/data/recipe.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

// What a source, a recipe or a stream consists of.
namespace batchcast::cli {
namespace {

using serving::Dataset;
using serving::DatasetOptions;
using Json = nlohmann::json;

constexpr std::string_view stream_prefix = "stream:";
constexpr int look_timeout_ms = 1'000;
constexpr std::size_t class_names_shown_max = 20;

struct Options {
  DatasetOptions dataset;  // its source may be a recipe or a stream
  bool json = false;
};

/// Members that are not known are empty: they differ between samples, or depend on the source.
struct Field {
  std::string name;
  std::string dtype;  ///< or the kind of an encoded part: image, bytes
  std::optional<std::vector<std::int64_t>> shape = {};
  std::optional<std::size_t> byte_count = {};
  Json stages = Json::array();
  std::vector<std::vector<std::string>> walks = {};  ///< stages done in one pass over the pixels
};

struct Description {
  std::string kind;
  std::string name;
  std::vector<Field> fields;
  Json order;
  std::optional<std::uint64_t> samples;  ///< of an epoch
  std::vector<std::string> classes;
  std::string identity;
};

Field field_of(const std::string& name, const TensorSpec& spec, Json stages) {
  return {name, std::string(name_of(spec.dtype)), spec.shape, spec.byte_count(), std::move(stages)};
}

std::vector<Field> fields_of(const Schema& schema, const BoardRecipe& recipe) {
  std::vector<Field> fields;
  for (const FieldSpec& field : schema) {
    fields.push_back(field_of(field.name, field, recipe.stages_of(field.name)));
  }
  return fields;
}

std::vector<std::string> strings(std::span<const std::string> names) {
  return {names.begin(), names.end()};
}

/// The parts of a source, without a recipe.
Description of_source(const std::string& spec) {
  const std::unique_ptr<Source> source = open_source(spec);
  for (const std::string& remark : source->remarks()) {
    say(fmt::format("{}: {}\n", printable(spec), printable(remark)));
  }
  Description found{"source",
                    spec,
                    {},
                    {},
                    source->size(),
                    strings(source->class_names()),
                    source->fingerprint().to_hex()};
  for (const PartSpec& part : source->parts()) {
    if (part.kind == PartKind::tensor) {
      found.fields.push_back(field_of(part.name, {part.dtype, part.shape}, Json::array()));
    } else {
      found.fields.push_back({part.name, part.kind == PartKind::image ? "image" : "bytes"});
    }
  }
  return found;
}

/// Of each field's stages those together that are done in one pass.
void add_walks(const Pipeline& pipeline, const Json& recipe, std::vector<Field>& fields) {
  const std::vector<PartSpec>& parts = pipeline.source().parts();
  const auto resolved = detail::resolve(Recipe::from_json(recipe.dump())).fields;
  for (std::size_t i = 0; i < std::min(fields.size(), resolved.size()); ++i) {
    const auto part = std::find_if(parts.begin(), parts.end(), [&](const PartSpec& candidate) {
      return candidate.name == resolved[i].from;
    });
    if (part != parts.end()) fields[i].walks = detail::compile_field(resolved[i], *part)->walks();
  }
}

/// As `serve` would make it with the same words.
Description of_what_is_made(const DatasetOptions& options) {
  const Dataset dataset(options, console_log(false));
  const SampleMaker& maker = dataset.maker();
  const BoardRecipe recipe(maker.recipe_json());
  const Pipeline* const pipeline = dataset.pipeline();
  std::vector<Field> fields = fields_of(maker.schema(), recipe);
  if (pipeline != nullptr) {
    add_walks(*pipeline, Json::parse(maker.recipe_json()).at("recipe"), fields);
  }
  return {
      "source",
      options.source,
      std::move(fields),
      recipe.order(),
      maker.samples_per_epoch(),
      pipeline == nullptr ? std::vector<std::string>() : strings(pipeline->source().class_names()),
      maker.identity().to_hex()};
}

/// Of a field of a recipe without a source. What begins with `decode` has an image before it.
Field field_of(const detail::ResolvedField& field, Json stages) {
  const auto program = detail::compile_without_source(field);
  if (program == nullptr) return {field.name, "", {}, {}, std::move(stages)};
  Field made = field_of(field.name, program->output(), std::move(stages));
  made.walks = program->walks();
  return made;
}

Description of_recipe(const std::string& name) {
  const Recipe recipe = Recipe::load(name);
  const detail::ResolvedRecipe resolved = detail::resolve(recipe);
  const Json text = {{"recipe", Json::parse(recipe.to_json())}};
  const BoardRecipe board(text.dump());
  Description found{"recipe", name, {}, board.order(), {}, {}, {}};
  for (const detail::ResolvedField& field : resolved.fields) {
    found.fields.push_back(field_of(field, board.stages_of(field.name)));
  }
  return found;
}

Consumer observer_of(const std::string& stream) {
  try {
    return Consumer({.stream = stream,
                     .batch_size = 1,
                     .name = "inspect",
                     .connect_timeout_ms = look_timeout_ms,
                     .observes = true,
                     .log = console_log(false)});
  } catch (const StreamNotFound& error) {
    const auto presets = Recipe::preset_names();
    const std::vector<std::string> names(presets.begin(), presets.end());
    const std::string meant = detail::nearest_name(stream, names);
    if (meant.empty()) throw;
    throw StreamNotFound(text("{}\nOr is the preset `{}` meant?", error.what(), meant));
  }
}

Description of_stream(const std::string& stream) {
  const Consumer consumer = observer_of(stream);
  const BoardRecipe recipe(consumer.recipe_json());
  const std::uint64_t samples = consumer.samples_per_epoch();
  return {"stream",
          stream,
          fields_of(consumer.schema(), recipe),
          recipe.order(),
          samples == 0 ? std::nullopt : std::optional(samples),
          recipe.class_names(),
          consumer.identity()};
}

bool is_source(const std::string& name) {
  const std::vector<std::string> kinds = detail::source_kind_names();
  return std::any_of(kinds.begin(), kinds.end(),
                     [&name](const std::string& kind) { return name.starts_with(kind + ":"); });
}

bool is_recipe(const std::string& name) {
  return (name.ends_with(".toml") && !name.starts_with("stream:")) || serving::is_preset(name);
}

void refuse_dataset_options(const DatasetOptions& options, const char* what) {
  if (!serving::says_what_to_make(options)) return;
  throw InvalidArgument(
      text("batchcast: inspect: `{}` is {}. --recipe, --seed and the like go with a source such as "
           "imagefolder:DIR.",
           printable(options.source), what));
}

Description describe(const DatasetOptions& options) {
  const std::string& name = options.source;
  if (is_source(name)) {
    return serving::is_synthetic(name) || serving::says_what_to_make(options)
               ? of_what_is_made(options)
               : of_source(name);
  }
  if (is_recipe(name)) {
    refuse_dataset_options(options, "a recipe");
    return of_recipe(name);
  }
  // No name of a stream has a slash: a path whose kind is missing, or mistyped. What Python reads
  // is refused as any other command refuses it; stream:python:x is a stream's name.
  if (detail::is_read_by_python(name)) return of_source(name);
  if (name.find('/') != std::string::npos) return of_source(name);
  refuse_dataset_options(options, "the name of a stream, which has a recipe already");
  return of_stream(name.starts_with(stream_prefix) ? name.substr(stream_prefix.size()) : name);
}

Json json_of(const Description& found) {
  Json fields = Json::array();
  for (const Field& field : found.fields) {
    fields.push_back({{"name", field.name},
                      {"dtype", field.dtype.empty() ? Json() : Json(field.dtype)},
                      {"shape", field.shape ? Json(*field.shape) : Json()},
                      {"bytes", field.byte_count ? Json(*field.byte_count) : Json()},
                      {"stages", field.stages},
                      {"passes", field.walks}});
  }
  return {{"kind", found.kind},
          {"name", found.name},
          {"fields", std::move(fields)},
          {"order", found.order},
          {"samples", found.samples ? Json(*found.samples) : Json()},
          {"classes", found.classes},
          {"identity", found.identity.empty() ? Json() : Json(found.identity)}};
}

/// `size [224,224], antialias true`, of a stage or an order without what names it.
std::string parameters_text(const Json& object, const char* name_key) {
  std::string text;
  for (auto item = object.begin(); item != object.end(); ++item) {
    if (item.key() == name_key) continue;
    text += (text.empty() ? "" : ", ") + item.key() + " " +
            item.value().dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return text;
}

std::string named_text(const Json& object, const char* name_key) {
  if (!object.is_object() || !object.contains(name_key) || !object[name_key].is_string()) return {};
  const std::string parameters = parameters_text(object, name_key);
  return object[name_key].get<std::string>() + (parameters.empty() ? "" : "  " + parameters);
}

std::string type_text(const Field& field) {
  if (field.dtype.empty()) return "as the source has it";
  if (!field.shape) {
    return field.dtype == "image" ? "encoded images" : "bytes, differing in number";
  }
  std::string text = field.dtype + " [";
  for (std::size_t i = 0; i < field.shape->size(); ++i) {
    text += (i == 0 ? "" : ",") + std::to_string((*field.shape)[i]);
  }
  return text + "]  " + counted(*field.byte_count, "byte");
}

std::string classes_text(const std::vector<std::string>& classes) {
  std::string text = count_text(classes.size()) + ":";
  for (std::size_t i = 0; i < std::min(classes.size(), class_names_shown_max); ++i) {
    text += (i == 0 ? " " : ", ") + classes[i];
  }
  const bool all = classes.size() <= class_names_shown_max;
  return all ? text : text + " … (--json has all)";
}

void print(const Description& found) {
  const auto line = [](const char* what, const std::string& text) {
    if (!text.empty()) fmt::print("  {:<9} {}\n", what, printable(text));
  };
  fmt::print("{} {}\n", found.kind, printable(found.name));
  line("samples", found.samples ? count_text(*found.samples) : "");
  line("order", named_text(found.order, "mode"));
  line("classes", found.classes.empty() ? "" : classes_text(found.classes));
  line("identity", found.identity);
  if (found.fields.empty()) line("fields", "each part of the source, unchanged");
  std::size_t width = 0;
  for (const Field& field : found.fields) width = std::max(width, printable(field.name).size());
  for (const Field& field : found.fields) {
    fmt::print("{:<{}}  {}\n", printable(field.name), width, type_text(field));
    for (const Json& stage : field.stages) {
      fmt::print("{:<{}}    {}\n", "", width, printable(named_text(stage, "stage")));
    }
    for (const std::vector<std::string>& walk : field.walks) {
      if (walk.size() < 2) continue;
      fmt::print("{:<{}}    in one pass: {}\n", "", width,
                 printable(fmt::format("{}", fmt::join(walk, ", "))));
    }
  }
}

int run(const Options& options) {
  const Description found = describe(options.dataset);
  if (options.json) {
    print_json(json_of(found));
  } else {
    print(found);
  }
  return exit_ok;
}

}  // namespace

void add_inspect(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* inspect =
      program.add_subcommand("inspect", "Say what a source, recipe or stream consists of");
  inspect->footer(
      "X is a source where it begins with a kind and a colon (idx:DIR), a recipe where\n"
      "it is a preset or ends in .toml, and else the name of a stream (stream:NAME says\n"
      "the same). Without --recipe the parts of a source are shown unchanged.\n"
      "The exit code is 3 where there is no such source or stream.");
  inspect->add_option("X", options->dataset.source, "A source, a recipe, or a stream's name")
      ->required();
  add_options(*inspect, serving::inspection_options(), &options->dataset, {});
  inspect->add_flag("--json", options->json, "Print one JSON object");
  inspect->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
