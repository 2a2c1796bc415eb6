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

class CopyRowsRunner final : public FieldRunner {
 public:
  void run(const PartInput& input, std::span<FieldTarget> targets) override {
    const FieldTarget& target = targets.front();
    const std::span<std::byte> out = target.make_rows(input.bytes.size());
    if (!out.empty()) std::memcpy(out.data(), input.bytes.data(), out.size());
  }
};

/// A part on an axis, unchanged.
class RowsProgram final : public FieldProgram {
 public:
  explicit RowsProgram(const PartSpec& part) : row_{part.dtype, part.shape}, axis_(part.axis) {}
  [[nodiscard]] const TensorSpec& output() const noexcept override { return row_; }
  [[nodiscard]] std::string_view axis() const noexcept override { return axis_; }
  [[nodiscard]] bool copies() const noexcept override { return true; }
  [[nodiscard]] std::unique_ptr<FieldRunner> runner(
      std::span<const FieldProgram* const> /*others*/) const override {
    return std::make_unique<CopyRowsRunner>();
  }

 private:
  TensorSpec row_;
  std::string axis_;
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
  if (field.scale != 1) {
    refuse(field.where, "has a scale", "Leave `scale` to fields that are made of images.");
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
  if (!field.axis.empty() && field.axis != part.axis) {
    refuse_at(field.where,
              text("the field `{}` has axis = \"{}\", and its part `{}` {}. Leave `axis` to fields "
                   "that are made of images; a source says which of its parts lie on an axis.",
                   field.name, field.axis, part.name,
                   part.on_axis() ? text("lies on the axis `{}`", part.axis)
                                  : std::string("is no image")));
  }
  if (part.on_axis()) {
    if (field.stages.empty()) return std::make_unique<RowsProgram>(part);
    refuse_stage(field.name, field.stages.front(),
                 text("it works on samples of one shape, and those of the part `{}` differ in "
                      "length on the axis `{}`: save the rows as the dtype that is wanted, and "
                      "leave out the stages of such a field",
                      part.name, part.axis));
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
