// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/tensor_program.hpp"

#include "data/program/tensor_steps.hpp"

#include <batchcast/core/error.hpp>

#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

class CopyRunner final : public FieldRunner {
 public:
  void run(const PartInput& input, std::span<std::byte> out) override {
    std::memcpy(out.data(), input.bytes.data(), out.size());
  }
};

class StepsRunner final : public FieldRunner {
 public:
  explicit StepsRunner(const TensorSteps& steps) : run_(steps) {}
  void run(const PartInput& input, std::span<std::byte> out) override {
    run_.finish_from(input.bytes, input, out);
  }

 private:
  TensorSteps::Run run_;
};

class TensorProgram final : public FieldProgram {
 public:
  explicit TensorProgram(TensorSteps steps, bool copies)
      : steps_(std::move(steps)), copies_(copies) {}
  [[nodiscard]] const TensorSpec& output() const noexcept override { return steps_.output(); }
  [[nodiscard]] bool copies() const noexcept override { return copies_; }
  [[nodiscard]] std::unique_ptr<FieldRunner> runner() const override {
    if (copies_) return std::make_unique<CopyRunner>();
    return std::make_unique<StepsRunner>(steps_);
  }

 private:
  TensorSteps steps_;
  bool copies_;
};

TensorSpec input_of(const PartSpec& part) {
  if (part.kind == PartKind::bytes) return {DType::u8, {-1}};
  return {part.dtype, part.shape};
}

}  // namespace

std::unique_ptr<FieldProgram> compile_tensor(const FieldRecipe& field, const PartSpec& part) {
  const TensorSpec input = input_of(part);
  if (part.kind == PartKind::bytes && field.stages.empty()) {
    throw InvalidArgument(
        "batchcast: the part `" + part.name +
        "` is bytes of any length, and a field has one shape. Leave it out of the "
        "recipe, or give the field `" +
        field.name + "` a stage of your own that makes a tensor of it.");
  }
  std::vector<NumberedStage> steps;
  TensorSpec spec = input;
  for (std::size_t i = 0; i < field.stages.size(); ++i) {
    std::shared_ptr<const Stage> stage = field.stages[i];
    if (const auto* to = dynamic_cast<const ToStage*>(stage.get())) {
      stage = cast_stage(spec.dtype, to->parameters().dtype);
    } else if (stage->kind() != StageKind::tensor) {
      refuse_stage(field.name, stage->name(),
                   "it works on images, and the part `" + part.name + "` is not one");
    }
    try {
      spec = dynamic_cast<const TensorStage&>(*stage).output(spec);
    } catch (const InvalidArgument& error) {
      refuse_stage(field.name, stage->name(), error.what());
    }
    steps.push_back({std::move(stage), static_cast<std::uint32_t>(i)});
  }
  return std::make_unique<TensorProgram>(TensorSteps(field.name, input, steps), steps.empty());
}

}  // namespace batchcast::inline v0_1::detail
