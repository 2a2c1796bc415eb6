// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/tensor_program.hpp"

#include "data/program/tensor_steps.hpp"
#include "data/refuse_at.hpp"

#include <batchcast/core/error.hpp>

#include <cstring>

namespace batchcast::inline v0_1::detail {
namespace {

class CopyRunner final : public FieldRunner {
 public:
  void run(const PartInput& input, std::span<FieldTarget> targets) override {
    const std::span<std::byte> out = targets.front().out;
    std::memcpy(out.data(), input.bytes.data(), out.size());
  }
};

class StepsRunner final : public FieldRunner {
 public:
  explicit StepsRunner(const TensorSteps& steps) : run_(steps) {}
  void run(const PartInput& input, std::span<FieldTarget> targets) override {
    const FieldTarget& target = targets.front();
    std::vector<Note>* const notes = target.notes != nullptr ? &target.notes->front() : nullptr;
    run_.finish_from(input.bytes, {input.key, 0, notes}, target.out);
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
  [[nodiscard]] std::unique_ptr<FieldRunner> runner(
      std::span<const FieldProgram* const> /*others*/) const override {
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

void refuse_what_images_have(const ResolvedField& field, const PartSpec& part) {
  const auto refuse = [&](const std::string& where, const std::string& what,
                          const std::string& cure) {
    refuse_at(where, text("the field `{}` {}, and its part `{}` is no image. {}", field.name, what,
                          part.name, cure));
  };
  if (field.views != 0) {
    refuse(field.where, "has views",
           "Leave `views` to fields that are made of images; a trainer may take this "
           "one once for all of them.");
  }
  if (field.kind == FieldKind::mask) {
    refuse(field.where, "is a mask",
           "A mask is an encoded image, or u8 of the shape [height, width]; leave "
           "`kind` out.");
  }
  for (const NamedStage& stage : field.stages) {
    if (!stage.is_joint) continue;
    refuse(stage.where, text("is in a joint, whose `{}` works on images", stage.stage->name()),
           "Take the field out of the joint.");
  }
}

}  // namespace

std::unique_ptr<FieldProgram> compile_tensor(const ResolvedField& field, const PartSpec& part) {
  refuse_what_images_have(field, part);
  const TensorSpec input = input_of(part);
  if (part.kind == PartKind::bytes && field.stages.empty()) {
    refuse_at(
        field.where,
        text("the part `{}` is bytes of any length, and a field has one shape. Leave it out of the "
             "recipe, or give the field `{}` a custom stage that makes a tensor of it.",
             part.name, field.name));
  }
  std::vector<NamedStage> steps;
  TensorSpec spec = input;
  for (const NamedStage& named : field.stages) {
    NamedStage step = named;
    if (const ToStage* to = step.stage->as_to()) {
      step.stage = cast_stage(spec.dtype, to->parameters().dtype);
    } else if (step.stage->as_tensor() == nullptr) {
      refuse_stage(field.name, named,
                   text("it works on images, and the part `{}` is not one", part.name));
    }
    try {
      spec = step.stage->as_tensor()->output(spec);
    } catch (const InvalidArgument& error) {
      refuse_stage(field.name, named, error.what());
    }
    steps.push_back(std::move(step));
  }
  return std::make_unique<TensorProgram>(TensorSteps(field.name, input, steps), steps.empty());
}

}  // namespace batchcast::inline v0_1::detail
