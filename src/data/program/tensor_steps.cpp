// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/tensor_steps.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace batchcast::inline v0_1::detail {

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
                         std::span<const NamedStage> stages)
    : input_(std::move(input)) {
  output_ = input_;
  std::size_t buffer = 0;
  for (const NamedStage& named : stages) {
    const TensorStage* stage = named.stage->as_tensor();
    BATCHCAST_ASSERT(stage != nullptr);
    Step step{named.stage, stage, named.draws, output_, {}, 0, stage->in_place(), 0, {}};
    step.path = named.path;
    try {
      step.out = stage->output(step.in);
      step.scratch_bytes = stage->scratch_bytes(step.in);
    } catch (const InvalidArgument& error) {
      refuse_stage(field, named, error.what());
    }
    const std::vector<std::int64_t>& shape = step.out.shape;
    if (std::any_of(shape.begin(), shape.end(), [](std::int64_t extent) { return extent < 0; })) {
      refuse_stage(field, named, "what comes out of it has no known size");
    }
    if (step.in_place && step.out.byte_count() != step.in.byte_count()) {
      refuse_stage(field, named, "it works in place but gives another number of bytes");
    }
    if (!step.in_place) step.buffer = buffer = 1 - buffer;
    output_ = step.out;
    steps_.push_back(std::move(step));
    if (!steps_.back().in_place) last_moving_ = steps_.size();
  }
}

std::span<std::byte> TensorSteps::Run::input_place(std::span<std::byte> out) {
  return steps_.last_moving_ == 0 ? out : buffers_[0].of(steps_.input_.byte_count());
}

void TensorSteps::Run::finish(const ViewInput& sample, std::span<std::byte> out) {
  go_on(0, input_place(out), sample, out);
}

void TensorSteps::Run::finish_from(std::span<const std::byte> input, const ViewInput& sample,
                                   std::span<std::byte> out) {
  if (steps_.steps_.empty() || steps_.steps_.front().in_place) {
    std::memcpy(input_place(out).data(), input.data(), input.size());
    finish(sample, out);
    return;
  }
  // The input may be of any size, so it is read in place.
  const std::span<std::byte> made = place_of(0, out);
  run(0, input, made, sample);
  go_on(1, made, sample, out);
}

void TensorSteps::Run::go_on(std::size_t first, std::span<std::byte> current,
                             const ViewInput& sample, std::span<std::byte> out) {
  for (std::size_t i = first; i < steps_.steps_.size(); ++i) {
    const std::span<std::byte> next = steps_.steps_[i].in_place ? current : place_of(i, out);
    run(i, current, next, sample);
    current = next;
  }
}

std::span<std::byte> TensorSteps::Run::place_of(std::size_t step, std::span<std::byte> out) {
  const Step& moving = steps_.steps_[step];
  return step + 1 == steps_.last_moving_ ? out
                                         : buffers_[moving.buffer].of(moving.out.byte_count());
}

void TensorSteps::Run::run(std::size_t index, std::span<const std::byte> in,
                           std::span<std::byte> out, const ViewInput& sample) {
  const Step& step = steps_.steps_[index];
  StageContext context(sample.key, step.draws.in_view(sample.view), scratch_.of(step.scratch_bytes),
                       sample.notes, &step.in, 0, step.path);
  step.stage->run(in, out, context);
}

}  // namespace batchcast::inline v0_1::detail
