// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/cached_source.hpp"
#include "data/image/compile_field.hpp"
#include "data/pipeline/pipeline_core.hpp"
#include "data/reason.hpp"
#include "data/recipe_needed.hpp"
#include "data/refuse_at.hpp"
#include "data/source/json_parts.hpp"
#include "data/source/token_limit.hpp"
#include "data/token_account_json.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace batchcast::inline v0_1 {
namespace {

using Json = nlohmann::json;

constexpr int recipe_version = 2;
constexpr std::size_t class_names_bytes_max = std::size_t{64} << 10;  // on a board

/// The samples that the recipe makes of the source's. `account` gets where its tokens are.
PipelineOptions with_samples_of_recipe(PipelineOptions options,
                                       std::optional<TokenAccount>& account) {
  options.source = detail::with_json_parts(std::move(options.source), options.recipe.fields);
  detail::LimitedTokens limited = detail::limit_tokens(
      std::move(options.source), options.recipe.max_tokens, options.recipe.overlong);
  options.source = std::move(limited.source);
  account = limited.account;
  return options;
}

Order order_of(const PipelineOptions& options) {
  if (!options.source) throw InvalidArgument("batchcast: a pipeline needs a source.");
  const Recipe& recipe = options.recipe;
  const bool is_packed = recipe.order == OrderMode::packed;
  return Order({.samples_per_epoch = options.source->size(),
                .seed = options.seed,
                .mode = recipe.order,
                .blocks = recipe.blocks,
                .shard = options.shard,
                .grid = options.grid,
                .packed = recipe.packed,
                .lengths = is_packed
                               ? detail::lengths_needed(*options.source, recipe.packed.axis,
                                                        "the order `packed`", "Take `reshuffle`")
                               : nullptr});
}

// Without a recipe every part is a field, except those that no field can hold unchanged.
std::vector<FieldRecipe> all_parts(const Source& source) {
  std::vector<FieldRecipe> fields;
  for (const PartSpec& part : source.parts()) {
    if (part.kind == PartKind::image) {
      throw detail::RecipeNeeded(text(
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

/// Of the sample that `make` makes, which returns its id.
template <class Make>
SampleTrace traced(const detail::PipelineCore& core, const Make& make) {
  detail::PipelineWorker worker(core);
  detail::NoteLists notes;
  for (const auto& field : core.fields) notes.emplace_back(field.views);
  SampleTrace trace;
  trace.sample_id = make(worker, notes);
  trace.path = core.options.source->name_of(trace.sample_id);
  for (std::size_t i = 0; i < notes.size(); ++i) {
    trace.fields.push_back({core.schema[i].name, std::move(notes[i])});
  }
  return trace;
}

}  // namespace

namespace detail {

PipelineCore::PipelineCore(PipelineOptions given)
    : options(with_samples_of_recipe(std::move(given), token_account)),
      order(order_of(options)),
      bad_samples({options.on_bad_sample, options.bad_samples_max, options.on_bad}) {
  compile();
  describe();
  add_cache();
  start_read_ahead();
}

void PipelineCore::start_read_ahead() {
  read_ahead.emplace(*options.source, order,
                     ReadAheadOptions{.threads = options.read_ahead_threads});
}

void PipelineCore::lay_out(const Grid& grid) {
  PipelineOptions laid_out = options;
  laid_out.grid = grid;
  order = order_of(laid_out);
  options.grid = grid;
  describe();
  start_read_ahead();
}

/// A part is kept if all of its fields are made from its pixels, as they are in the file.
void PipelineCore::add_cache() {
  uncached = options.source;
  if (options.cache.bytes == 0) return;
  std::vector<CachedPart> parts(options.source->parts().size());
  for (const Field& field : fields) {
    if (field.size_of) continue;
    if (field.program->decoding() != nullptr) parts[field.part].is_kept = true;
  }
  for (const Field& field : fields) {
    if (field.size_of) continue;
    CachedPart& part = parts[field.part];
    const DecodeStage::Parameters* const decode = field.program->decoding();
    const bool takes_pixels = decode != nullptr && decode->mode != PixelMode::index;
    part.is_fast = part.is_fast || (takes_pixels && decode->fast);
    part.is_kept = part.is_kept && takes_pixels;
    if (takes_pixels) part.pixels_max = std::max(part.pixels_max, decode->pixels_max);
  }
  cache = std::make_shared<SampleCache>(options.cache, std::move(parts));
  options.source = with_cache(uncached, cache);
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
  add_sizes();
  check_schema(schema);
  copies_only = std::all_of(fields.begin(), fields.end(), [](const Field& field) {
    return field.program != nullptr && field.program->copies();
  });
  settle_axes();
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
  schema.back().axis = program->axis();
  try {
    check_schema({schema.back()});
  } catch (const InvalidArgument& error) {
    refuse_at(field.where, as_reason(error.what()) + ".");
  }
  const std::size_t byte_count = output.byte_count();
  std::optional<std::size_t> part_bytes;
  if (part->kind == PartKind::tensor && !part->on_axis())
    part_bytes = TensorSpec{part->dtype, part->shape}.byte_count();
  fields.push_back({static_cast<std::size_t>(part - parts.begin()), std::move(program), byte_count,
                    part_bytes, static_cast<std::size_t>(std::max(field.views, 1)), field.scale,
                    static_cast<std::size_t>(field.cuts)});
}

/// Height and width beside each field whose images keep their sizes, after all other fields.
void PipelineCore::add_sizes() {
  const std::size_t count = fields.size();
  for (std::size_t i = 0; i < count; ++i) {
    if (fields[i].program->decoding() == nullptr && !fields[i].part_bytes) continue;
    if (!schema[i].on_axis()) continue;
    const std::string name = schema[i].name + "_size";
    if (std::any_of(schema.begin(), schema.end(),
                    [&](const FieldSpec& field) { return field.name == name; })) {
      throw InvalidArgument(
          text("batchcast: the recipe has a field `{}`, and that is the name of the sizes of `{}`, "
               "whose images keep their own. Name the field otherwise.",
               name, schema[i].name));
    }
    schema.push_back({name, DType::i32, {2}});
    Field field;
    field.part = fields[i].part;
    field.byte_count = schema.back().byte_count();
    field.size_of = i;
    fields.push_back(std::move(field));
  }
}

void PipelineCore::settle_axes() {
  for (const std::string& axis : axes_of(schema)) {
    const bool is_of_source = std::any_of(fields.begin(), fields.end(), [&](const Field& field) {
      return options.source->parts()[field.part].axis == axis;
    });
    axes.push_back({axis, is_of_source ? options.source->lengths(axis) : nullptr});
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    fields[i].axis = axis_index(schema, schema[i].axis);
    fields[i].row_bytes = schema[i].byte_count();
    if (schema[i].axis != tokens_axis) continue;
    if (!tokens_field) tokens_field = i;
    if (schema[i].name == loss_mask_name && fields[i].row_bytes == 1) mask_field = i;
  }
  fills_in_place = copies_only && !axes.empty() && options.source->in_memory() &&
                   options.on_bad_sample == OnBadSample::error &&
                   std::all_of(axes.begin(), axes.end(),
                               [](const Rows& axis) { return axis.lengths != nullptr; });
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
      {"samples_per_epoch", options.grid ? source.size() : order.samples_per_epoch()},
      {"source", {{"samples", source.size()}, {"fingerprint", source.fingerprint().to_hex()}}}};
  const Fingerprint of_any_grid = fingerprint_of(all.dump());
  identity = of_any_grid;
  if (options.grid) {
    const std::string grid = options.grid->to_json();
    if (!options.grid->is_whole()) identity = fingerprint_of(of_any_grid.to_hex() + grid);
    all["grid"] = Json::parse(grid);
  }
  // Members from here on are for people, and not part of the stream's identity.
  all["identity"] = of_any_grid.to_hex();
  all["source"]["location"] = options.location;
  if (Json names = class_names_of(source); !names.is_null()) {
    all["source"]["classes"] = std::move(names);
  }
  std::error_code ignored;
  if (token_account) all["tokens"] = json_of_account(*token_account);
  all["source"]["directory"] = std::filesystem::current_path(ignored).string();
  all["on_bad_sample"] = options.on_bad_sample == OnBadSample::error ? "error" : "substitute";
  recipe_json = all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace detail

Pipeline::Pipeline(PipelineOptions options)
    : core_(std::make_unique<detail::PipelineCore>(std::move(options))) {}
Pipeline::~Pipeline() = default;

void Pipeline::lay_out(const Grid& grid) { core_->lay_out(grid); }

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
std::string Pipeline::name_at(std::uint64_t epoch, std::uint64_t index) const {
  return core_->options.source->plain_name_of(sample_id_at(epoch, index));
}
bool Pipeline::know_ids(std::uint64_t epoch, std::uint64_t index,
                        std::span<std::uint64_t> ids) const {
  if (core_->options.on_bad_sample != OnBadSample::error) return false;
  const EpochOrder order = core_->order.epoch(epoch);
  for (std::uint64_t& id : ids) id = order.index_at(index++);
  return true;
}
std::function<std::uint64_t(std::uint64_t epoch, std::uint64_t index)> Pipeline::ids_apart() const {
  return [order = core_->order.apart()](std::uint64_t epoch, std::uint64_t index) {
    return order.sample_id_at(epoch, index);
  };
}
std::shared_ptr<const RowLengths> Pipeline::lengths(std::string_view axis) const {
  if (core_->options.on_bad_sample == OnBadSample::substitute) return nullptr;
  for (const detail::PipelineCore::Rows& rows : core_->axes) {
    if (rows.name == axis) return rows.lengths;
  }
  return nullptr;
}
bool Pipeline::fills_in_place() const noexcept { return core_->fills_in_place; }
const std::optional<TokenAccount>& Pipeline::token_account() const noexcept {
  return core_->token_account;
}
MadeTokens Pipeline::made_tokens() const noexcept {
  return {core_->made_tokens.load(std::memory_order_relaxed),
          core_->trained_tokens.load(std::memory_order_relaxed)};
}
std::uint64_t Pipeline::bad_samples() const noexcept { return core_->bad_samples.count(); }
StandIns Pipeline::stand_ins() const { return core_->bad_samples.stand_ins(); }
void Pipeline::stop_caching(const std::string& why) const {
  if (core_->cache != nullptr) core_->cache->stop(why);
}
CacheStats Pipeline::cache_stats() const {
  if (core_->cache == nullptr) return {};
  CacheStats stats = core_->cache->stats();
  const auto& parts = core_->cache->parts();
  const auto kept = std::count_if(parts.begin(), parts.end(),
                                  [](const detail::CachedPart& part) { return part.is_kept; });
  stats.images = samples_per_epoch() * static_cast<std::uint64_t>(kept);
  return stats;
}

MakerCounts Pipeline::counts() const {
  const StandIns others = stand_ins();
  const std::uint64_t read_cpu_ns = core_->read_ahead ? core_->read_ahead->cpu_ns() : 0;
  return {bad_samples(), others.samples, others.times, read_cpu_ns, cache_stats()};
}

SampleTrace Pipeline::trace(const SampleSlots& one_sample) const {
  const auto make = [&](detail::PipelineWorker& worker, detail::NoteLists& notes) {
    worker.make_noted(one_sample, notes);
    return one_sample.sample_ids[0];
  };
  return traced(*core_, make);
}

SampleTrace Pipeline::trace(std::uint64_t epoch, std::uint64_t index_in_epoch,
                            MadeSample& made) const {
  const auto make = [&](detail::PipelineWorker& worker, detail::NoteLists& notes) {
    worker.make_noted(epoch, index_in_epoch, made, notes);
    return made.sample_id;
  };
  return traced(*core_, make);
}

}  // namespace batchcast::inline v0_1
