// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/program.hpp"
#include "data/program/tensor_program.hpp"

#include <batchcast/core/error.hpp>

#include <utility>

// Compiles an image field: sorts its stages into passes over the pixels and works out what comes
// out.
namespace batchcast::inline v0_1::detail {
namespace {

std::string text(ImageSize size) {
  return std::to_string(size.width) + " by " + std::to_string(size.height);
}

/// Stages are taken in the recipe's order; each kind knows what may have come before it.
class ImageCompiler {
 public:
  ImageCompiler(const ResolvedField& field, const PartSpec& part) : field_(field), part_(part) {
    plan_.is_mask = field.kind == FieldKind::mask;
    plan_.views = field.views == 0 ? 1 : static_cast<std::uint32_t>(field.views);
    if (part.kind == PartKind::image) {
      channels_ = 3;
      // Pixels of a decoded image have no layout of their own; trainers want planes.
      plan_.format.layout = ImageLayout::chw;
    } else {
      plan_.raw = *as_raw_image(part);
      channels_ = plan_.raw.channels;
      size_ = plan_.raw.size;
      plan_.format.layout = plan_.raw.channels_last ? ImageLayout::hwc : ImageLayout::chw;
      two_dimensional_ = plan_.raw.two_dimensional;
    }
    plan_.passes.emplace_back();
  }

  ImagePlan compile() {
    for (const NamedStage& named : field_.stages) {
      named_ = &named;
      stage_ = named.stage.get();
      plan_.owners.push_back(named.stage);
      take(*stage_);
    }
    if (part_.kind == PartKind::image && !plan_.decode) {
      throw InvalidArgument("batchcast: the part `" + part_.name +
                            "` is an encoded image. Let the stages of the field `" + field_.name +
                            "` begin with { stage = \"decode\" }.");
    }
    finish();
    return std::move(plan_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    refuse_stage(field_.name, stage_->name(), why);
  }

  void take(const Stage& stage) {
    switch (stage.kind()) {
      case StageKind::decode:
        return take_decode(dynamic_cast<const DecodeStage&>(stage));
      case StageKind::geometry:
        return take_geometry(dynamic_cast<const GeometryStage&>(stage));
      case StageKind::pixel:
        return take_pixels(dynamic_cast<const PixelStage&>(stage));
      case StageKind::warp:
        return take_warp(dynamic_cast<const WarpStage&>(stage));
      case StageKind::finish:
        return take_finish(stage);
      case StageKind::tensor:
        return take_tensor(dynamic_cast<const TensorStage&>(stage));
    }
  }

  void take_decode(const DecodeStage& decode) {
    if (part_.kind != PartKind::image) {
      refuse("the part `" + part_.name + "` is decoded already. Leave the stage out");
    }
    if (named_ != &field_.stages.front()) refuse("it must be the field's first stage");
    plan_.decode = decode.parameters();
    channels_ = plan_.decoded_channels();
  }

  void needs_pixels() const {
    if (formatted_ || !tensor_stages_.empty()) {
      refuse("it works on pixels, so it must stand before `to`, `normalize` and tensor stages");
    }
  }

  // One pass crops, resizes, and then crops or pads. What is padded must be the whole of what was
  // resized: beyond a cropped edge lies the rest of the image, not padding.
  [[nodiscard]] bool fits(const GeometryTraits& traits) const {
    if (!plan_.passes.back().pixels.empty()) return false;
    if (traits.resizes && (done_.resizes || done_.pads)) return false;
    if (traits.pads && (done_.pads || done_.crops)) return false;
    return true;
  }

  void check_interpolation(std::optional<Interpolation> interpolation) const {
    // In a joint it is what the images of the joint are resized with.
    if (plan_.is_mask && !named_->is_joint &&
        interpolation.value_or(Interpolation::nearest) != Interpolation::nearest) {
      refuse(
          "the field is a mask, and its interpolation would mix ids: leave `interpolation` out, "
          "or say kind = \"image\"");
    }
  }

  void take_geometry(const GeometryStage& stage) {
    needs_pixels();
    check_interpolation(stage.interpolation());
    const GeometryTraits traits = stage.traits();
    if (!fits(traits)) {
      plan_.passes.emplace_back();
      done_ = {};
    }
    // RandomResizedCrop crops what it then resizes: nothing is cropped of what comes out.
    done_.crops = traits.resizes ? false : done_.crops || traits.crops;
    done_.resizes = done_.resizes || traits.resizes;
    done_.pads = done_.pads || traits.pads;
    try {
      size_ = stage.output(size_);
    } catch (const InvalidArgument& error) {
      refuse(error.what());
    }
    plan_.passes.back().geometry.push_back({&stage, named_->draws, named_->is_joint});
    two_dimensional_ = two_dimensional_ && channels_ == 1;
  }

  void take_pixels(const PixelStage& stage) {
    needs_pixels();
    if (plan_.is_mask) {
      refuse(std::string("it changes colours, and the field is a mask, whose pixels are ids") +
             (named_->is_joint ? ": move it out of the joint, to the stages of the image's field"
                               : ": leave it out, or say kind = \"image\""));
    }
    channels_ = stage.output_channels(channels_);
    plan_.passes.back().pixels.push_back({&stage, nullptr, named_->draws});
  }

  void take_warp(const WarpStage& stage) {
    needs_pixels();
    check_interpolation(stage.interpolation());
    try {
      if (!plan_.is_mask) stage.check_channels(channels_);
    } catch (const InvalidArgument& error) {
      refuse(error.what());
    }
    plan_.passes.back().pixels.push_back({nullptr, &stage, named_->draws});
  }

  void take_tensor(const TensorStage& stage) {
    if (plan_.is_mask && !stage.takes_masks()) {
      refuse(
          "it makes other values, and the field is a mask, whose pixels are ids: leave it out, or "
          "say kind = \"image\"");
    }
    tensor_stages_.push_back(*named_);
  }

  void take_finish(const Stage& stage) {
    if (!tensor_stages_.empty()) refuse("it must stand before tensor stages");
    if (const auto* to = dynamic_cast<const ToStage*>(&stage)) return take_to(to->parameters());
    take_normalize(dynamic_cast<const NormalizeStage&>(stage).parameters());
  }

  void take_to(const ToStage::Parameters& to) {
    if (formatted_) refuse("the field has it already, or `normalize` stands before it");
    const bool is_float =
        to.dtype == DType::f16 || to.dtype == DType::bf16 || to.dtype == DType::f32;
    if (!is_float && to.dtype != DType::u8) take_integers(to.dtype);
    if (is_float && plan_.is_mask) {
      refuse(
          "the field is a mask, whose pixels are ids: let it become an integer type, such as u8 or "
          "i64, or say kind = \"image\"");
    }
    if (to.layout == ImageLayout::hw && channels_ != 1) {
      refuse("the layout `hw` is for one channel, and the image has " + std::to_string(channels_) +
             ": decode it with mode = \"gray\" or \"index\", or take `chw`");
    }
    plan_.format.dtype = is_float ? to.dtype : DType::u8;
    plan_.format.layout = to.layout == ImageLayout::hw ? ImageLayout::hwc : to.layout;
    two_dimensional_ = to.layout == ImageLayout::hw;
    if (is_float) plan_.format.scale.fill(static_cast<float>(1.0 / 255.0));
    formatted_ = true;
  }

  // Of one channel: what is ids, or levels, and no colour.
  void take_integers(DType dtype) {
    const bool is_integer = dtype != DType::f64 && dtype != DType::boolean;
    if (!is_integer || channels_ != 1) {
      refuse(
          "images become u8, f16, bf16 or f32, and those of one channel (decode with mode = "
          "\"gray\" or \"index\") any integer type");
    }
    NamedStage cast = *named_;
    cast.stage = cast_stage(DType::u8, dtype);
    integers_ = std::move(cast);
  }

  void take_normalize(const NormalizeStage::Parameters& normal) {
    if (normalized_) refuse("the field has it already");
    if (plan_.is_mask) {
      refuse("the field is a mask, whose pixels are ids: leave it out, or say kind = \"image\"");
    }
    if (plan_.format.dtype == DType::u8) {
      refuse("it makes floats: put { stage = \"to\", dtype = \"f32\" } before it");
    }
    const auto count = static_cast<std::size_t>(channels_);
    const auto fits_channels = [count](std::size_t n) { return n == 1 || n == count; };
    if (!fits_channels(normal.mean.size()) || !fits_channels(normal.std.size())) {
      refuse("the image has " + std::to_string(count) + " channel" + (count == 1 ? "" : "s") +
             ", so mean and std need one value or as many");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double mean = normal.mean[normal.mean.size() == 1 ? 0 : i];
      const double std = normal.std[normal.std.size() == 1 ? 0 : i];
      plan_.format.scale[i] = static_cast<float>(1.0 / (255.0 * std));
      plan_.format.bias[i] = static_cast<float>(-mean / std);
    }
    normalized_ = true;
  }

  void finish() {
    if (!size_ || size_->width <= 0 || size_->height <= 0) {
      throw InvalidArgument(
          "batchcast: images have sizes of their own and the samples of the field `" + field_.name +
          "` must have one. Add random_resized_crop, center_crop or random_crop, or "
          "resize with [height, width].");
    }
    const auto area = static_cast<std::int64_t>(size_->width) * size_->height;
    if (area > (std::int64_t{1} << 28)) {
      throw InvalidArgument("batchcast: the field `" + field_.name + "` of " + text(*size_) +
                            " pixels is too large. Ask for at most 2^28 pixels.");
    }
    plan_.channels_out = channels_;
    TensorSpec spec{plan_.format.dtype, {}};
    const std::int64_t height = size_->height;
    const std::int64_t width = size_->width;
    if (two_dimensional_) {
      spec.shape = {height, width};
    } else if (plan_.format.layout == ImageLayout::chw) {
      spec.shape = {channels_, height, width};
    } else {
      spec.shape = {height, width, channels_};
    }
    if (integers_) tensor_stages_.insert(tensor_stages_.begin(), *integers_);
    plan_.steps.emplace(field_.name, std::move(spec), tensor_stages_);
    plan_.output = plan_.steps->output();
    if (field_.views != 0) plan_.output.shape.insert(plan_.output.shape.begin(), field_.views);
  }

  const ResolvedField& field_;
  const PartSpec& part_;
  ImagePlan plan_;
  const Stage* stage_ = nullptr;
  const NamedStage* named_ = nullptr;
  std::int32_t channels_ = 3;
  std::optional<ImageSize> size_;
  GeometryTraits done_;
  bool two_dimensional_ = false;
  bool formatted_ = false;
  bool normalized_ = false;
  std::optional<NamedStage> integers_;
  std::vector<NamedStage> tensor_stages_;
};

class ImageProgram final : public FieldProgram {
 public:
  explicit ImageProgram(ImagePlan plan) : plan_(std::move(plan)) {}
  [[nodiscard]] const TensorSpec& output() const noexcept override { return plan_.output; }
  [[nodiscard]] bool shares_decoding(const FieldProgram& other) const noexcept override {
    const auto* image = dynamic_cast<const ImageProgram*>(&other);
    return image != nullptr && plan_.decode && plan_.decode == image->plan_.decode;
  }
  [[nodiscard]] std::unique_ptr<FieldRunner> runner(
      std::span<const FieldProgram* const> others) const override {
    std::vector<const ImagePlan*> plans = {&plan_};
    for (const FieldProgram* other : others) {
      plans.push_back(&dynamic_cast<const ImageProgram&>(*other).plan_);
    }
    return image_runner(plans);
  }

 private:
  ImagePlan plan_;
};

}  // namespace

std::optional<RawImage> as_raw_image(const PartSpec& part) {
  if (part.kind != PartKind::tensor || part.dtype != DType::u8) return std::nullopt;
  const auto extent = [&](std::size_t i) { return static_cast<std::int32_t>(part.shape[i]); };
  constexpr std::int64_t extent_max = 1 << 20;
  for (const std::int64_t value : part.shape) {
    if (value > extent_max) return std::nullopt;
  }
  if (part.shape.size() == 2) return RawImage{{extent(1), extent(0)}, 1, true, true};
  if (part.shape.size() != 3) return std::nullopt;
  const std::size_t channel_dimension = part.channels_last ? 2 : 0;
  const std::int32_t channels = extent(channel_dimension);
  if (channels != 1 && channels != 3) return std::nullopt;
  if (part.channels_last) return RawImage{{extent(1), extent(0)}, channels, true, false};
  return RawImage{{extent(2), extent(1)}, channels, false, false};
}

ImagePlan plan_image(const ResolvedField& field, const PartSpec& part) {
  return ImageCompiler(field, part).compile();
}

std::unique_ptr<FieldProgram> compile_image(const ResolvedField& field, const PartSpec& part) {
  return std::make_unique<ImageProgram>(plan_image(field, part));
}

}  // namespace batchcast::inline v0_1::detail
