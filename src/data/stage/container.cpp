// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/container.hpp"

#include "data/stage/options.hpp"
#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <numeric>
#include <utility>

namespace batchcast::inline v0_1 {

using Json = nlohmann::json;

std::string ContainerStage::parameters_json() const {
  Json object = Json::parse(own_parameters_json(), nullptr, false);
  if (!object.is_object()) {
    throw InvalidArgument("batchcast: the stage `" + std::string(name()) +
                          "` gives parameters that are not a JSON object.");
  }
  object["stages"] = detail::stages_json(stages(), "`" + std::string(name()) + "`");
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace detail {
namespace {

Json stage_json(const RecipeStage& stage, const std::string& owner) {
  if (!stage.stage) throw InvalidArgument("batchcast: " + owner + " has a stage that is null.");
  const std::string name(stage->name());
  Json object = Json::parse(stage->parameters_json(), nullptr, false);
  if (!object.is_object() || object.contains("stage") || object.contains("id")) {
    throw InvalidArgument("batchcast: the stage `" + name + "` of " + owner +
                          " gives parameters that are not a JSON object without `stage` and `id`.");
  }
  object["stage"] = name;
  if (!stage.id.empty()) object["id"] = stage.id;
  return object;
}

class RandomApplyStage final : public ContainerStage {
 public:
  RandomApplyStage(std::vector<RecipeStage> stages, double p) : stages_(std::move(stages)), p_(p) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_apply"; }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0 && p_ < 1; }
  [[nodiscard]] std::span<const RecipeStage> stages() const noexcept override { return stages_; }
  [[nodiscard]] Branching branching() const noexcept override {
    return p_ < 1 ? Branching::all_or_none : Branching::all;
  }
  void choose(std::vector<std::size_t>& chosen, StageContext& context) const override {
    if (!(context.draws().unit_f64() < p_)) return;
    for (std::size_t i = 0; i < stages_.size(); ++i) chosen.push_back(i);
  }
  [[nodiscard]] std::string own_parameters_json() const override {
    return Json({{"p", p_}}).dump();
  }

 private:
  std::vector<RecipeStage> stages_;
  double p_;
};

class RandomChoiceStage final : public ContainerStage {
 public:
  RandomChoiceStage(std::vector<RecipeStage> stages, std::vector<double> weights)
      : stages_(std::move(stages)),
        weights_(std::move(weights)),
        total_(std::accumulate(weights_.begin(), weights_.end(), 0.0)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_choice"; }
  [[nodiscard]] bool is_random() const noexcept override { return stages_.size() > 1; }
  [[nodiscard]] std::span<const RecipeStage> stages() const noexcept override { return stages_; }
  [[nodiscard]] Branching branching() const noexcept override { return Branching::one; }
  void choose(std::vector<std::size_t>& chosen, StageContext& context) const override {
    const double drawn = context.draws().unit_f64() * total_;
    double sum = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0) continue;
      last = i;
      sum += weights_[i];
      if (drawn < sum) break;
    }
    chosen.push_back(last);
  }
  [[nodiscard]] std::string own_parameters_json() const override {
    return Json({{"p", weights_}}).dump();
  }

 private:
  std::vector<RecipeStage> stages_;
  std::vector<double> weights_;
  double total_;
};

class RandomOrderStage final : public ContainerStage {
 public:
  explicit RandomOrderStage(std::vector<RecipeStage> stages) : stages_(std::move(stages)) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_order"; }
  [[nodiscard]] bool is_random() const noexcept override { return stages_.size() > 1; }
  [[nodiscard]] std::span<const RecipeStage> stages() const noexcept override { return stages_; }
  [[nodiscard]] Branching branching() const noexcept override { return Branching::any; }
  void choose(std::vector<std::size_t>& chosen, StageContext& context) const override {
    for (std::size_t i = 0; i < stages_.size(); ++i) chosen.push_back(i);
    for (std::size_t left = chosen.size(); left > 1; --left) {
      std::swap(chosen[left - 1], chosen[context.draws().below(left)]);
    }
  }
  [[nodiscard]] std::string own_parameters_json() const override { return "{}"; }

 private:
  std::vector<RecipeStage> stages_;
};

std::vector<RecipeStage> inner_stages(StageParameters& parameters) {
  auto stages = parameters.stages("stages");
  if (!stages || stages->empty()) {
    parameters.refuse("stages", "is missing: the stages that it chooses from");
  }
  return std::move(*stages);
}

}  // namespace

Json stages_json(std::span<const RecipeStage> stages, const std::string& owner) {
  Json list = Json::array();
  for (const RecipeStage& stage : stages) list.push_back(stage_json(stage, owner));
  return list;
}

StagePointer make_random_apply(StageParameters& parameters) {
  const double p = probability(parameters, 0.5);
  return std::make_shared<RandomApplyStage>(inner_stages(parameters), p);
}

StagePointer make_random_choice(StageParameters& parameters) {
  std::vector<RecipeStage> stages = inner_stages(parameters);
  auto weights = parameters.numbers("p").value_or(std::vector<double>(stages.size(), 1));
  if (weights.size() != stages.size()) {
    parameters.refuse("p", "must have one weight for each of its " + std::to_string(stages.size()) +
                               " stages, not " + std::to_string(weights.size()));
  }
  double total = 0;
  for (const double weight : weights) {
    // Above this they would lose what small ones add.
    if (!(weight >= 0 && weight <= 1e9)) {
      parameters.refuse("p", "takes weights from 0 to 1e9, not " + text_of(weight));
    }
    total += weight;
  }
  if (!(total > 0)) parameters.refuse("p", "has no weight above 0");
  return std::make_shared<RandomChoiceStage>(std::move(stages), std::move(weights));
}

StagePointer make_random_order(StageParameters& parameters) {
  return std::make_shared<RandomOrderStage>(inner_stages(parameters));
}

}  // namespace detail
}  // namespace batchcast::inline v0_1
