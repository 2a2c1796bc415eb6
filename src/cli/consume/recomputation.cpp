// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/consume/recomputation.hpp"

#include "data/reason.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/pipeline.hpp>
#include <batchcast/data/synthetic.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace batchcast::cli {
namespace {

using Json = nlohmann::json;

/// A sample's place is taken from its id rather than from what the ring said.
class SyntheticRecomputation final : public Recomputation {
 public:
  explicit SyntheticRecomputation(SyntheticRecipe recipe) : recipe_(std::move(recipe)) {}

  void begin(const Batch& /*batch*/, std::size_t /*samples*/) override {}
  [[nodiscard]] Verdict verify(const Batch& batch, std::size_t index) override {
    const auto position = recipe_.position_of(batch.epoch(), batch.sample_ids()[index]);
    if (!position) return {};
    bool right = true;
    for (const std::size_t field : {SyntheticRecipe::image_field, SyntheticRecipe::label_field}) {
      right = right && recipe_.check(*position, field, batch.field<std::byte>(field)[index]);
    }
    return {position, right};
  }

 private:
  SyntheticRecipe recipe_;
};

/// A sample that replaces a bad one has the position of the bad one, so that ids say nothing about
/// places. Position by position, all is made again.
class PipelineRecomputation final : public Recomputation {
 public:
  explicit PipelineRecomputation(PipelineOptions options)
      : pipeline_(std::move(options)),
        worker_(pipeline_.worker()),
        made_(pipeline_.schema()),
        has_axes_(!axes_of(pipeline_.schema()).empty()) {
    buffers_.resize(pipeline_.schema().size());
  }
  [[nodiscard]] const Pipeline& pipeline() const noexcept { return pipeline_; }

  void begin(const Batch& batch, std::size_t samples) override {
    if (has_axes_) return;  // those are made one by one
    slots_.clear();
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      const std::size_t bytes = pipeline_.schema()[i].byte_count();
      if (buffers_[i].size() < bytes * samples) buffers_[i].resize(bytes * samples);
      slots_.push_back({buffers_[i].data(), bytes});
    }
    ids_.resize(samples);
    if (samples == 0) return;
    const std::uint64_t n = pipeline_.samples_per_epoch();
    worker_->make({batch.position() / n, batch.position() % n, slots_, ids_});
  }

  [[nodiscard]] Verdict verify(const Batch& batch, std::size_t index) override {
    if (has_axes_) return verify_apart(batch, index);
    bool right = batch.sample_ids()[index] == ids_[index] &&
                 batch.epoch() == batch.position() / pipeline_.samples_per_epoch();
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      const auto bytes = batch.field<std::byte>(i)[index];
      right = right && std::memcmp(bytes.data(), slots_[i].data + index * slots_[i].stride_bytes,
                                   bytes.size()) == 0;
    }
    return {batch.position() + index, right};
  }

 private:
  Verdict verify_apart(const Batch& batch, std::size_t index) {
    const std::uint64_t position = batch.position() + index;
    const std::uint64_t n = pipeline_.samples_per_epoch();
    worker_->make_apart(position / n, position % n, made_);
    bool right = batch.sample_ids()[index] == made_.sample_id && batch.epoch() == position / n;
    for (std::size_t i = 0; i < pipeline_.schema().size(); ++i) {
      const std::span<const std::byte> bytes = pipeline_.schema()[i].on_axis()
                                                   ? batch.rows<std::byte>(i)[index].span()
                                                   : batch.field<std::byte>(i)[index];
      right = right &&
              std::equal(bytes.begin(), bytes.end(), made_.field(i).begin(), made_.field(i).end());
    }
    return {position, right};
  }

  Pipeline pipeline_;
  std::unique_ptr<SampleWorker> worker_;
  MadeSample made_;
  bool has_axes_;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<FieldSlots> slots_;
  std::vector<std::uint64_t> ids_;
};

PipelineOptions pipeline_options(const Json& board) {
  PipelineOptions options;
  options.location = board.at("source").at("location").get<std::string>();
  options.recipe = Recipe::from_json(board.at("recipe").dump());
  options.seed = board.at("seed").get<std::uint64_t>();
  options.shard = {board.at("shard").at("index").get<std::uint64_t>(),
                   board.at("shard").at("count").get<std::uint64_t>()};
  options.grid = Grid::in_recipe(board.dump());
  if (board.value("on_bad_sample", "") == "substitute") {
    options.on_bad_sample = OnBadSample::substitute;
    options.bad_samples_max = ~std::uint64_t{0};
  }
  options.source = open_source(options.location);
  return options;
}

std::unique_ptr<Recomputation> of_pipeline(const Json& board, const Schema& schema) {
  auto again = std::make_unique<PipelineRecomputation>(pipeline_options(board));
  const Json own = Json::parse(again->pipeline().recipe_json());
  if (own.at("batchcast_recipe") != board.at("batchcast_recipe")) {
    throw BadDataset(
        text("its recipe has the format {}, and this batchcast draws as the format {} says",
             board.at("batchcast_recipe").dump(), own.at("batchcast_recipe").dump()));
  }
  if (own.at("identity") != board.at("identity") || again->pipeline().schema() != schema) {
    throw BadDataset(text("what is at {} is another dataset than the stream was made of",
                          board.at("source").at("location").get<std::string>()));
  }
  return again;
}

}  // namespace

std::unique_ptr<Recomputation> Recomputation::of(const Stream& stream) {
  std::string why = "it has no recipe";
  if (!stream.recipe_json.empty()) {
    const Json board = Json::parse(stream.recipe_json, nullptr, false);
    try {
      if (board.is_object() && board.contains("batchcast_recipe")) {
        return of_pipeline(board, stream.schema);
      }
      return std::make_unique<SyntheticRecomputation>(
          SyntheticRecipe::from_json(stream.recipe_json));
    } catch (const std::exception& error) {
      why = detail::as_reason(error.what());
    }
  }
  throw InvalidArgument(
      text("batchcast: --verify cannot make the samples of stream `{}` again here: {}. Leave "
           "--verify out; receipts are checked all the same, and --digest gives what `batchcast "
           "dump --digest` gives elsewhere.",
           stream.name, why));
}

}  // namespace batchcast::cli
