// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/field_program.hpp"
#include "data/program/tensor_steps.hpp"
#include "data/resample/resampler.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// A stage that works on pixels; one of the pointers says which kind it is.
struct ImageStep {
  const GeometryStage* geometry = nullptr;
  const PixelStage* pixels = nullptr;
  const WarpStage* warp = nullptr;
  const ContainerStage* container = nullptr;
  DrawName draws;
  bool is_joint = false;
  std::string path;
  std::vector<ImageStep> inner;  ///< of a container
  std::int32_t cut = -1;         ///< as NamedStage

  [[nodiscard]] const Stage& stage() const noexcept {
    if (geometry != nullptr) return *geometry;
    if (pixels != nullptr) return *pixels;
    if (warp != nullptr) return *warp;
    return *container;
  }
};

/// Geometry that one walk over the pixels does, and then pixel stages and warps over what came out.
struct ImagePass {
  struct Placing {
    const GeometryStage* stage = nullptr;
    DrawName draws;
    bool is_joint = false;
    std::string_view path;  ///< the step's, as in Painting
    std::int32_t cut = -1;
  };
  /// A pixel stage, or else a warp.
  struct Painting {
    const PixelStage* stage = nullptr;
    const WarpStage* warp = nullptr;
    DrawName draws;
    std::string_view path;
    std::int32_t cut = -1;
  };
  std::vector<Placing> geometry;
  std::vector<Painting> pixels;
};

/// Sorts steps that are no containers into passes, in their order. Used again, it allocates only
/// where it needs more room than before.
class PassList {
 public:
  PassList() { clear(); }
  void clear();
  void add(const ImageStep& step);
  /// There is at least one.
  [[nodiscard]] std::span<const ImagePass> passes() const noexcept {
    return {passes_.data(), count_};
  }

 private:
  void begin_pass();
  [[nodiscard]] bool fits(const GeometryTraits& traits) const;

  std::vector<ImagePass> passes_;
  std::size_t count_ = 0;
  GeometryTraits done_;  ///< in the last pass
};

/// A tensor part as an image.
struct RawImage {
  ImageSize size;
  std::int32_t channels = 1;
  bool channels_last = true;
  bool two_dimensional = false;
};

/// An image field, compiled: passes, then the format, then tensor stages, once for each view.
struct ImagePlan {
  /// Channels that decoding gives.
  [[nodiscard]] std::int32_t decoded_channels() const noexcept {
    if (decode->mode == PixelMode::keep) return decode->channels;
    return decode->mode == PixelMode::rgb ? 3 : 1;
  }
  [[nodiscard]] std::size_t decoded_pixel_bytes() const noexcept {
    return static_cast<std::size_t>(decoded_channels()) * (keeps() && decode->bits == 16 ? 2 : 1);
  }
  /// Whether pixels are only moved, never mixed or changed, in the type that the file has.
  [[nodiscard]] bool keeps() const noexcept { return decode && decode->mode == PixelMode::keep; }
  /// How many images are made of one decoded image.
  [[nodiscard]] std::uint32_t images() const noexcept { return views * crops; }

  std::vector<std::shared_ptr<const Stage>> owners;
  std::optional<DecodeStage::Parameters> decode;  ///< empty: the part is a RawImage
  RawImage raw;
  bool is_mask = false;
  std::vector<ImageStep> image_steps;
  bool branches = false;  ///< holds a container: its steps are chosen for each sample
  PassList passes;        ///< of the steps, where it does not branch
  std::vector<std::vector<std::string>> walks;
  PixelFormat format;
  std::int32_t channels_out = 3;
  std::optional<TensorSteps> steps;  ///< of one view
  std::uint32_t views = 1;
  std::uint32_t crops = 1;   ///< that a stage makes of each view
  std::uint32_t frames = 0;  ///< of a clip, which are images of one part; 0: the part is one image
  std::int32_t scale = 1;    ///< stages count in pixels of this many pixels of the image
  std::int32_t cuts = 0;     ///< as ResolvedField
  TensorSpec output;         ///< all views; of pixels on an axis, one pixel
  std::string axis;          ///< whose rows are the pixels; empty: none, and there are `steps`
};

/// Throws InvalidArgument, naming field and stage, where stages do not fit.
[[nodiscard]] ImagePlan plan_image(const ResolvedField& field, const PartSpec& part);

/// A field whose part is an encoded image, or a tensor that its stages treat as one.
[[nodiscard]] std::unique_ptr<FieldProgram> compile_image(const ResolvedField& field,
                                                          const PartSpec& part);

/// The tensor as an image; nothing if it is none. An image is u8, with two dimensions or three, and
/// one or three channels.
[[nodiscard]] std::optional<RawImage> as_raw_image(const PartSpec& part);

/// Runs plans, which share a decoding where there are several. Each thread has one.
[[nodiscard]] std::unique_ptr<FieldRunner> image_runner(std::span<const ImagePlan* const> plans);

}  // namespace batchcast::inline v0_1::detail
