// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/cache_json.hpp"
#include "cli/command.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "cli/peek/cache_forecast.hpp"
#include "cli/recipe/board_recipe.hpp"
#include "cli/recipe/scale_remarks.hpp"
#include "control/transport.hpp"
#include "data/image/compile_field.hpp"
#include "data/source/read_by_python.hpp"
#include "data/spec/source_kind_names.hpp"
#include "life/life_files.hpp"
#include "observe/stream_json.hpp"
#include "observe/stream_model.hpp"
#include "serving/cache_report.hpp"
#include "serving/serve_table.hpp"
#include "serving/token_report.hpp"
#include "stream/stream_directory.hpp"

#include <batchcast/consumer.hpp>
#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/data/recipe.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
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
  bool cache = false;
};

/// Members that are not known are empty: they differ between samples, or depend on the source.
struct Field {
  std::string name;
  std::string dtype;  ///< or the kind of an encoded part: image, bytes
  std::optional<std::vector<std::int64_t>> shape = {};
  std::optional<std::size_t> byte_count = {};  ///< of a row, where it lies on an axis
  Json stages = Json::array();
  std::string axis = {};                             ///< whose rows have that shape
  std::vector<std::vector<std::string>> walks = {};  ///< stages done in one pass over the pixels
  Json origin = Json::object();                      ///< what its recipe says of it beside stages
};

/// Empty rows: they are not known without reading samples.
struct AxisRows {
  std::string name;
  std::optional<RowSummary> rows = {};
};

struct Description {
  std::string kind;
  std::string name;
  std::vector<Field> fields;
  Json order;
  std::optional<std::uint64_t> samples;  ///< of an epoch
  std::vector<std::string> classes;
  std::string identity;
  Json joints = Json::array();
  std::vector<std::string> remarks = {};
  std::optional<CacheForecast> cache = {};
  std::vector<AxisRows> axes = {};
  std::optional<serving::PackedFill> fill = {};
  CacheStats stream_cache = {};  ///< of a stream, as it does at present
  /// Of a stream: the trainers that go on with its next producer.
  std::vector<std::string> members = {};
  std::optional<TokenAccount> tokens = {};
  std::optional<MadeTokens> trained = {};
  std::vector<observe::Ring> heads = {};  ///< of a stream
};

Field field_of(const std::string& name, const TensorSpec& spec, Json stages) {
  return {name, std::string(name_of(spec.dtype)), spec.shape, spec.byte_count(), std::move(stages)};
}

std::vector<Field> fields_of(const Schema& schema, const BoardRecipe& recipe) {
  std::vector<Field> fields;
  for (const FieldSpec& field : schema) {
    fields.push_back(field_of(field.name, field, recipe.stages_of(field.name)));
    fields.back().origin = recipe.origin_of(field.name);
    fields.back().axis = field.axis;
  }
  return fields;
}

/// The axis comes first, where there is one.
Json shape_of(const Field& field) {
  if (!field.shape) return Json();
  Json shape = Json::array();
  if (!field.axis.empty()) shape.push_back(field.axis);
  for (const std::int64_t extent : *field.shape) shape.push_back(extent);
  return shape;
}

std::vector<std::string> strings(std::span<const std::string> names) {
  return {names.begin(), names.end()};
}

/// Of the fields' axes; `lengths_of(axis)` may be null.
template <class LengthsOf>
std::vector<AxisRows> axes_of_fields(const std::vector<Field>& fields,
                                     const LengthsOf& lengths_of) {
  std::vector<AxisRows> axes;
  for (const Field& field : fields) {
    if (field.axis.empty() || std::any_of(axes.begin(), axes.end(), [&](const AxisRows& one) {
          return one.name == field.axis;
        })) {
      continue;
    }
    const std::shared_ptr<const RowLengths> lengths = lengths_of(field.axis);
    axes.push_back(
        {field.axis, lengths == nullptr ? std::nullopt : std::optional(summary_of(*lengths))});
  }
  return axes;
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
      found.fields.back().axis = part.axis;
    } else {
      found.fields.push_back({part.name, part.kind == PartKind::image ? "image" : "bytes"});
    }
  }
  found.axes =
      axes_of_fields(found.fields, [&](const std::string& axis) { return source->lengths(axis); });
  found.trained = serving::count_trained(*source);
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
  std::vector<AxisRows> axes =
      axes_of_fields(fields, [&](const std::string& axis) { return maker.lengths(axis); });
  return {
      "source",
      options.source,
      std::move(fields),
      recipe.order(),
      maker.samples_per_epoch(),
      pipeline == nullptr ? std::vector<std::string>() : strings(pipeline->source().class_names()),
      maker.identity().to_hex(),
      recipe.joints(),
      scale_remarks(recipe),
      {},
      std::move(axes),
      dataset.packed_fill(),
      {},
      {},
      dataset.token_account(),
      pipeline == nullptr ? std::nullopt : serving::count_trained(pipeline->source())};
}

/// Of a field of a recipe without a source. One with `decode` has an image before it.
Field field_of(const detail::ResolvedField& field, Json stages) {
  const auto program = detail::compile_without_source(field);
  if (program == nullptr) return {field.name, "", {}, {}, std::move(stages)};
  Field made = field_of(field.name, program->output(), std::move(stages));
  made.axis = program->axis();
  made.walks = program->walks();
  return made;
}

Description of_recipe(const std::string& name) {
  const Recipe recipe = Recipe::load(name);
  const detail::ResolvedRecipe resolved = detail::resolve(recipe);
  const Json text = {{"recipe", Json::parse(recipe.to_json())}};
  const BoardRecipe board(text.dump());
  Description found{
      "recipe", name, {}, board.order(), {}, {}, {}, board.joints(), scale_remarks(board)};
  for (const detail::ResolvedField& field : resolved.fields) {
    found.fields.push_back(field_of(field, board.stages_of(field.name)));
    found.fields.back().origin = board.origin_of(field.name);
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

/// What its producer says of a stream; null where that does not answer.
Json stats_of_stream(const std::string& stream) {
  for (const ListedStream& listed : list_streams(stream)) {
    if (!listed.served || listed.foreign) continue;
    const auto answer =
        ask_control(listed.paths.control, R"({"command":"stats"})", look_timeout_ms);
    if (!answer) continue;
    Json stats = Json::parse(*answer, nullptr, false);
    if (stats.is_object()) return stats;
  }
  return {};
}

CacheStats cache_in(const Json& stats) {
  return stats.contains("cache") ? serving::cache_from_json(stats["cache"].dump()) : CacheStats();
}

std::vector<observe::Ring> heads_in(const Json& stats) {
  std::vector<observe::Ring> heads = observe::stream_of(stats).rings;
  std::erase_if(heads,
                [](const observe::Ring& ring) { return !ring.placement.starts_with("head-"); });
  return heads;
}

/// The trainers that its life file has.
std::vector<std::string> members_of(const std::string& stream) {
  std::vector<std::string> names;
  for (const ListedStream& listed : list_streams(stream)) {
    if (!listed.served || listed.foreign) continue;
    const auto life = detail::read_life(listed.paths.directory);
    if (!life) continue;
    for (const detail::LifeMember& member : life->members) {
      const bool lives =
          !member.gone && detail::is_member_alive(listed.paths.directory, member.lock);
      if (lives) names.push_back(member.name);
    }
  }
  return names;
}

Description of_stream(const std::string& stream) {
  const Json stats = stats_of_stream(stream);
  const Consumer consumer = observer_of(stream);
  const BoardRecipe recipe(consumer.recipe_json());
  const std::uint64_t samples = consumer.samples_per_epoch();
  std::vector<Field> fields = fields_of(consumer.schema(), recipe);
  std::vector<AxisRows> axes = axes_of_fields(
      fields, [](const std::string&) { return std::shared_ptr<const RowLengths>(); });
  return {"stream",
          stream,
          std::move(fields),
          recipe.order(),
          samples == 0 ? std::nullopt : std::optional(samples),
          recipe.class_names(),
          consumer.identity(),
          recipe.joints(),
          scale_remarks(recipe),
          {},
          std::move(axes),
          {},
          cache_in(stats),
          members_of(stream),
          {},
          {},
          heads_in(stats)};
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

Json json_of(const CacheForecast& cache) {
  return {{"samples", cache.samples},
          {"images", cache.images},
          {"kept", cache.kept},
          {"unclean", cache.unclean},
          {"passed_by", cache.passed_by},
          {"size_ratio", cache.size_ratio},
          {"bytes", cache.bytes},
          {"samples_per_second_from_files", cache.from_files},
          {"samples_per_second_while_filling", cache.while_filling},
          {"samples_per_second_from_entries", cache.from_entries}};
}

Json json_of(const Description& found) {
  Json fields = Json::array();
  for (const Field& field : found.fields) {
    const auto origin = [&field](const char* key) { return field.origin.value(key, Json()); };
    fields.push_back({{"name", field.name},
                      {"from", origin("from")},
                      {"draws", origin("draws")},
                      {"views", origin("views")},
                      {"scale", origin("scale")},
                      {"kind", origin("kind")},
                      {"dtype", field.dtype.empty() ? Json() : Json(field.dtype)},
                      {"shape", shape_of(field)},
                      {"bytes", field.byte_count ? Json(*field.byte_count) : Json()},
                      {"stages", field.stages},
                      {"passes", field.walks}});
  }
  Json axes = Json::array();
  for (const AxisRows& axis : found.axes) {
    Json rows;
    if (axis.rows) {
      rows = {{"min", axis.rows->min},
              {"mean", axis.rows->mean()},
              {"max", axis.rows->max},
              {"total", axis.rows->total}};
    }
    axes.push_back({{"name", axis.name}, {"rows", std::move(rows)}});
  }
  return {{"kind", found.kind},
          {"name", found.name},
          {"fields", std::move(fields)},
          {"axes", std::move(axes)},
          {"joints", found.joints},
          {"order", found.order},
          {"samples", found.samples ? Json(*found.samples) : Json()},
          {"classes", found.classes},
          {"identity", found.identity.empty() ? Json() : Json(found.identity)},
          {"remarks", found.remarks}};
}

Json json_of(const serving::PackedFill& fill) {
  return {{"axis", fill.order.axis},
          {"budget", fill.order.budget},
          {"packed", fill.packed},
          {"shuffled", fill.shuffled}};
}

Json json_of(const std::vector<observe::Ring>& heads) {
  Json told = Json::array();
  for (const observe::Ring& head : heads) {
    told.push_back({{"placement", head.placement},
                    {"trainers", head.trainers},
                    {"memory", head.memory},
                    {"work_share", head.work_share}});
  }
  return told;
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
  std::string shape = field.axis;
  for (const std::int64_t extent : *field.shape) {
    shape += (shape.empty() ? "" : ",") + std::to_string(extent);
  }
  return text("{} [{}]  {}{}", field.dtype, shape, counted(*field.byte_count, "byte"),
              field.axis.empty() ? "" : " a row");
}

std::string classes_text(const std::vector<std::string>& classes) {
  std::string text = count_text(classes.size()) + ":";
  for (std::size_t i = 0; i < std::min(classes.size(), class_names_shown_max); ++i) {
    text += (i == 0 ? " " : ", ") + classes[i];
  }
  const bool all = classes.size() <= class_names_shown_max;
  return all ? text : text + " … (--json has all)";
}

/// `from image, draws own, 2 views`; empty where no recipe says it.
std::string origin_text(const Json& origin) {
  std::vector<std::string> words;
  for (const char* const key : {"from", "draws", "kind"}) {
    const Json value = origin.value(key, Json());
    if (value.is_string()) words.push_back(fmt::format("{} {}", key, value.get<std::string>()));
  }
  if (const Json scale = origin.value("scale", Json()); scale.is_number_unsigned()) {
    words.push_back(fmt::format("scale {}", scale.get<std::uint64_t>()));
  }
  if (const Json views = origin.value("views", Json()); views.is_number_unsigned()) {
    words.push_back(counted(views.get<std::uint64_t>(), "view"));
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

/// A joint's stages are shown with each of its fields: this says which of them are one draw's.
void print_joint(const Json& joint) {
  std::vector<std::string> fields;
  for (const Json& field : joint.value("fields", Json::array())) {
    if (field.is_string()) fields.push_back(field.get<std::string>());
  }
  const std::string origin = origin_text(joint);
  fmt::print("joint of {}{}{}\n", printable(fmt::format("{}", fmt::join(fields, ", "))),
             origin.empty() ? "" : ": ", printable(origin));
  for (const Json& stage : joint.value("stages", Json::array())) {
    fmt::print("  {}\n", printable(named_text(stage, "stage")));
  }
}

/// `: 0 to 63 rows a sample, 7.4 on average, 874,213 in all`
std::string rows_text(const RowSummary& rows) {
  return fmt::format(": {} to {} a sample, {:.1f} on average, {} in all", count_text(rows.min),
                     counted(rows.max, "row"), rows.mean(), count_text(rows.total));
}

void print(const Description& found) {
  const auto line = [](const char* what, const std::string& text) {
    if (!text.empty()) fmt::print("  {:<9} {}\n", what, printable(text));
  };
  fmt::print("{} {}\n", found.kind, printable(found.name));
  line("samples", found.samples ? count_text(*found.samples) : "");
  for (const AxisRows& axis : found.axes) {
    line("axis", axis.name + (axis.rows ? rows_text(*axis.rows) : std::string()));
  }
  if (found.tokens) line("tokens", serving::account_text(*found.tokens));
  if (found.trained) line("delivered", serving::tokens_text(*found.trained));
  line("order", named_text(found.order, "mode"));
  if (found.fill) {
    line("fill", fmt::format("{:.1f} % of {}; {:.1f} % after a shuffle", 100 * found.fill->packed,
                             counted(found.fill->order.budget, "row"), 100 * found.fill->shuffled));
  }
  line("classes", found.classes.empty() ? "" : classes_text(found.classes));
  line("identity", found.identity);
  if (!found.members.empty()) {
    line("members",
         fmt::format("{} would go on with its next producer: {}",
                     counted(found.members.size(), "trainer"), fmt::join(found.members, ", ")));
  }
  for (const observe::Ring& head : found.heads) {
    line(head.placement.c_str(),
         fmt::format("{}, {}, {:.0f}% of the work", counted(head.trainers, "trainer"),
                     bytes_text(head.memory), 100 * head.work_share));
  }
  if (found.fields.empty()) line("fields", "each part of the source, unchanged");
  std::size_t width = 0;
  for (const Field& field : found.fields) width = std::max(width, printable(field.name).size());
  for (const Field& field : found.fields) {
    fmt::print("{:<{}}  {}\n", printable(field.name), width, type_text(field));
    if (const std::string origin = origin_text(field.origin); !origin.empty()) {
      fmt::print("{:<{}}    {}\n", "", width, printable(origin));
    }
    for (const Json& stage : field.stages) {
      fmt::print("{:<{}}    {}\n", "", width, printable(named_text(stage, "stage")));
    }
    for (const std::vector<std::string>& walk : field.walks) {
      if (walk.size() < 2) continue;
      fmt::print("{:<{}}    in one pass: {}\n", "", width,
                 printable(fmt::format("{}", fmt::join(walk, ", "))));
    }
  }
  for (const Json& joint : found.joints) {
    if (joint.is_object()) print_joint(joint);
  }
  if (found.stream_cache.exists) {
    fmt::print("{}\n", printable(serving::cache_report(found.stream_cache)));
  }
}

/// What a cache would do, for people.
void print(const CacheForecast& cache) {
  fmt::print("cache: {} of {} in {} are kept", count_text(cache.kept),
             counted(cache.images, "JPEG"), counted(cache.samples, "sample"));
  if (cache.kept != 0) {
    fmt::print(", in {:.2f} times their files' size; about {} for all samples", cache.size_ratio,
               bytes_text(static_cast<std::uint64_t>(cache.bytes)));
  }
  if (cache.passed_by != 0) {
    fmt::print("; {} passed it by, scaled down by `fast` decoding",
               counted(cache.passed_by, "image"));
  }
  fmt::print("\n");
  if (cache.from_files <= 0) return;
  const auto rate = [](double per_second) {
    return count_text(static_cast<std::uint64_t>(per_second));
  };
  fmt::print("  one worker: {} samples/s from files, {} while it fills, {} from entries\n",
             rate(cache.from_files), rate(cache.while_filling), rate(cache.from_entries));
}

int run(const Options& options) {
  if (options.cache &&
      (!is_source(options.dataset.source) || serving::is_synthetic(options.dataset.source))) {
    throw InvalidArgument(
        "batchcast: inspect: --cache goes with a source of files, such as imagefolder:DIR.");
  }
  Description found = describe(options.dataset);
  for (const std::string& remark : found.remarks) say(printable(remark) + "\n");
  if (options.cache) found.cache = forecast_cache(options.dataset);
  if (options.json) {
    Json text = json_of(found);
    if (found.cache) text["cache"] = json_of(*found.cache);
    if (found.tokens) text["tokens"] = serving::json_of(*found.tokens);
    if (found.trained) {
      text["tokens"]["trained"] = found.trained->trained;
      text["tokens"]["masked"] = found.trained->tokens - found.trained->trained;
    }
    if (found.fill) text["fill"] = json_of(*found.fill);
    if (found.kind == "stream") {
      text["members"] = found.members;
      text["heads"] = json_of(found.heads);
    }
    if (found.stream_cache.exists) text["cache"] = cli::json_of(found.stream_cache);
    print_json(text);
  } else {
    print(found);
    if (found.cache) print(*found.cache);
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
  inspect->add_flag("--cache", options->cache,
                    "Predict size and rates of a cache, from some samples of a source");
  inspect->add_flag("--json", options->json, "Print one JSON object");
  inspect->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
