// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/program.hpp"
#include "data/program/pixel_form.hpp"
#include "data/program/tensor_program.hpp"
#include "data/refuse_at.hpp"

#include <batchcast/core/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

// Compiles an image field: groups its stages into passes and works out the result's shape.
namespace batchcast::inline v0_1::detail {
namespace {

/// What is known about the image between two stages. Sizes that are not known are equal where their
/// number is equal.
struct PixelShape {
  std::optional<ImageSize> size;
  int unknown = 0;
  std::int32_t channels = 3;

  [[nodiscard]] bool is_same(const PixelShape& other, bool any_size) const noexcept {
    if (any_size || channels != other.channels) return channels == other.channels;
    return size && other.size ? *size == *other.size
                              : !size && !other.size && unknown == other.unknown;
  }
};

std::string size_text(ImageSize size) { return text("{} by {}", size.width, size.height); }

std::string size_text(const PixelShape& shape) {
  return text("{} with {}{}",
              shape.size ? text("{} pixels", size_text(*shape.size)) : "pixels of no known size",
              shape.channels, shape.channels == 1 ? " channel" : " channels");
}

/// Takes the stages of an image field that work on pixels, in the recipe's order, and follows the
/// image through them.
class StepCompiler {
 public:
  /// Field and plan must outlive it; the image begins as `shape`.
  StepCompiler(const ResolvedField& field, ImagePlan& plan, const PixelShape& shape)
      : field_(field), plan_(plan), shape_(shape) {}

  /// Appends the stage to the plan's steps.
  void add(const NamedStage& stage) { plan_.image_steps.push_back(take(stage)); }
  /// The shape after the stages so far.
  [[nodiscard]] const PixelShape& shape() const noexcept { return shape_; }
  /// The size that comes out, once `check_size` has found it good.
  [[nodiscard]] ImageSize size() const {
    return {shape_.size->width * plan_.scale, shape_.size->height * plan_.scale};
  }
  /// The shape that comes out has to be known, and no larger than a field may be.
  void check_size() const {
    if (!shape_.size && !plan_.axis.empty()) return;
    if (!shape_.size || shape_.size->width <= 0 || shape_.size->height <= 0) {
      refuse_at(
          field_.where,
          text("images differ in size, and the samples of the field `{}` must have one size. Add "
               "random_resized_crop, center_crop or random_crop, or resize with [height, width]. "
               "Where "
               "they are to keep their own sizes, say axis = \"pixels\".",
               field_.name));
    }
    const auto area = static_cast<std::int64_t>(shape_.size->width) * shape_.size->height;
    if (area <= (std::int64_t{1} << 28) / plan_.scale / plan_.scale) return;
    refuse_at(sized_by_ != nullptr ? sized_by_->where : field_.where,
              text("the field `{}` of {} pixels{} is too large. Ask for at most 2^28 pixels.",
                   field_.name, size_text(*shape_.size),
                   plan_.scale == 1 ? "" : text(" with scale = {}", plan_.scale)));
  }

 private:
  [[noreturn]] void refuse(const NamedStage& named, const std::string& why) const {
    refuse_stage(field_.name, named, why);
  }

  /// Calls a question of the stage: the field refuses, with its name, what the stage refuses.
  template <class Question>
  void ask(const NamedStage& named, Question question) const {
    try {
      question();
    } catch (const InvalidArgument& error) {
      refuse(named, error.what());
    }
  }

  ImageStep take(const NamedStage& named) {
    const Stage& stage = *named.stage;
    ImageStep step;
    step.geometry = stage.as_geometry();
    step.pixels = stage.as_pixel();
    step.warp = stage.as_warp();
    step.container = stage.as_container();
    step.draws = named.draws;
    step.path = named.path;
    step.is_joint = named.is_joint;
    step.cut = named.cut;
    if (step.geometry != nullptr) take_geometry(named, *step.geometry);
    if (step.pixels != nullptr) take_pixels(named, *step.pixels);
    if (step.warp != nullptr) take_warp(named, *step.warp);
    if (step.container != nullptr) take_container(named, step);
    return step;
  }

  // Every choice of the container must give the same shape.
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
      step.inner.push_back(take(inner));
      if (one_after_another) continue;
      if (!out) out = shape_;
      if (!is_same_as(*out)) refuse_shapes(named, inner, *out);
      join_sizes(*out);
    }
    if (out && !is_same_as(*out)) refuse_shapes(named, named.stages.back(), *out);
    if (out) {
      join_sizes(*out);
      shape_ = *out;
    }
    --depth_;
  }

  // Of images that may have any size.
  void join_sizes(PixelShape& other) {
    if (plan_.axis.empty() || (shape_.size && other.size == shape_.size)) return;
    other.size.reset();
    other.unknown = ++unknown_sizes_;
  }
  [[nodiscard]] bool is_same_as(const PixelShape& other) const noexcept {
    return shape_.is_same(other, !plan_.axis.empty());
  }

  [[noreturn]] void refuse_shapes(const NamedStage& container, const NamedStage& inner,
                                  const PixelShape& other) const {
    refuse(container, text("with its `{}` come out {}, and otherwise {}, so samples would differ "
                           "in shape: let all that may be chosen give one shape, with resize or a "
                           "crop to [height, width] in each of them or before this stage",
                           inner.stage->name(), size_text(shape_), size_text(other)));
  }

  void take_geometry(const NamedStage& named, const GeometryStage& stage) {
    check_interpolation(named, stage.interpolation());
    check_kept(named, stage);
    check_scaled_padding(named, stage);
    take_count(named, stage);
    ask(named, [&] { shape_.size = stage.output(shape_.size); });
    const GeometryTraits traits = stage.traits();
    if (traits.resizes) note_mixing(named, stage.interpolation());
    if (!traits.crops && !traits.resizes && !traits.pads) return;
    sized_by_ = &named;
    if (!shape_.size) shape_.unknown = ++unknown_sizes_;
  }

  void take_pixels(const NamedStage& named, const PixelStage& stage) {
    if (plan_.is_mask && !stage.takes_masks()) {
      refuse(named, text("it changes colours, and the field is a mask, whose pixels are ids{}",
                         stage.moves_pixels() ? ", which no policy can be done to: leave it out"
                         : named.is_joint
                             ? ": move it out of the joint, to the stages of the image's field"
                             : ": leave it out, or say kind = \"image\""));
    }
    check_not_kept(named);
    if (stage.moves_pixels()) check_not_scaled(named, "turns and shears pixels");
    if (!plan_.is_mask && stage.takes_masks() && mixed_by_ != nullptr) {
      refuse(named, text("it takes ids, and `{}` before it mixes those of neighbours: say kind = "
                         "\"mask\" for the field, or resize to the nearest pixel",
                         mixed_by_->stage->name()));
    }
    ask(named, [&] { shape_.channels = stage.output_channels(shape_.channels); });
  }

  void take_warp(const NamedStage& named, const WarpStage& stage) {
    check_not_kept(named);
    check_not_scaled(named, "moves pixels to places between those of the smaller image");
    check_interpolation(named, stage.interpolation());
    note_mixing(named, stage.interpolation());
    if (!plan_.is_mask) ask(named, [&] { stage.check_channels(shape_.channels); });
  }

  void note_mixing(const NamedStage& named, std::optional<Interpolation> interpolation) {
    if (interpolation != Interpolation::nearest) mixed_by_ = &named;
  }

  void check_interpolation(const NamedStage& named,
                           std::optional<Interpolation> interpolation) const {
    // In a joint the images' interpolation is given.
    if (plan_.is_mask && !named.is_joint &&
        interpolation.value_or(Interpolation::nearest) != Interpolation::nearest) {
      refuse(named,
             "the field is a mask, and its interpolation would mix ids: leave `interpolation` out, "
             "or say kind = \"image\"");
    }
  }

  // A mask is resized to the nearest; the stage's interpolation does not count.
  void check_kept(const NamedStage& named, const GeometryStage& stage) const {
    if (!plan_.keeps() || plan_.is_mask || !stage.traits().resizes) return;
    if (stage.interpolation() == Interpolation::nearest) return;
    refuse(named,
           "the field keeps its pixels as they are, and resizing them would mix them: say "
           "interpolation = \"nearest\", or decode with mode = \"rgb\" or \"gray\"");
  }

  void check_not_kept(const NamedStage& named) const {
    if (!plan_.keeps()) return;
    refuse(named,
           "it takes gray or RGB of 8 bits, and the field keeps its pixels as they are: leave it "
           "out, or decode with mode = \"rgb\" or \"gray\"");
  }

  void check_not_scaled(const NamedStage& named, const char* what) const {
    if (plan_.scale == 1) return;
    refuse(named, text("it {}, and the field has scale = {}, which goes with stages that crop, "
                       "resize, pad, flip or colour: leave one of them out",
                       what, plan_.scale));
  }

  // The pixels at the edge are left out where `reflect` mirrors, and they are more than one pixel
  // of the smaller image.
  void check_scaled_padding(const NamedStage& named, const GeometryStage& stage) const {
    if (plan_.scale == 1 || !stage.traits().pads) return;
    const auto parameters = nlohmann::json::parse(stage.parameters_json(), nullptr, false);
    if (!parameters.is_object() || parameters.value("padding_mode", "") != "reflect") return;
    refuse(named, text("with scale = {} the padding_mode \"reflect\" would mirror other pixels "
                       "than in the smaller image: say \"symmetric\", \"edge\" or \"constant\"",
                       plan_.scale));
  }

  void take_count(const NamedStage& named, const GeometryStage& stage) {
    if (stage.count() == 1) return;
    if (depth_ != 0) {
      refuse(named,
             "it makes several images of one, and may not be chosen: give it to the field itself");
    }
    if (plan_.crops != 1) {
      refuse(named, "the field has a stage that makes several images of one already");
    }
    plan_.crops = static_cast<std::uint32_t>(stage.count());
  }

  const ResolvedField& field_;
  ImagePlan& plan_;
  PixelShape shape_;
  int unknown_sizes_ = 0;
  int depth_ = 0;                         ///< containers around the stage
  const NamedStage* sized_by_ = nullptr;  ///< the last that crops, resizes or pads
  const NamedStage* mixed_by_ = nullptr;  ///< the last whose pixels lie between others
};

/// Takes the end of an image field: `to`, `normalize` and tensor stages, in the recipe's order.
class FormatCompiler {
 public:
  /// Field and plan must outlive it. The plan has the layout and the type of the pixels.
  FormatCompiler(const ResolvedField& field, ImagePlan& plan)
      : field_(field), plan_(plan), two_dimensional_(plan.raw.two_dimensional) {}

  /// The image has `channels` channels.
  void add(const NamedStage& named, std::int32_t channels) {
    const Stage& stage = *named.stage;
    if (!plan_.axis.empty()) check_pixels(named);
    if (const TensorStage* tensor = stage.as_tensor()) return take_tensor(named, *tensor);
    if (!tensor_stages_.empty()) {
      refuse(
          tensor_stages_.front(),
          text("it works on what `{}` makes: put it after `{}`{}", stage.name(), stage.name(),
               pixel_form_of(*tensor_stages_.front().stage) == nullptr ? "" : ", or before `to`"));
    }
    if (const ToStage* to = stage.as_to()) return take_to(named, to->parameters(), channels);
    if (const NormalizeStage* normalize = stage.as_normalize()) {
      return take_normalize(named, normalize->parameters(), channels);
    }
    refuse(named, "derive it from GeometryStage, PixelStage, WarpStage or TensorStage");
  }

  /// Whether it is too late for stages that work on pixels.
  [[nodiscard]] bool has_begun() const noexcept { return formatted_ || !tensor_stages_.empty(); }

  /// Writes the plan's tensor steps and what comes out.
  void finish(ImageSize size, std::int32_t channels) {
    plan_.channels_out = channels;
    if (!plan_.axis.empty()) {
      plan_.output = {plan_.format.dtype, {}};
      if (!two_dimensional_) plan_.output.shape.push_back(channels);
      return;
    }
    TensorSpec spec{plan_.format.dtype, {size.height, size.width}};
    if (!two_dimensional_) {
      const bool planar = plan_.format.layout == ImageLayout::chw;
      spec.shape.insert(planar ? spec.shape.begin() : spec.shape.end(), channels);
    }
    if (integers_) tensor_stages_.insert(tensor_stages_.begin(), *integers_);
    plan_.steps.emplace(field_.name, std::move(spec), tensor_stages_);
    plan_.output = plan_.steps->output();
    if (plan_.crops != 1) plan_.output.shape.insert(plan_.output.shape.begin(), plan_.crops);
    if (plan_.frames != 0) plan_.output.shape.insert(plan_.output.shape.begin(), plan_.frames);
    if (field_.views != 0) plan_.output.shape.insert(plan_.output.shape.begin(), field_.views);
  }

 private:
  [[noreturn]] void refuse(const NamedStage& named, const std::string& why) const {
    refuse_stage(field_.name, named, why);
  }

  // Pixels on an axis are u8, channels last: what trainers pad and finish.
  void check_pixels(const NamedStage& named) const {
    const ToStage* const to = named.stage->as_to();
    if (to == nullptr) {
      refuse(named,
             text("it works on finished images of one size, and those of the field keep their "
                  "own on the axis `{}`: do it in the trainer, or to pixels before",
                  plan_.axis));
    }
    if (to->parameters().dtype == plan_.format.dtype &&
        to->parameters().layout != ImageLayout::chw) {
      return;
    }
    refuse(named,
           text("pixels on the axis `{}` are {}, one after the other: say dtype = \"{}\" and "
                "layout = \"hwc\" (or \"hw\", of one channel), or leave the stage out",
                plan_.axis, name_of(plan_.format.dtype), name_of(plan_.format.dtype)));
  }

  void take_tensor(const NamedStage& named, const TensorStage& stage) {
    if (plan_.is_mask && !stage.takes_masks()) {
      refuse(
          named,
          "it makes other values, and the field is a mask, whose pixels are ids: leave it out, or "
          "say kind = \"image\"");
    }
    if (plan_.scale != 1 && stage.is_random()) {
      refuse(named, text("it draws for the pixels of the finished image, which are others than the "
                         "smaller image's, and the field has scale = {}: leave one of them out",
                         plan_.scale));
    }
    tensor_stages_.push_back(named);
  }

  void take_to(const NamedStage& named, const ToStage::Parameters& to, std::int32_t channels) {
    if (formatted_) refuse(named, "the field has it already, or `normalize` stands before it");
    const bool is_float =
        to.dtype == DType::f16 || to.dtype == DType::bf16 || to.dtype == DType::f32;
    if (plan_.keeps()) check_kept_type(named, to.dtype);
    if (!plan_.keeps() && !is_float) check_integers(named, to.dtype, channels);
    if (is_float && plan_.is_mask) {
      refuse(named,
             "the field is a mask, whose pixels are ids: let it become an integer type, such as u8 "
             "or i64, or say kind = \"image\"");
    }
    if (to.layout == ImageLayout::hw && channels != 1) {
      refuse(named, text("the layout `hw` is for one channel, and the image has {}: decode it with "
                         "mode = \"gray\" or \"index\", or take `chw`",
                         channels));
    }
    if (to.bgr) check_bgr(named, channels);
    plan_.format.bgr = to.bgr;
    two_dimensional_ = to.layout == ImageLayout::hw;
    plan_.format.layout = two_dimensional_ ? ImageLayout::hwc : to.layout;
    if (is_float) {
      plan_.format.dtype = to.dtype;
      plan_.format.scale.fill(static_cast<float>(1.0 / level_most()));
    } else if (to.dtype != plan_.format.dtype) {
      integers_ = named;
      integers_->stage = cast_stage(plan_.format.dtype, to.dtype);
    }
    formatted_ = true;
  }

  void check_bgr(const NamedStage& named, std::int32_t channels) const {
    if (channels != 3) {
      refuse(named, text("channel_order = \"bgr\" is for images of 3 channels, and this one has {}",
                         channels));
    }
    if (plan_.keeps()) {
      refuse(named,
             "the field keeps its pixels as they are: leave `channel_order` out, or decode with "
             "mode = \"rgb\"");
    }
  }

  void check_kept_type(const NamedStage& named, DType dtype) const {
    const bool is_narrow = dtype == DType::u8 || dtype == DType::i16;
    const bool is_other = dtype == DType::i8 || dtype == DType::f16 || dtype == DType::bf16 ||
                          dtype == DType::f64 || dtype == DType::boolean;
    if (!is_other && (plan_.decode->bits == 8 || !is_narrow)) return;
    const auto bits = plan_.decode->bits;
    refuse(named,
           text("kept pixels of {} bits become u{}, a wider integer type or f32", bits, bits));
  }

  // One channel may be ids or levels: values that are no colour.
  void check_integers(const NamedStage& named, DType dtype, std::int32_t channels) const {
    const bool is_integer = dtype != DType::f64 && dtype != DType::boolean;
    if (dtype == DType::u8 || (is_integer && channels == 1)) return;
    refuse(named,
           "images become u8, f16, bf16 or f32, and those of one channel (decode with mode = "
           "\"gray\" or \"index\") any integer type");
  }

  void take_normalize(const NamedStage& named, const NormalizeStage::Parameters& normal,
                      std::int32_t channels) {
    if (normalized_) refuse(named, "the field has it already");
    if (plan_.is_mask) {
      refuse(named,
             "the field is a mask, whose pixels are ids: leave it out, or say kind = \"image\"");
    }
    if (plan_.format.dtype == DType::u8 || plan_.format.dtype == DType::u16 || integers_) {
      refuse(named, "it makes floats: put { stage = \"to\", dtype = \"f32\" } before it");
    }
    const auto count = static_cast<std::size_t>(channels);
    const auto fits_channels = [count](std::size_t n) { return n == 1 || n == count; };
    if (!fits_channels(normal.mean.size()) || !fits_channels(normal.std.size())) {
      refuse(named, text("the image has {} channel{}, so mean and std need one value or as many",
                         count, count == 1 ? "" : "s"));
    }
    for (std::size_t i = 0; i < count; ++i) {
      const double mean = normal.mean[normal.mean.size() == 1 ? 0 : i];
      const double std = normal.std[normal.std.size() == 1 ? 0 : i];
      plan_.format.scale[i] = static_cast<float>(1.0 / (level_most() * std));
      plan_.format.bias[i] = static_cast<float>(-mean / std);
    }
    normalized_ = true;
  }

  [[nodiscard]] double level_most() const noexcept {
    return plan_.keeps() && plan_.decode->bits == 16 ? 65535 : 255;
  }

  const ResolvedField& field_;
  ImagePlan& plan_;
  bool two_dimensional_;
  bool formatted_ = false;
  bool normalized_ = false;
  std::optional<NamedStage> integers_;  ///< makes other integers of the pixels
  std::vector<NamedStage> tensor_stages_;
};

/// Of images that keep their own sizes.
void check_axis(const ResolvedField& field, const PartSpec& part) {
  const auto refuse = [&](const char* what, const char* cure) {
    refuse_at(field.where, text("the field `{}` has {} and axis = \"{}\": images of several in a "
                                "sample have one size. {}.",
                                field.name, what, field.axis, cure));
  };
  if (field.views != 0) {
    refuse("views", "Leave `views` out, or crop or resize to [height, width] and leave out `axis`");
  }
  if (part.frames != 0) {
    refuse("frames of clips", "Crop or resize to [height, width], and leave out `axis`");
  }
}

/// Writes how the part becomes pixels. Returns what is known about these.
PixelShape begin_plan(ImagePlan& plan, const ResolvedField& field, const PartSpec& part) {
  plan.is_mask = field.kind == FieldKind::mask;
  plan.views = field.views == 0 ? 1 : static_cast<std::uint32_t>(field.views);
  plan.frames = static_cast<std::uint32_t>(part.frames);
  plan.scale = field.scale;
  plan.cuts = field.cuts;
  plan.axis = field.axis;
  if (!plan.axis.empty()) check_axis(field, part);
  if (part.kind != PartKind::image) {
    plan.raw = *as_raw_image(part);
    if (plan.raw.size.width % plan.scale != 0 || plan.raw.size.height % plan.scale != 0) {
      refuse_at(field.where, text("the field `{}` has scale = {}, and its images have {} pixels.",
                                  field.name, plan.scale, size_text(plan.raw.size)));
    }
    const bool has_channels_last = plan.raw.channels_last || !plan.axis.empty();
    plan.format.layout = has_channels_last ? ImageLayout::hwc : ImageLayout::chw;
    return {ImageSize{plan.raw.size.width / plan.scale, plan.raw.size.height / plan.scale}, 0,
            plan.raw.channels};
  }
  // Pixels of a decoded image have no layout yet; trainers want planes, and rows are pixels.
  plan.format.layout = plan.axis.empty() ? ImageLayout::chw : ImageLayout::hwc;
  const DecodeStage* const decode =
      field.stages.empty() ? nullptr : field.stages.front().stage->as_decode();
  if (decode == nullptr) return {};
  plan.decode = decode->parameters();
  if (plan.keeps() && plan.decode->bits == 16) plan.format.dtype = DType::u16;
  return {std::nullopt, 0, plan.decoded_channels()};
}

/// The names of stages that share one walk over the elements.
std::vector<std::vector<std::string>> walks_of(const ImagePlan& plan, const ResolvedField& field) {
  std::vector<std::vector<std::string>> walks;
  std::vector<std::string> walk;
  const auto end_walk = [&] {
    if (!walk.empty()) walks.push_back(std::exchange(walk, {}));
  };
  if (plan.decode) walk.emplace_back("decode");
  PassList passes;
  for (const ImageStep& step : plan.image_steps) {
    const std::size_t before = passes.passes().size();
    if (step.container == nullptr) passes.add(step);
    if (step.geometry == nullptr || passes.passes().size() != before) end_walk();
    walk.emplace_back(step.stage().name());
    if (step.geometry == nullptr) end_walk();
    if (step.container != nullptr) passes.clear();
  }
  for (std::size_t i = 0; i < field.stages.size(); ++i) {
    const NamedStage& named = field.stages[i];
    if (pixel_form_of(field.stages, i)) continue;
    const StageKind kind = named.stage->kind();
    if (kind == StageKind::tensor) end_walk();
    if (kind == StageKind::finish || kind == StageKind::tensor) {
      walk.emplace_back(named.stage->name());
    }
  }
  end_walk();
  return walks;
}

class ImageProgram final : public FieldProgram {
 public:
  explicit ImageProgram(ImagePlan plan) : plan_(std::move(plan)) {}
  [[nodiscard]] const TensorSpec& output() const noexcept override { return plan_.output; }
  [[nodiscard]] std::string_view axis() const noexcept override { return plan_.axis; }
  [[nodiscard]] const DecodeStage::Parameters* decoding() const noexcept override {
    return plan_.decode ? &*plan_.decode : nullptr;
  }
  [[nodiscard]] std::vector<std::vector<std::string>> walks() const override { return plan_.walks; }
  [[nodiscard]] std::unique_ptr<FieldRunner> runner(
      std::span<const FieldProgram* const> others) const override {
    std::vector<const ImagePlan*> plans = {&plan_};
    for (const FieldProgram* other : others) {
      // These fields decode, and only an ImageProgram does.
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

// One pass crops, resizes, and then crops or pads. It can pad only the whole of what was resized:
// beyond a cropped edge lies the rest of the image, not padding. A stage that does both resizes
// first.
bool PassList::fits(const GeometryTraits& traits) const {
  if (!passes_[count_ - 1].pixels.empty()) return false;
  if (traits.resizes && (done_.resizes || done_.pads)) return false;
  if (traits.pads && (done_.pads || (done_.crops && !traits.resizes))) return false;
  return true;
}

void PassList::add(const ImageStep& step) {
  if (step.geometry == nullptr) {
    passes_[count_ - 1].pixels.push_back({step.pixels, step.warp, step.draws, step.path, step.cut});
    return;
  }
  const GeometryTraits traits = step.geometry->traits();
  if (!fits(traits)) begin_pass();
  // RandomResizedCrop crops before it resizes: nothing is cropped from the result.
  done_.crops = traits.resizes ? false : done_.crops || traits.crops;
  done_.resizes = done_.resizes || traits.resizes;
  done_.pads = done_.pads || traits.pads;
  passes_[count_ - 1].geometry.push_back(
      {step.geometry, step.draws, step.is_joint, step.path, step.cut});
}

std::optional<RawImage> as_raw_image(const PartSpec& part) {
  if (part.kind != PartKind::tensor || part.dtype != DType::u8 || part.on_axis()) {
    return std::nullopt;
  }
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
  ImagePlan plan;
  StepCompiler steps(field, plan, begin_plan(plan, field, part));
  FormatCompiler format(field, plan);
  for (std::size_t i = 0; i < field.stages.size(); ++i) {
    const NamedStage& named = field.stages[i];
    plan.owners.push_back(named.stage);
    if (auto form = pixel_form_of(field.stages, i)) {
      if (plan.scale != 1) {
        refuse_stage(field.name, named,
                     text("it draws for each pixel, and the field has scale = {}: leave one of "
                          "them out",
                          plan.scale));
      }
      NamedStage changed = named;
      changed.stage = std::move(form);
      plan.owners.push_back(changed.stage);
      steps.add(changed);
      continue;
    }
    if (named.stage->as_decode() != nullptr) {
      if (part.kind != PartKind::image) {
        refuse_stage(field.name, named,
                     text("the part `{}` is decoded already. Leave the stage out", part.name));
      }
      if (i != 0) refuse_stage(field.name, named, "it must be the field's first stage");
    } else if (works_on_pixels(*named.stage)) {
      if (format.has_begun()) {
        refuse_stage(
            field.name, named,
            "it works on pixels, so it must stand before `to`, `normalize` and tensor stages");
      }
      steps.add(named);
    } else {
      format.add(named, steps.shape().channels);
    }
  }
  if (part.kind == PartKind::image && !plan.decode) {
    refuse_at(field.where, text("the part `{}` is an encoded image. Let the stages of the field "
                                "`{}` begin with { stage = \"decode\" }.",
                                part.name, field.name));
  }
  steps.check_size();
  if (!plan.axis.empty() && plan.crops != 1) {
    refuse_at(field.where, text("the field `{}` makes several images of each, and axis = \"{}\" is "
                                "for one. Leave one of them out.",
                                field.name, plan.axis));
  }
  format.finish(plan.axis.empty() ? steps.size() : ImageSize(), steps.shape().channels);
  plan.walks = walks_of(plan, field);
  plan.branches = std::any_of(plan.image_steps.begin(), plan.image_steps.end(),
                              [](const ImageStep& step) { return step.container != nullptr; });
  if (plan.branches) return plan;
  for (const ImageStep& step : plan.image_steps) plan.passes.add(step);
  return plan;
}

std::unique_ptr<FieldProgram> compile_image(const ResolvedField& field, const PartSpec& part) {
  return std::make_unique<ImageProgram>(plan_image(field, part));
}

}  // namespace batchcast::inline v0_1::detail
