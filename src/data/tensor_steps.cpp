// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/tensor_steps.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>

#include <cstdlib>
#include <cstring>
#include <new>

namespace batchcast::detail {

namespace {
constexpr std::size_t alignment = 64;
}

void Scratch::Free::operator()(std::byte* memory) const noexcept { std::free(memory); }

std::span<std::byte> Scratch::of(std::size_t byte_count) {
  if (byte_count > capacity_) {
    const std::size_t rounded = (byte_count + alignment - 1) / alignment * alignment;
    memory_.reset();
    capacity_ = 0;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
    if (!memory_) throw std::bad_alloc();
    capacity_ = rounded;
  }
  return {memory_.get(), byte_count};
}

TensorSteps::TensorSteps(const std::string& field, TensorSpec input,
                         std::span<const NumberedStage> stages)
    : input_(std::move(input)) {
  output_ = input_;
  for (const NumberedStage& numbered : stages) {
    const auto* stage = dynamic_cast<const TensorStage*>(numbered.stage.get());
    BATCHCAST_ASSERT(stage != nullptr);
    Step step{numbered.stage, stage, numbered.number, output_, {}, 0, stage->in_place()};
    try {
      step.out = stage->output(step.in);
      step.scratch_bytes = stage->scratch_bytes(step.in);
    } catch (const InvalidArgument& error) {
      refuse_stage(field, stage->name(), error.what());
    }
    if (step.in_place && step.out.byte_count() != step.in.byte_count()) {
      refuse_stage(field, stage->name(), "it works in place but gives another number of bytes");
    }
    output_ = step.out;
    steps_.push_back(std::move(step));
    if (!steps_.back().in_place) last_moving_ = steps_.size();
  }
}

std::span<std::byte> TensorSteps::Run::input_place(std::span<std::byte> out) {
  return steps_.last_moving_ == 0 ? out : buffers_[0].of(steps_.input_.byte_count());
}

void TensorSteps::Run::finish(const PartInput& sample, std::span<std::byte> out) {
  std::span<std::byte> current = input_place(out);
  std::size_t buffer = 0;
  for (std::size_t i = 0; i < steps_.steps_.size(); ++i) {
    const Step& step = steps_.steps_[i];
    std::span<std::byte> next = current;
    if (!step.in_place) {
      buffer = 1 - buffer;
      next = i + 1 == steps_.last_moving_ ? out : buffers_[buffer].of(step.out.byte_count());
    }
    run(i, current, next, sample);
    current = next;
  }
}

void TensorSteps::Run::finish_from(std::span<const std::byte> input, const PartInput& sample,
                                   std::span<std::byte> out) {
  const bool moves_first = !steps_.steps_.empty() && !steps_.steps_.front().in_place;
  if (moves_first && steps_.last_moving_ == 1) {
    run(0, input, out, sample);
    for (std::size_t i = 1; i < steps_.steps_.size(); ++i) run(i, out, out, sample);
    return;
  }
  std::memcpy(input_place(out).data(), input.data(), input.size());
  finish(sample, out);
}

void TensorSteps::Run::run(std::size_t index, std::span<const std::byte> in,
                           std::span<std::byte> out, const PartInput& sample) {
  const Step& step = steps_.steps_[index];
  StageContext context(sample.key, step.number, scratch_.of(step.scratch_bytes), sample.notes,
                       &step.in);
  step.stage->run(in, out, context);
}

}  // namespace batchcast::detail
