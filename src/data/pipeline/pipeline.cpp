// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/compile_field.hpp"
#include "data/pipeline/pipeline_core.hpp"
#include "data/reason.hpp"
#include "data/refuse_at.hpp"
#include "data/source/json_parts.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

using Json = nlohmann::json;

constexpr int recipe_version = 2;
constexpr std::size_t class_names_bytes_max = std::size_t{64} << 10;  // on a board

PipelineOptions with_values_of_json(PipelineOptions options) {
  options.source = detail::with_json_parts(std::move(options.source), options.recipe.fields);
  return options;
}

Order order_of(const PipelineOptions& options) {
  if (!options.source) throw InvalidArgument("batchcast: a pipeline needs a source.");
  return Order({.samples_per_epoch = options.source->size(),
                .seed = options.seed,
                .mode = options.recipe.order,
                .blocks = options.recipe.blocks,
                .shard = options.shard});
}

// Without a recipe every part is a field, except those that no field can hold unchanged.
std::vector<FieldRecipe> all_parts(const Source& source) {
  std::vector<FieldRecipe> fields;
  for (const PartSpec& part : source.parts()) {
    if (part.kind == PartKind::image) {
      throw InvalidArgument(text(
          "batchcast: the part `{}` of this source is encoded images, which are of different "
          "sizes: a recipe must say what becomes of them. Give --recipe a TOML file or a preset, "
          "such as imagenet-train or imagenet-eval; `batchcast recipe --list` lists them all.",
          part.name));
    }
    if (part.kind == PartKind::tensor) fields.push_back({part.name, part.name, {}});
  }
  return fields;
}

/// Null where there are no class names, or too many for a board.
Json class_names_of(const Source& source) {
  std::size_t bytes = 0;
  Json names;
  for (const std::string& name : source.class_names()) {
    names.push_back(name);
    bytes += name.size();
  }
  return bytes <= class_names_bytes_max ? names : Json();
}

}  // namespace

namespace detail {

PipelineCore::PipelineCore(PipelineOptions given)
    : options(with_values_of_json(std::move(given))),
      order(order_of(options)),
      bad_samples({options.on_bad_sample, options.bad_samples_max, options.on_bad}),
      read_ahead(*options.source, order, {.threads = options.read_ahead_threads}) {
  compile();
  describe();
}

void PipelineCore::compile() {
  if (options.recipe.fields.empty()) options.recipe.fields = all_parts(*options.source);
  for (FieldRecipe& field : options.recipe.fields) {
    if (field.from.empty()) field.from = field.name;
  }
  ResolvedRecipe resolved = resolve(options.recipe);
  for (const ResolvedField& field : resolved.fields) compile(field);
  same_sizes = std::move(resolved.same_sizes);
  join_units();
  check_schema(schema);
  copies_only = std::all_of(fields.begin(), fields.end(),
                            [](const Field& field) { return field.program->copies(); });
}

void PipelineCore::compile(const ResolvedField& field) {
  const std::vector<PartSpec>& parts = options.source->parts();
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const PartSpec& candidate) {
    return candidate.name == field.from;
  });
  if (part == parts.end()) {
    std::vector<std::string> names;
    for (const PartSpec& candidate : parts) names.push_back(candidate.name);
    const std::string meant = nearest_name(field.from, names);
    refuse_at(field.where, text("the field `{}` is to be made from the part `{}`, which this "
                                "source does not have; it has {}.{}{}",
                                field.name, field.from, quoted(names),
                                meant.empty() ? "" : text(" Did you mean `{}`?", meant),
                                names.empty() ? ""
                                              : text(" Say which one in the field: from = \"{}\".",
                                                     meant.empty() ? names.front() : meant)));
  }
  auto program = compile_field(field, *part);
  const TensorSpec& output = program->output();
  schema.push_back({field.name, output.dtype, output.shape});
  try {
    check_schema({schema.back()});
  } catch (const InvalidArgument& error) {
    refuse_at(field.where, as_reason(error.what()) + ".");
  }
  const std::size_t byte_count = output.byte_count();
  std::optional<std::size_t> part_bytes;
  if (part->kind == PartKind::tensor)
    part_bytes = TensorSpec{part->dtype, part->shape}.byte_count();
  fields.push_back({static_cast<std::size_t>(part - parts.begin()), std::move(program), byte_count,
                    part_bytes, static_cast<std::size_t>(std::max(field.views, 1))});
}

void PipelineCore::join_units() {
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& other) {
      return other.part == fields[i].part &&
             fields[i].program->shares_decoding(*fields[other.fields.front()].program);
    });
    if (unit != units.end()) {
      unit->fields.push_back(i);
    } else {
      units.push_back({fields[i].part, {i}});
    }
  }
}

void PipelineCore::describe() {
  const Source& source = *options.source;
  Json all = {
      {"batchcast_recipe", recipe_version},
      {"recipe", Json::parse(options.recipe.to_json())},
      {"seed", options.seed},
      {"shard", {{"index", options.shard.index}, {"count", options.shard.count}}},
      {"samples_per_epoch", order.samples_per_epoch()},
      {"source", {{"samples", source.size()}, {"fingerprint", source.fingerprint().to_hex()}}}};
  identity = fingerprint_of(all.dump());
  // Members from here on are for people, and not part of the stream's identity.
  all["identity"] = identity.to_hex();
  all["source"]["location"] = options.location;
  if (Json names = class_names_of(source); !names.is_null()) {
    all["source"]["classes"] = std::move(names);
  }
  std::error_code ignored;
  all["source"]["directory"] = std::filesystem::current_path(ignored).string();
  all["on_bad_sample"] = options.on_bad_sample == OnBadSample::error ? "error" : "substitute";
  recipe_json = all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace detail

Pipeline::Pipeline(PipelineOptions options)
    : core_(std::make_unique<detail::PipelineCore>(std::move(options))) {}
Pipeline::~Pipeline() = default;

const Schema& Pipeline::schema() const noexcept { return core_->schema; }
std::uint64_t Pipeline::samples_per_epoch() const noexcept {
  return core_->order.samples_per_epoch();
}
std::string Pipeline::recipe_json() const { return core_->recipe_json; }
std::unique_ptr<SampleWorker> Pipeline::worker() const {
  return std::make_unique<detail::PipelineWorker>(*core_);
}
Fingerprint Pipeline::identity() const noexcept { return core_->identity; }
const Source& Pipeline::source() const noexcept { return *core_->options.source; }
std::uint64_t Pipeline::sample_id_at(std::uint64_t epoch, std::uint64_t index) const noexcept {
  return core_->order.sample_id_at(epoch, index);
}
std::uint64_t Pipeline::bad_samples() const noexcept { return core_->bad_samples.count(); }

SampleTrace Pipeline::trace(const SampleSlots& one_sample) const {
  detail::PipelineWorker worker(*core_);
  std::vector<std::vector<std::vector<Note>>> notes;
  for (const auto& field : core_->fields) notes.emplace_back(field.views);
  SampleTrace trace;
  trace.sample_id = worker.make_noted(one_sample, notes);
  trace.path = source().name_of(trace.sample_id);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    trace.fields.push_back({core_->schema[i].name, std::move(notes[i])});
  }
  return trace;
}

}  // namespace batchcast::inline v0_1
