// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/container.hpp"

#include "data/stage/standard_stages.hpp"

#include <batchcast/core/error.hpp>

#include <numeric>
#include <utility>

namespace batchcast::inline v0_1 {

using Json = nlohmann::json;

std::string ContainerStage::parameters_json() const {
  Json object = Json::parse(own_parameters_json(), nullptr, false);
  if (!object.is_object()) {
    throw InvalidArgument(
        text("batchcast: the stage `{}` gives parameters that are not a JSON object.", name()));
  }
  object["stages"] = detail::stages_json(stages(), text("`{}`", name()));
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

namespace detail {
namespace {

Json stage_json(const RecipeStage& stage, const std::string& owner) {
  if (!stage.stage) throw InvalidArgument(text("batchcast: {} has a stage that is null.", owner));
  const std::string name(stage->name());
  Json object = Json::parse(stage->parameters_json(), nullptr, false);
  if (!object.is_object() || object.contains("stage") || object.contains("id")) {
    throw InvalidArgument(
        text("batchcast: the stage `{}` of {} gives parameters that are not a JSON object without "
             "`stage` and `id`.",
             name, owner));
  }
  object["stage"] = name;
  if (!stage.id.empty()) object["id"] = stage.id;
  return object;
}

/// A container of the catalog.
template <class Self>
class StandardContainer : public TableStage<Self, ContainerStage> {
 public:
  static void rows(auto& self, auto& table) {
    table("stages", self.stages_, InnerStages(), {.missing = "the stages that it chooses from"});
  }
  [[nodiscard]] std::span<const RecipeStage> stages() const noexcept final { return stages_; }

 protected:
  std::vector<RecipeStage> stages_;
};

class RandomApplyStage final : public StandardContainer<RandomApplyStage> {
 public:
  static constexpr std::string_view stage_name = "random_apply";
  static void rows(auto& self, auto& table) {
    table("p", self.p_, probability);
    StandardContainer::rows(self, table);
  }
  [[nodiscard]] bool is_random() const noexcept override { return is_open(p_); }
  [[nodiscard]] Branching branching() const noexcept override {
    return p_ < 1 ? Branching::all_or_none : Branching::all;
  }
  void choose(std::vector<std::size_t>& chosen, StageContext& context) const override {
    if (!(context.draws().unit_f64() < p_)) return;
    for (std::size_t i = 0; i < stages_.size(); ++i) chosen.push_back(i);
  }

 private:
  double p_ = 0.5;
};

/// One number for each stage. Beside larger weights, small ones would be lost in the sum.
struct Weights {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          std::vector<double>& value) const {
    auto weights = given.numbers(key);
    if (!weights) return false;
    for (const double weight : *weights) {
      if (weight >= 0 && weight <= 1e9) continue;
      given.refuse(key, text("takes weights from 0 to 1e9, not {}", text_of(weight)));
    }
    value = std::move(*weights);
    return true;
  }
  [[nodiscard]] Json write(const std::vector<double>& value) const { return value; }
};

class RandomChoiceStage final : public StandardContainer<RandomChoiceStage> {
 public:
  static constexpr std::string_view stage_name = "random_choice";
  static void rows(auto& self, auto& table) {
    StandardContainer::rows(self, table);
    table("p", self.weights_, Weights());
  }
  void settle(StageParameters& given) {
    if (!given.numbers("p")) weights_.assign(stages_.size(), 1);
    if (weights_.size() != stages_.size()) {
      given.refuse("p", text("must have one weight for each of its {} stages, not {}",
                             stages_.size(), weights_.size()));
    }
    total_ = std::accumulate(weights_.begin(), weights_.end(), 0.0);
    if (!(total_ > 0)) given.refuse("p", "has no weight above 0");
  }
  [[nodiscard]] bool is_random() const noexcept override { return stages_.size() > 1; }
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

 private:
  std::vector<double> weights_;
  double total_ = 0;
};

class RandomOrderStage final : public StandardContainer<RandomOrderStage> {
 public:
  static constexpr std::string_view stage_name = "random_order";
  [[nodiscard]] bool is_random() const noexcept override { return stages_.size() > 1; }
  void choose(std::vector<std::size_t>& chosen, StageContext& context) const override {
    for (std::size_t i = 0; i < stages_.size(); ++i) chosen.push_back(i);
    for (std::size_t left = chosen.size(); left > 1; --left) {
      std::swap(chosen[left - 1], chosen[context.draws().below(left)]);
    }
  }
};

}  // namespace

Json stages_json(std::span<const RecipeStage> stages, const std::string& owner) {
  Json list = Json::array();
  for (const RecipeStage& stage : stages) list.push_back(stage_json(stage, owner));
  return list;
}

void add_containers(StandardStages& stages) {
  stages.add<RandomApplyStage>();
  stages.add<RandomChoiceStage>();
  stages.add<RandomOrderStage>();
}

}  // namespace detail
}  // namespace batchcast::inline v0_1
