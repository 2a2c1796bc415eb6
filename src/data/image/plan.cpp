// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/program.hpp"
#include "data/program/tensor_program.hpp"
#include "data/refuse_at.hpp"

#include <batchcast/core/error.hpp>

#include <utility>

// Compiles an image field: sorts its stages into passes over the pixels and works out what comes
// out.
namespace batchcast::inline v0_1::detail {
namespace {

std::string text(ImageSize size) {
  return std::to_string(size.width) + " by " + std::to_string(size.height);
}

/// What is known of the image between two stages. Sizes that are not known are equal where their
/// number is.
struct PixelShape {
  std::optional<ImageSize> size;
  int unknown = 0;
  std::int32_t channels = 3;

  [[nodiscard]] bool is_same(const PixelShape& other) const noexcept {
    if (channels != other.channels) return false;
    return size && other.size ? *size == *other.size
                              : !size && !other.size && unknown == other.unknown;
  }
};

std::string text(const PixelShape& shape) {
  return (shape.size ? text(*shape.size) + " pixels" : "pixels of no known size") + " with " +
         std::to_string(shape.channels) + (shape.channels == 1 ? " channel" : " channels");
}

/// Stages are taken in the recipe's order; each kind knows what may have come before it.
class ImageCompiler {
 public:
  ImageCompiler(const ResolvedField& field, const PartSpec& part) : field_(field), part_(part) {
    plan_.is_mask = field.kind == FieldKind::mask;
    plan_.views = field.views == 0 ? 1 : static_cast<std::uint32_t>(field.views);
    if (part.kind == PartKind::image) {
      // Pixels of a decoded image have no layout of their own; trainers want planes.
      plan_.format.layout = ImageLayout::chw;
    } else {
      plan_.raw = *as_raw_image(part);
      shape_ = {plan_.raw.size, 0, plan_.raw.channels};
      plan_.format.layout = plan_.raw.channels_last ? ImageLayout::hwc : ImageLayout::chw;
      two_dimensional_ = plan_.raw.two_dimensional;
    }
  }

  ImagePlan compile() {
    for (const NamedStage& named : field_.stages) {
      named_ = &named;
      stage_ = named.stage.get();
      plan_.owners.push_back(named.stage);
      take(*stage_);
    }
    if (part_.kind == PartKind::image && !plan_.decode) {
      refuse_at(field_.where, "the part `" + part_.name +
                                  "` is an encoded image. Let the stages of the field `" +
                                  field_.name + "` begin with { stage = \"decode\" }.");
    }
    finish();
    list_walks();
    for (const ImageStep& step : plan_.image_steps) {
      if (step.container != nullptr) plan_.branches = true;
    }
    if (plan_.branches) return std::move(plan_);
    for (const ImageStep& step : plan_.image_steps) plan_.passes.add(step);
    return std::move(plan_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    refuse_stage(field_.name, stage_->name(), why, named_->where);
  }

  void take(const Stage& stage) {
    if (const DecodeStage* decode = stage.as_decode()) return take_decode(*decode);
    if (const TensorStage* tensor = stage.as_tensor()) return take_tensor(*tensor);
    if (stage.kind() == StageKind::finish) return take_finish(stage);
    needs_pixels();
    plan_.image_steps.push_back(take_step(*named_));
  }

  void take_decode(const DecodeStage& decode) {
    if (part_.kind != PartKind::image) {
      refuse("the part `" + part_.name + "` is decoded already. Leave the stage out");
    }
    if (named_ != &field_.stages.front()) refuse("it must be the field's first stage");
    plan_.decode = decode.parameters();
    shape_.channels = plan_.decoded_channels();
    if (plan_.keeps() && plan_.decode->bits == 16) plan_.format.dtype = DType::u16;
  }

  void needs_pixels() const {
    if (formatted_ || !tensor_stages_.empty()) {
      refuse("it works on pixels, so it must stand before `to`, `normalize` and tensor stages");
    }
  }

  /// Also of a stage in a container.
  ImageStep take_step(const NamedStage& named) {
    const NamedStage* const before = std::exchange(named_, &named);
    stage_ = named.stage.get();
    ImageStep step;
    step.draws = named.draws;
    step.path = named.path;
    step.is_joint = named.is_joint;
    step.geometry = stage_->as_geometry();
    step.pixels = stage_->as_pixel();
    step.warp = stage_->as_warp();
    step.container = stage_->as_container();
    if (step.geometry != nullptr) take_geometry(*step.geometry);
    if (step.pixels != nullptr) take_pixels(*step.pixels);
    if (step.warp != nullptr) take_warp(*step.warp);
    if (step.container != nullptr) take_container(named, step);
    named_ = before;
    stage_ = before->stage.get();
    return step;
  }

  // Whatever is chosen, one shape comes out.
  void take_container(const NamedStage& named, ImageStep& step) {
    ++depth_;
    const PixelShape in = shape_;
    const Branching branching = step.container->branching();
    const bool one_after_another =
        branching == Branching::all || branching == Branching::all_or_none;
    std::optional<PixelShape> out;
    if (branching != Branching::all && branching != Branching::one) out = in;
    for (const NamedStage& inner : named.stages) {
      if (!one_after_another) shape_ = in;
      step.inner.push_back(take_step(inner));
      if (one_after_another) continue;
      if (!out) out = shape_;
      if (!shape_.is_same(*out)) refuse_shapes(inner, shape_, *out);
    }
    if (out && !shape_.is_same(*out)) refuse_shapes(named.stages.back(), shape_, *out);
    if (out) shape_ = *out;
    --depth_;
  }

  [[noreturn]] void refuse_shapes(const NamedStage& inner, const PixelShape& one,
                                  const PixelShape& other) const {
    refuse("with its `" + std::string(inner.stage->name()) + "` come out " + text(one) +
           ", and otherwise " + text(other) +
           ", so samples would differ in shape: let all that may be chosen give one shape, with "
           "resize or a crop to [height, width] in each of them or before this stage");
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
    check_interpolation(stage.interpolation());
    const GeometryTraits traits = stage.traits();
    check_kept(stage, traits);
    check_count(stage);
    try {
      shape_.size = stage.output(shape_.size);
    } catch (const InvalidArgument& error) {
      refuse(error.what());
    }
    if (!traits.crops && !traits.resizes && !traits.pads) return;
    sized_by_ = named_;
    if (!shape_.size) shape_.unknown = ++unknown_sizes_;
  }

  // A mask is resized to the nearest whatever the stage says.
  void check_kept(const GeometryStage& stage, const GeometryTraits& traits) const {
    if (!plan_.keeps() || plan_.is_mask || !traits.resizes) return;
    if (stage.interpolation() == Interpolation::nearest) return;
    refuse(
        "the field keeps its pixels as they are, and resizing them would mix them: say "
        "interpolation = \"nearest\", or decode with mode = \"rgb\" or \"gray\"");
  }

  void check_not_kept() const {
    if (!plan_.keeps()) return;
    refuse(
        "it takes gray or RGB of 8 bits, and the field keeps its pixels as they are: leave it out, "
        "or decode with mode = \"rgb\" or \"gray\"");
  }

  void check_count(const GeometryStage& stage) {
    if (stage.count() == 1) return;
    if (depth_ != 0) {
      refuse("it makes several images of one, and may not be chosen: give it to the field itself");
    }
    if (plan_.crops != 1) refuse("the field has a stage that makes several images of one already");
    plan_.crops = static_cast<std::uint32_t>(stage.count());
  }

  void take_pixels(const PixelStage& stage) {
    if (plan_.is_mask) {
      refuse(std::string("it changes colours, and the field is a mask, whose pixels are ids") +
             (stage.moves_pixels() ? ", which no policy can be done to: leave it out"
              : named_->is_joint ? ": move it out of the joint, to the stages of the image's field"
                                 : ": leave it out, or say kind = \"image\""));
    }
    check_not_kept();
    try {
      shape_.channels = stage.output_channels(shape_.channels);
    } catch (const InvalidArgument& error) {
      refuse(error.what());
    }
  }

  void take_warp(const WarpStage& stage) {
    check_not_kept();
    check_interpolation(stage.interpolation());
    try {
      if (!plan_.is_mask) stage.check_channels(shape_.channels);
    } catch (const InvalidArgument& error) {
      refuse(error.what());
    }
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
    if (const ToStage* to = stage.as_to()) return take_to(to->parameters());
    take_normalize(stage.as_normalize()->parameters());
  }

  void take_to(const ToStage::Parameters& to) {
    if (formatted_) refuse("the field has it already, or `normalize` stands before it");
    if (plan_.keeps()) return take_to_of_kept(to);
    const bool is_float =
        to.dtype == DType::f16 || to.dtype == DType::bf16 || to.dtype == DType::f32;
    if (!is_float && to.dtype != DType::u8) take_integers(to.dtype);
    if (is_float && plan_.is_mask) refuse_float_ids();
    check_hw(to.layout);
    plan_.format.dtype = is_float ? to.dtype : DType::u8;
    take_layout(to.layout);
    if (is_float) plan_.format.scale.fill(static_cast<float>(1.0 / level_most()));
    formatted_ = true;
  }

  void take_to_of_kept(const ToStage::Parameters& to) {
    const bool is_wide = plan_.decode->bits == 16;
    const bool is_float = to.dtype == DType::f32;
    const bool is_narrow = to.dtype == DType::u8 || to.dtype == DType::i8 || to.dtype == DType::i16;
    const bool is_other = to.dtype == DType::f16 || to.dtype == DType::bf16 ||
                          to.dtype == DType::f64 || to.dtype == DType::boolean;
    if (is_other || (is_wide && is_narrow) || to.dtype == DType::i8) {
      refuse("kept pixels of " + std::to_string(plan_.decode->bits) + " bits become u" +
             std::to_string(plan_.decode->bits) + ", a wider integer type or f32");
    }
    if (is_float && plan_.is_mask) refuse_float_ids();
    check_hw(to.layout);
    take_layout(to.layout);
    if (is_float) {
      plan_.format.dtype = DType::f32;
      plan_.format.scale.fill(static_cast<float>(1.0 / level_most()));
    } else if (to.dtype != plan_.format.dtype) {
      NamedStage cast = *named_;
      cast.stage = cast_stage(plan_.format.dtype, to.dtype);
      integers_ = std::move(cast);
    }
    formatted_ = true;
  }

  [[nodiscard]] double level_most() const {
    return plan_.keeps() && plan_.decode->bits == 16 ? 65535 : 255;
  }

  [[noreturn]] void refuse_float_ids() const {
    refuse(
        "the field is a mask, whose pixels are ids: let it become an integer type, such as u8 or "
        "i64, or say kind = \"image\"");
  }

  void check_hw(ImageLayout layout) const {
    if (layout != ImageLayout::hw || shape_.channels == 1) return;
    refuse("the layout `hw` is for one channel, and the image has " +
           std::to_string(shape_.channels) +
           ": decode it with mode = \"gray\" or \"index\", or take `chw`");
  }

  void take_layout(ImageLayout layout) {
    plan_.format.layout = layout == ImageLayout::hw ? ImageLayout::hwc : layout;
    two_dimensional_ = layout == ImageLayout::hw;
  }

  // Of one channel: what is ids, or levels, and no colour.
  void take_integers(DType dtype) {
    const bool is_integer = dtype != DType::f64 && dtype != DType::boolean;
    if (!is_integer || shape_.channels != 1) {
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
    if (plan_.format.dtype == DType::u8 || plan_.format.dtype == DType::u16 || integers_) {
      refuse("it makes floats: put { stage = \"to\", dtype = \"f32\" } before it");
    }
    const auto count = static_cast<std::size_t>(shape_.channels);
    const auto fits_channels = [count](std::size_t n) { return n == 1 || n == count; };
    if (!fits_channels(normal.mean.size()) || !fits_channels(normal.std.size())) {
      refuse("the image has " + std::to_string(count) + " channel" + (count == 1 ? "" : "s") +
             ", so mean and std need one value or as many");
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double mean = normal.mean[normal.mean.size() == 1 ? 0 : i];
      const double std = normal.std[normal.std.size() == 1 ? 0 : i];
      plan_.format.scale[i] = static_cast<float>(1.0 / (level_most() * std));
      plan_.format.bias[i] = static_cast<float>(-mean / std);
    }
    normalized_ = true;
  }

  void list_walks() {
    std::vector<std::string> walk;
    const auto end_walk = [&] {
      if (!walk.empty()) plan_.walks.push_back(std::exchange(walk, {}));
    };
    if (plan_.decode) walk.emplace_back("decode");
    PassList passes;
    for (const ImageStep& step : plan_.image_steps) {
      const std::size_t before = passes.passes().size();
      if (step.container == nullptr) passes.add(step);
      if (step.geometry == nullptr || passes.passes().size() != before) end_walk();
      walk.emplace_back(step.stage().name());
      if (step.geometry == nullptr) end_walk();
      if (step.container != nullptr) passes.clear();
    }
    for (const NamedStage& named : field_.stages) {
      if (named.stage->kind() == StageKind::tensor) end_walk();
      const bool is_last =
          named.stage->kind() == StageKind::finish || named.stage->kind() == StageKind::tensor;
      if (is_last) walk.emplace_back(named.stage->name());
    }
    end_walk();
  }

  void finish() {
    if (!shape_.size || shape_.size->width <= 0 || shape_.size->height <= 0) {
      refuse_at(field_.where,
                "images have sizes of their own and the samples of the field `" + field_.name +
                    "` must have one. Add random_resized_crop, center_crop or random_crop, or "
                    "resize with [height, width].");
    }
    const auto area = static_cast<std::int64_t>(shape_.size->width) * shape_.size->height;
    if (area > (std::int64_t{1} << 28)) {
      refuse_at(sized_by_ != nullptr ? sized_by_->where : field_.where,
                "the field `" + field_.name + "` of " + text(*shape_.size) +
                    " pixels is too large. Ask for at most 2^28 pixels.");
    }
    plan_.channels_out = shape_.channels;
    TensorSpec spec{plan_.format.dtype, {}};
    const std::int64_t height = shape_.size->height;
    const std::int64_t width = shape_.size->width;
    if (two_dimensional_) {
      spec.shape = {height, width};
    } else if (plan_.format.layout == ImageLayout::chw) {
      spec.shape = {shape_.channels, height, width};
    } else {
      spec.shape = {height, width, shape_.channels};
    }
    if (integers_) tensor_stages_.insert(tensor_stages_.begin(), *integers_);
    plan_.steps.emplace(field_.name, std::move(spec), tensor_stages_);
    plan_.output = plan_.steps->output();
    if (plan_.crops != 1) {
      plan_.output.shape.insert(plan_.output.shape.begin(), plan_.crops);
    }
    if (field_.views != 0) plan_.output.shape.insert(plan_.output.shape.begin(), field_.views);
  }

  const ResolvedField& field_;
  const PartSpec& part_;
  ImagePlan plan_;
  const Stage* stage_ = nullptr;
  const NamedStage* named_ = nullptr;
  const NamedStage* sized_by_ = nullptr;  ///< the last that crops, resizes or pads
  PixelShape shape_;
  int unknown_sizes_ = 0;
  int depth_ = 0;  ///< containers around the stage
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
  [[nodiscard]] const DecodeStage::Parameters* decoding() const noexcept override {
    return plan_.decode ? &*plan_.decode : nullptr;
  }
  [[nodiscard]] std::vector<std::vector<std::string>> walks() const override { return plan_.walks; }
  [[nodiscard]] std::unique_ptr<FieldRunner> runner(
      std::span<const FieldProgram* const> others) const override {
    std::vector<const ImagePlan*> plans = {&plan_};
    for (const FieldProgram* other : others) {
      // They decode, as no other program does.
      plans.push_back(&static_cast<const ImageProgram&>(*other).plan_);
    }
    return image_runner(plans);
  }

 private:
  ImagePlan plan_;
};

}  // namespace

void PassList::clear() {
  count_ = 0;
  begin_pass();
}

void PassList::begin_pass() {
  if (count_ == passes_.size()) passes_.emplace_back();
  passes_[count_].geometry.clear();
  passes_[count_].pixels.clear();
  ++count_;
  done_ = {};
}

// One pass crops, resizes, and then crops or pads. What is padded must be the whole of what was
// resized: beyond a cropped edge lies the rest of the image, not padding.
bool PassList::fits(const GeometryTraits& traits) const {
  if (!passes_[count_ - 1].pixels.empty()) return false;
  if (traits.resizes && (done_.resizes || done_.pads)) return false;
  if (traits.pads && (done_.pads || done_.crops)) return false;
  return true;
}

void PassList::add(const ImageStep& step) {
  if (step.geometry == nullptr) {
    passes_[count_ - 1].pixels.push_back({step.pixels, step.warp, step.draws});
    return;
  }
  const GeometryTraits traits = step.geometry->traits();
  if (!fits(traits)) begin_pass();
  // RandomResizedCrop crops what it then resizes: nothing is cropped of what comes out.
  done_.crops = traits.resizes ? false : done_.crops || traits.crops;
  done_.resizes = done_.resizes || traits.resizes;
  done_.pads = done_.pads || traits.pads;
  passes_[count_ - 1].geometry.push_back({step.geometry, step.draws, step.is_joint});
}

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
