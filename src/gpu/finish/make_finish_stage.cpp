// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/finish/make_finish_stage.hpp"

#include "cuda/finish_kernel.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/finish_stage.hpp>

#include <algorithm>
#include <utility>

namespace batchcast::inline v0_1 {
namespace detail {
namespace {

std::string list_of(const Schema& schema) {
  std::string list;
  for (const FieldSpec& field : schema) list += (list.empty() ? "" : ", ") + to_text(field);
  return list;
}

/// Enqueues one launch per field and 16,384 samples. It keeps nothing of a run: the launch carries
/// which samples are mirrored.
class FinishProgram final : public DeviceProgram {
 public:
  explicit FinishProgram(std::shared_ptr<const FinishStage::Parts> parts)
      : parts_(std::move(parts)) {}

  void enqueue(const DeviceRun& run) override {
    BATCHCAST_ASSERT(run.in.size() == parts_->finishes.size() && run.out.size() == run.in.size());
    for (std::size_t i = 0; i < run.in.size(); ++i) enqueue_field(run, i);
  }

 private:
  void enqueue_field(const DeviceRun& run, std::size_t index) const {
    const FieldFinish& field = parts_->finishes[index];
    const DeviceField& in = run.in[index];
    const DeviceField& out = run.out[index];
    detail::cuda::FinishArguments finish;
    finish.in_stride_bytes = in.stride_bytes;
    finish.out_stride_bytes = out.stride_bytes;
    finish.width = static_cast<std::uint32_t>(field.size.width);
    finish.height = static_cast<std::uint32_t>(field.size.height);
    finish.channels = static_cast<std::uint32_t>(field.channels);
    finish.dtype = field.format.dtype;
    finish.planar = field.format.layout == ImageLayout::chw;
    std::copy_n(field.format.scale.begin(), finish.scale.size(), finish.scale.begin());
    std::copy_n(field.format.bias.begin(), finish.bias.size(), finish.bias.begin());
    for (std::uint64_t first = 0; first < run.size; first += finish.samples) {
      finish.samples = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(run.size - first, detail::cuda::FinishArguments::samples_max));
      finish.in = reinterpret_cast<const std::uint8_t*>(in.data + first * in.stride_bytes);
      finish.out = reinterpret_cast<std::uint8_t*>(out.data + first * out.stride_bytes);
      finish.flips.fill(0);
      for (std::uint32_t s = 0; field.flip && s < finish.samples; ++s) {
        const bool flips = field.flips({parts_->seed, run.epoch, run.sample_ids[first + s]});
        finish.flips[s / 32] |= std::uint32_t{flips} << (s % 32);
      }
      kernel_.enqueue(run.stream, finish);
    }
  }

  std::shared_ptr<const FinishStage::Parts> parts_;
  detail::cuda::FinishKernel kernel_;
};

}  // namespace

DevicePlan FinishStage::plan(const Schema& host) const {
  if (host != parts_->host) {
    throw InvalidArgument(
        text("batchcast: the stage that finishes images was made for a host ring of {}, and this "
             "one has {}. Give the producer the schema of the pipeline that finish_on_gpu() left "
             "to the host.",
             list_of(parts_->host), list_of(host)));
  }
  DevicePlan plan;
  for (std::size_t i = 0; i < parts_->whole.size(); ++i) {
    plan.fields.push_back({parts_->whole[i], i});
  }
  for (const FieldFinish& finish : parts_->finishes) {
    plan.fields[finish.field].copy_of.reset();
    plan.reads.push_back(finish.field);
  }
  return plan;
}

std::string FinishStage::recipe_json(const std::string& /*host_recipe_json*/) const {
  return parts_->whole_recipe_json;
}

std::string FinishStage::identity(const std::string& /*host_identity*/) const {
  return parts_->whole_identity;
}

std::unique_ptr<DeviceProgram> FinishStage::prepare(const Schema& /*host*/,
                                                    std::uint64_t /*samples_max*/,
                                                    std::size_t /*runs_max*/) const {
  return std::make_unique<FinishProgram>(parts_);
}

}  // namespace detail

FinishOnGpu finish_on_gpu(PipelineOptions options) {
  PipelineOptions asked = options;
  asked.read_ahead_threads = 0;  // nothing is made with it
  const Pipeline whole(std::move(asked));
  detail::DeviceSplit split = detail::split_for_device(options.recipe, whole.source().parts());

  FinishOnGpu result;
  std::string reasons;
  for (const detail::FieldFinish& finish : split.finishes) {
    result.fields.push_back({options.recipe.fields[finish.field].name, {}});
  }
  for (const detail::DeviceSplit::Kept& kept : split.kept) {
    result.fields.push_back({options.recipe.fields[kept.field].name, kept.reason});
    reasons += text(" Not `{}`: {}.", result.fields.back().name, kept.reason);
  }
  if (split.finishes.empty()) {
    throw InvalidArgument(
        text("batchcast: no field of this recipe can be finished on a GPU: that takes an image "
             "whose last stages are `to` with f32, f16 or bf16 and perhaps `normalize`.{} Leave it "
             "to the CPU.",
             reasons));
  }
  options.recipe = std::move(split.host);
  result.host = std::move(options);
  const Pipeline host([&] {
    PipelineOptions described = result.host;
    described.read_ahead_threads = 0;
    return described;
  }());
  result.stage = std::make_shared<detail::FinishStage>(
      detail::FinishStage::Parts{std::move(split.finishes), host.schema(), whole.schema(),
                                 whole.recipe_json(), whole.identity().to_hex(), result.host.seed});
  return result;
}

}  // namespace batchcast::inline v0_1
