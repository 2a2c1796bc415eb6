// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serving/dataset.hpp"

#include "data/packed/budget_fill.hpp"
#include "serving/console.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/synthetic_maker.hpp>
#include <batchcast/finish_stage.hpp>
#include <batchcast/launcher/launcher.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::serving {
namespace {

constexpr const char* automatic = "auto";
constexpr const char* by_blocks = "blocks";

[[noreturn]] void refuse(const std::string& why) {
  throw InvalidArgument(text("batchcast: {}", why));
}

template <class T>
bool read_number(std::string_view text, T& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Shard launched_shard() {
  const detail::LaunchedNode node = detail::launched_node(std::getenv);
  say(fmt::format("--shard auto is {}/{}: {}\n", node.rank, node.nodes, node.origin));
  return {node.rank, node.nodes};
}

Shard parse_shard(const std::string& given) {
  if (given == automatic) return launched_shard();
  const std::size_t slash = given.find('/');
  Shard shard;
  if (slash == std::string::npos ||
      !read_number(std::string_view(given).substr(0, slash), shard.index) ||
      !read_number(std::string_view(given).substr(slash + 1), shard.count)) {
    refuse(
        text("--shard `{}` must be I/N, such as 0/4 for the first of four, `blocks` for the ranks "
             "of one job on several nodes, or auto under torchrun, srun or Kubernetes.",
             given));
  }
  if (shard.count == 0 || shard.index >= shard.count) {
    refuse(text("--shard {}: shards are numbered from 0, so I must be below N.", given));
  }
  return shard;
}

void refuse_given(bool given, const char* option, const char* why) {
  if (given) refuse(text("{} {}", option, why));
}

std::unique_ptr<SampleMaker> make_synthetic(const DatasetOptions& options) {
  constexpr const char* why =
      "does not go with a `synthetic:` source, whose samples are made as they are.";
  refuse_given(options.recipe.has_value(), "--recipe", why);
  refuse_given(options.shard.has_value(), "--shard", why);
  refuse_given(options.on_bad_sample.has_value(), "--on-bad-sample", why);
  refuse_given(options.bad_samples_max.has_value(), "--max-bad", why);
  refuse_given(options.bad_list.has_value(), "--bad-list", why);
  refuse_given(options.finish_on_gpu, "--finish-on-gpu", why);
  refuse_given(options.cache.has_value(), "--cache", why);
  refuse_given(options.max_tokens.has_value(), "--max-tokens", why);
  SyntheticRecipe recipe = SyntheticRecipe::parse(options.source);
  if (options.dtype) recipe.dtype = *parse_dtype(*options.dtype);
  if (options.order) recipe.order = *parse_order_mode(*options.order);
  if (recipe.order == OrderMode::packed) {
    refuse("--order packed is for samples of any length; those of `synthetic:` have one shape.");
  }
  if (options.samples) recipe.samples_per_epoch = *options.samples;
  recipe.seed = options.seed.value_or(0);
  recipe.epochs = options.epochs;
  return std::make_unique<SyntheticMaker>(std::move(recipe));
}

void set_order(const DatasetOptions& options, Recipe& recipe) {
  recipe.order = *parse_order_mode(*options.order);
  const bool is_packed = recipe.order == OrderMode::packed;
  refuse_given(options.pack.is_set() && !is_packed, "--pack", "goes with --order packed.");
  if (!is_packed) return;
  if (!options.pack.is_set()) {
    refuse("--order packed needs the budget of its trainers: --pack tokens=8192, for example.");
  }
  recipe.packed.axis = options.pack.axis;
  recipe.packed.budget = options.pack.rows;
  if (options.among) recipe.packed.among = *options.among;
}

void set_token_limit(const DatasetOptions& options, Recipe& recipe) {
  refuse_given(options.max_tokens && options.recipe, "--max-tokens",
               "is for sources without --recipe. The recipe says it: max_tokens = N, before its "
               "tables.");
  if (!options.max_tokens) return;
  recipe.max_tokens = *options.max_tokens;
  if (options.overlong) recipe.overlong = *parse_overlong(*options.overlong);
}

/// Writes bad samples into the list, if there is one, and into the log. The pipeline makes one call
/// at a time.
class BadSampleNotes {
 public:
  BadSampleNotes(const std::optional<std::string>& list, LogCallback log) : log_(std::move(log)) {
    if (!list) return;
    path_ = *list;
    file_.reset(std::fopen(path_.c_str(), "we"));
    if (!file_) throw SystemError(text("batchcast: the list of bad samples {}", path_), errno);
  }

  void add(const BadSampleReport& bad) {
    ++count_;
    if (file_) {
      fmt::print(file_.get(), "{}\t{}\t{}\n", bad.sample_id, printable(bad.name),
                 printable(bad.reason));
      std::fflush(file_.get());
    }
    if (!log_ || (file_ && count_ > logged_beside_list_max)) return;
    std::string line = fmt::format("bad sample {}, `{}`: {}; the next one replaces it",
                                   bad.sample_id, printable(bad.name), printable(bad.reason));
    if (file_ && count_ == logged_beside_list_max) line += text("; further ones only in {}", path_);
    log_(LogLevel::warning, line);
  }

 private:
  static constexpr std::uint64_t logged_beside_list_max = 5;
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  std::unique_ptr<std::FILE, Close> file_;
  std::string path_;
  LogCallback log_;
  std::uint64_t count_ = 0;
};

PipelineOptions pipeline_options(const DatasetOptions& options, const LogCallback& log,
                                 std::shared_ptr<const Source> opened) {
  refuse_given(options.dtype.has_value(), "--dtype",
               "is for `synthetic:` sources. The recipe says it, with the stage `to`.");
  refuse_given(options.samples.has_value(), "--samples",
               "is for `synthetic:` sources. A dataset has as many as it has.");
  refuse_given(options.order && options.recipe, "--order",
               "is for sources without --recipe. The recipe says it, in its table `order`.");
  const bool substitutes = options.on_bad_sample.value_or("error") == "substitute";
  constexpr const char* only_substitute = "goes with --on-bad-sample substitute.";
  refuse_given(options.bad_list && !substitutes, "--bad-list", only_substitute);
  refuse_given(options.bad_samples_max && !substitutes, "--max-bad", only_substitute);

  PipelineOptions pipeline;
  if (options.shard && options.shard != by_blocks) pipeline.shard = parse_shard(*options.shard);
  if (options.recipe) pipeline.recipe = Recipe::load(*options.recipe);
  if (options.order) set_order(options, pipeline.recipe);
  set_token_limit(options, pipeline.recipe);
  pipeline.source = opened ? std::move(opened) : open_source(options.source);
  for (const std::string& remark : pipeline.source->remarks()) {
    say(fmt::format("{}: {}\n", printable(options.source), printable(remark)));
  }
  pipeline.location = options.source;
  pipeline.cache = cache_of(options);
  pipeline.seed = options.seed.value_or(0);
  if (substitutes) {
    pipeline.on_bad_sample = OnBadSample::substitute;
    if (options.bad_samples_max) pipeline.bad_samples_max = *options.bad_samples_max;
    auto notes = std::make_shared<BadSampleNotes>(options.bad_list, log);
    pipeline.on_bad = [notes](const BadSampleReport& bad) { notes->add(bad); };
  }
  return pipeline;
}

constexpr std::uint64_t fill_samples = 1 << 16;
constexpr double little = 0.001;

/// `shuffle` is the order that it would have without `packed`.
std::optional<PackedFill> fill_of(const Pipeline& pipeline, const PackedOptions& order,
                                  const Order& shuffle) {
  const auto lengths = pipeline.source().lengths(order.axis);
  const EpochOrder shuffled = shuffle.epoch(0);
  detail::BudgetFill packed_fill(order.budget);
  detail::BudgetFill shuffled_fill(order.budget);
  for (std::uint64_t i = 0; i < std::min(fill_samples, shuffled.size()); ++i) {
    packed_fill.add((*lengths)[pipeline.sample_id_at(0, i)]);
    shuffled_fill.add((*lengths)[shuffled.index_at(i)]);
  }
  if (packed_fill.batches() == 0) return std::nullopt;
  return PackedFill{order, packed_fill.fill(), shuffled_fill.fill()};
}

/// With few batches in each block there is little to arrange.
void say_if_useless(const PackedFill& fill) {
  if (fill.packed > fill.shuffled + little || fill.shuffled > 1 - little) return;
  const bool has_more = fill.order.among < PackedOptions::among_max;
  say(
      fmt::format("the order `packed` fills batches of {} rows of `{}` no better than a shuffle "
                  "does, {:.1f} %{}\n",
                  fill.order.budget, printable(fill.order.axis), 100 * fill.packed,
                  has_more ? fmt::format("; a larger `among` than {} may", fill.order.among) : ""));
}

/// Says which images the GPU finishes: their type then depends on a consumer's placement.
void say_what_is_finished(const FinishOnGpu& divided) {
  for (const FinishOnGpu::Field& field : divided.fields) {
    if (field.why_not.empty()) {
      say(fmt::format("field `{}` is finished on the GPU; in host memory it is u8 pixels\n",
                      field.name));
    } else {
      say(fmt::format("field `{}` stays on the CPU: {}\n", field.name, field.why_not));
    }
  }
}

}  // namespace

std::string bad_samples_text(std::uint64_t bad, const StandIns& stand_ins) {
  if (bad == 0) return {};
  std::string text = counted(bad, "bad sample");
  if (stand_ins.times == 0) return text;
  return text + fmt::format(", for which {} stood in {}", counted(stand_ins.samples, "other"),
                            counted(stand_ins.times, "time"));
}

bool is_synthetic(const std::string& source) noexcept { return source.starts_with("synthetic:"); }

bool is_preset(const std::string& name) noexcept {
  const auto names = Recipe::preset_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

void settle_shard(DatasetOptions& options) {
  if (options.shard != automatic) return;
  const Shard shard = launched_shard();
  options.shard = fmt::format("{}/{}", shard.index, shard.count);
}

CacheOptions cache_of(const DatasetOptions& options) {
  if (!options.cache) return {};
  CacheOptions cache = CacheOptions::parse(*options.cache);
  if (cache.directory.empty() && options.epochs == 1) return {};
  return cache;
}

bool says_what_to_make(const DatasetOptions& options) noexcept {
  return options.recipe || options.seed.value_or(0) != 0 || options.shard ||
         options.on_bad_sample || options.bad_samples_max || options.bad_list || options.dtype ||
         options.samples || options.order || options.pack.is_set() || options.among ||
         options.max_tokens || options.tokenizer;
}

Dataset::Dataset(const DatasetOptions& options, const LogCallback& log,
                 std::shared_ptr<const Source> opened) {
  if (!opened && is_synthetic(options.source)) {
    maker_ = make_synthetic(options);
    return;
  }
  PipelineOptions made = pipeline_options(options, log, std::move(opened));
  const bool is_packed = made.recipe.order == OrderMode::packed;
  const PackedOptions packed = made.recipe.packed;
  const std::uint64_t seed = made.seed;
  const Shard shard = made.shard;
  if (options.finish_on_gpu) {
    FinishOnGpu divided = finish_on_gpu(std::move(made));
    say_what_is_finished(divided);
    device_stage_ = std::move(divided.stage);
    made = std::move(divided.host);
  }
  auto pipeline = std::make_unique<Pipeline>(std::move(made));
  pipeline_ = pipeline.get();
  maker_ = std::move(pipeline);
  if (options.shard == by_blocks) lay_out(Grid::whole(pipeline_->source().size()));
  if (is_packed) {
    // As many as the recipe makes of the source's.
    const std::uint64_t samples = pipeline_->source().size();
    const Order shuffle({.samples_per_epoch = samples, .seed = seed, .shard = shard});
    fill_ = fill_of(*pipeline_, packed, shuffle);
  }
  if (fill_) say_if_useless(*fill_);
}

void Dataset::lay_out(const Grid& grid) {
  pipeline_->lay_out(grid);
  grid_ = grid;
}

}  // namespace batchcast::inline v0_1::serving
