// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/assert.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/data/geometry.hpp>
#include <batchcast/data/random.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What happens to a part of a sample on its way to a field. A stage has parameters and no other
// state. The same input and the same draws give the same output, in any thread and any process. A
// stage that you write derives from GeometryStage, PixelStage, WarpStage, TensorStage or
// ContainerStage.
namespace batchcast::inline v0_1 {

/// Something that a stage drew, for `batchcast dump` and others who ask.
struct Note {
  std::string_view key;  ///< of static lifetime; of a container's choice, of its pipeline's
  double value = 0;
  std::string_view text = {};  ///< instead of the value, if not empty; of static lifetime
  /// The stage that noted it: its path in the recipe, such as `random_crop#1`. Of its pipeline's
  /// lifetime. Empty for `crop` and `window`, which tell of all stages of one pass together.
  std::string_view path = {};
  std::int32_t part = 0;  ///< of a stage that makes several images: of which of them
};

/// What a stage may use besides its input.
class StageContext {
 public:
  StageContext(const SampleKey& key, DrawName name, std::span<std::byte> scratch,
               std::vector<Note>* notes, const TensorSpec* input = nullptr, std::int32_t part = 0,
               std::string_view path = {}) noexcept
      : draws_(key, name),
        scratch_(scratch),
        notes_(notes),
        input_(input),
        part_(part),
        path_(path) {}

  /// The draws of this stage for this sample.
  [[nodiscard]] Draws& draws() noexcept { return draws_; }
  /// As many bytes as scratch_bytes() said, aligned to 64.
  [[nodiscard]] std::span<std::byte> scratch() const noexcept { return scratch_; }
  /// For a TensorStage: the spec that its output() got.
  [[nodiscard]] const TensorSpec& input() const noexcept {
    BATCHCAST_ASSERT(input_ != nullptr);
    return *input_;
  }
  /// For a GeometryStage: which of its count() images is placed.
  [[nodiscard]] std::int32_t part() const noexcept { return part_; }
  void note(std::string_view key, double value) {
    if (notes_ != nullptr) notes_->push_back({key, value, {}, path_, part_});
  }
  void note(std::string_view key, std::string_view text) {
    if (notes_ != nullptr) notes_->push_back({key, 0, text, path_, part_});
  }
  /// Which part of the image that came in a GeometryStage keeps. x and y are below 0 where it
  /// begins in what the stage padded.
  void note_crop(const Box& box) {
    note("crop_x", box.x);
    note("crop_y", box.y);
    note("crop_w", box.width);
    note("crop_h", box.height);
  }

 private:
  Draws draws_;
  std::span<std::byte> scratch_;
  std::vector<Note>* notes_;
  const TensorSpec* input_;
  std::int32_t part_;
  std::string_view path_;
};

enum class StageKind : std::uint8_t { decode, geometry, pixel, warp, finish, tensor, container };

class DecodeStage;
class GeometryStage;
class PixelStage;
class WarpStage;
class ContainerStage;
class ToStage;
class NormalizeStage;
class TensorStage;

class Stage {
 public:
  Stage() = default;
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  virtual ~Stage() = default;

  [[nodiscard]] virtual StageKind kind() const noexcept = 0;
  /// The name in a recipe: random_resized_crop.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// All parameters, defaults too, as one JSON object with sorted keys. With the name it stands for
  /// the stage in the stream's identity: two stages that may differ in any byte differ here.
  [[nodiscard]] virtual std::string parameters_json() const = 0;
  /// Whether its draws decide what comes out. Fields that draw alike must have such stages at paths
  /// that match. A stage that draws nothing should return false.
  [[nodiscard]] virtual bool is_random() const noexcept { return true; }
  /// Whether it may move pixels to other places of the image.
  [[nodiscard]] virtual bool moves_pixels() const noexcept { return false; }

  // The stage as its type; null for all other types.
  [[nodiscard]] virtual const DecodeStage* as_decode() const noexcept { return nullptr; }
  [[nodiscard]] virtual const GeometryStage* as_geometry() const noexcept { return nullptr; }
  [[nodiscard]] virtual const PixelStage* as_pixel() const noexcept { return nullptr; }
  [[nodiscard]] virtual const WarpStage* as_warp() const noexcept { return nullptr; }
  [[nodiscard]] virtual const ContainerStage* as_container() const noexcept { return nullptr; }
  [[nodiscard]] virtual const ToStage* as_to() const noexcept { return nullptr; }
  [[nodiscard]] virtual const NormalizeStage* as_normalize() const noexcept { return nullptr; }
  [[nodiscard]] virtual const TensorStage* as_tensor() const noexcept { return nullptr; }
};

/// A stage as it stands in a recipe.
struct RecipeStage {
  std::shared_ptr<const Stage> stage;
  /// Names the stage's draws in place of its name and number. Letters, digits, `_`, `-` and `.`.
  std::string id = {};
  /// Where the stage stands, for messages: `recipe.toml:9`. Empty where code made it.
  std::string where = {};

  template <class S>
  RecipeStage(std::shared_ptr<S> of, std::string named = {})  // NOLINT: a stage stands for itself
      : stage(std::move(of)), id(std::move(named)) {}
  RecipeStage(std::nullptr_t) {}  // NOLINT: refused where it is compiled
  [[nodiscard]] const Stage* operator->() const noexcept { return stage.get(); }
  [[nodiscard]] const Stage* get() const noexcept { return stage.get(); }
};

/// Which of its stages a container may run for a sample.
enum class Branching : std::uint8_t {
  all,          ///< every one, in their order
  all_or_none,  ///< every one in their order, or none
  one,          ///< exactly one
  any,          ///< any of them in any order: each must leave the image's size as it is
};

/// Holds other stages, and draws for each sample which of them run, in which order. They work on
/// images: stages that crop, resize, pad, turn or change pixels, and containers.
class ContainerStage : public Stage {
 public:
  [[nodiscard]] StageKind kind() const noexcept final { return StageKind::container; }
  [[nodiscard]] const ContainerStage* as_container() const noexcept final { return this; }
  [[nodiscard]] virtual std::span<const RecipeStage> stages() const noexcept = 0;
  [[nodiscard]] virtual Branching branching() const noexcept { return Branching::any; }
  /// Appends the indices in stages() of those that run, each at most once, in the order in which
  /// they run. `chosen` is empty before.
  virtual void choose(std::vector<std::size_t>& chosen, StageContext& context) const = 0;
  /// All parameters except the stages inside, which have the key `stages`.
  [[nodiscard]] virtual std::string own_parameters_json() const = 0;
  [[nodiscard]] std::string parameters_json() const final;
};

/// How deep containers may be nested; deeper recipes are refused.
inline constexpr int nesting_max = 4;

/// What a geometry stage may do. It decides which stages share one pass over the pixels.
struct GeometryTraits {
  bool crops = false;
  bool resizes = false;
  bool pads = false;
};

/// Says where the pixels come from; the library makes the pass.
class GeometryStage : public Stage {
 public:
  [[nodiscard]] StageKind kind() const noexcept final { return StageKind::geometry; }
  [[nodiscard]] const GeometryStage* as_geometry() const noexcept final { return this; }
  [[nodiscard]] bool moves_pixels() const noexcept final { return true; }
  [[nodiscard]] virtual GeometryTraits traits() const noexcept = 0;
  /// The interpolation that the recipe gives; empty if the field's default applies.
  [[nodiscard]] virtual std::optional<Interpolation> interpolation() const noexcept {
    return std::nullopt;
  }
  /// How many images of one size it makes of one. Each of them has its call of place(), and the
  /// field begins with an extent for them. Only one stage of a field may return more than 1, and it
  /// stands in no container.
  [[nodiscard]] virtual std::int32_t count() const noexcept { return 1; }
  /// The size that comes out, where that is known before an image is seen; `in` likewise. Throws
  /// InvalidArgument for an input that it cannot take.
  [[nodiscard]] virtual std::optional<ImageSize> output(std::optional<ImageSize> in) const = 0;
  /// The smallest and the largest size that draws may make of an image of that size, and sizes
  /// between them if need be. Empty: not known. Throws InvalidArgument or BadSample for an image
  /// that it cannot take.
  [[nodiscard]] virtual std::vector<ImageSize> extremes(ImageSize in) const {
    const std::optional<ImageSize> out = output(in);
    return out ? std::vector<ImageSize>{*out} : std::vector<ImageSize>{};
  }
  /// Throws BadSample for an image that it cannot take.
  virtual void place(Geometry& geometry, StageContext& context) const = 0;
};

/// u8 pixels, channels last, rows without gaps.
struct ImageView {
  std::uint8_t* data = nullptr;
  ImageSize size;
  std::int32_t channels = 3;  ///< 3 (RGB) or 1

  [[nodiscard]] std::size_t byte_count() const noexcept {
    return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) *
           static_cast<std::size_t>(channels);
  }
};

/// Changes pixels in place.
class PixelStage : public Stage {
 public:
  [[nodiscard]] StageKind kind() const noexcept final { return StageKind::pixel; }
  [[nodiscard]] const PixelStage* as_pixel() const noexcept final { return this; }
  /// How many channels come out, packed; at most `channels`. Throws InvalidArgument for a number of
  /// channels that it cannot take.
  [[nodiscard]] virtual std::int32_t output_channels(std::int32_t channels) const {
    return channels;
  }
  /// Whether ids are still ids afterwards; if not, the field of a mask is refused.
  [[nodiscard]] virtual bool takes_masks() const noexcept { return false; }
  [[nodiscard]] virtual std::size_t scratch_bytes(ImageSize, std::int32_t /*channels*/) const {
    return 0;
  }
  /// Throws BadSample for an image that it cannot take.
  virtual void run(const ImageView& image, StageContext& context) const = 0;
};

/// Moves pixels to other places of an image of the same size, in a way that no geometry pass can:
/// rotates, shears, bends. It takes the pixels of a mask and makes no others.
class WarpStage : public Stage {
 public:
  [[nodiscard]] StageKind kind() const noexcept final { return StageKind::warp; }
  [[nodiscard]] const WarpStage* as_warp() const noexcept final { return this; }
  [[nodiscard]] bool moves_pixels() const noexcept final { return true; }
  /// The interpolation that the recipe gives; empty if the field's default applies.
  [[nodiscard]] virtual std::optional<Interpolation> interpolation() const noexcept {
    return std::nullopt;
  }
  /// Throws InvalidArgument for a number of channels (1 or 3) that it cannot take. Not for masks.
  virtual void check_channels(std::int32_t /*channels*/) const {}
  [[nodiscard]] virtual std::size_t scratch_bytes(ImageSize, std::int32_t /*channels*/) const {
    return 0;
  }
  /// Writes `out`, which is other memory, of the size and channels of `in`. Returns whether it did:
  /// if not, the image stays as it is. What it draws depends on the size alone. Throws BadSample
  /// for an image that it cannot take.
  [[nodiscard]] virtual bool run(const ImageView& in, const ImageView& out, bool is_mask,
                                 StageContext& context) const = 0;
};

/// Makes a tensor from a tensor.
class TensorStage : public Stage {
 public:
  [[nodiscard]] StageKind kind() const noexcept final { return StageKind::tensor; }
  [[nodiscard]] const TensorStage* as_tensor() const noexcept final { return this; }
  /// The spec of what comes out. Throws InvalidArgument for an input that it cannot take. A part of
  /// PartKind::bytes comes as u8 with the shape [-1].
  [[nodiscard]] virtual TensorSpec output(const TensorSpec& in) const = 0;
  /// Whether ids are still ids afterwards; if not, the field of a mask is refused.
  [[nodiscard]] virtual bool takes_masks() const noexcept { return true; }
  /// Whether input and output are the same bytes.
  [[nodiscard]] virtual bool in_place() const noexcept { return false; }
  [[nodiscard]] virtual std::size_t scratch_bytes(const TensorSpec& /*in*/) const { return 0; }
  /// Throws BadSample for bytes that it cannot take.
  virtual void run(std::span<const std::byte> in, std::span<std::byte> out,
                   StageContext& context) const = 0;
};

/// What the pixels of an encoded image become.
enum class PixelMode : std::uint8_t {
  rgb,
  gray,   ///< PIL's mode L
  index,  ///< a PNG's palette ids, or its gray values, as they stand in the file
  keep,   ///< what stands in the file; the field says how many channels and bits
};

/// How an image part becomes pixels.
class DecodeStage final : public Stage {
 public:
  struct Parameters {
    PixelMode mode = PixelMode::rgb;
    /// Apply EXIF orientation; torchvision does not.
    bool orient = false;
    /// Let the JPEG decoder scale down by 2, 4 or 8 where the crop stays at least as large as what
    /// it is resized to. It is faster; docs/recipes.md says how far off its pixels are.
    bool fast = false;
    /// Images with more pixels are refused: a small file could ask for any amount of memory.
    std::int64_t pixels_max = 178'956'970;
    /// For PixelMode::keep: what an image must have, 1 to 4 channels of 8 or 16 bits.
    std::int32_t channels = 3;
    std::int32_t bits = 8;

    friend bool operator==(const Parameters&, const Parameters&) = default;
  };
  explicit DecodeStage(const Parameters& parameters) : parameters_(parameters) {}
  [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] StageKind kind() const noexcept override { return StageKind::decode; }
  [[nodiscard]] const DecodeStage* as_decode() const noexcept override { return this; }
  [[nodiscard]] std::string_view name() const noexcept override { return "decode"; }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] std::string parameters_json() const override;

 private:
  Parameters parameters_;
};

enum class ImageLayout : std::uint8_t { chw, hwc, hw };

/// Element type and order of dimensions (`to`). From an image, floats are 0 to 1, and u8 is 0 to
/// 255. An image of one channel may become any integer type, and have no dimension for the channel
///      (`hw`). From any other tensor it takes the values as they are, and the layout does not
///      matter.
class ToStage final : public Stage {
 public:
  struct Parameters {
    DType dtype = DType::f32;
    ImageLayout layout = ImageLayout::chw;
    bool bgr = false;  ///< blue first, as OpenCV has it; `normalize` then has that order too
  };
  explicit ToStage(const Parameters& parameters) : parameters_(parameters) {}
  [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] StageKind kind() const noexcept override { return StageKind::finish; }
  [[nodiscard]] const ToStage* as_to() const noexcept override { return this; }
  [[nodiscard]] std::string_view name() const noexcept override { return "to"; }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] std::string parameters_json() const override;

 private:
  Parameters parameters_;
};

/// Computes (x - mean) / std for each channel, of floats.
class NormalizeStage final : public Stage {
 public:
  struct Parameters {
    std::vector<double> mean;
    std::vector<double> std;
  };
  explicit NormalizeStage(Parameters parameters) : parameters_(std::move(parameters)) {}
  [[nodiscard]] const Parameters& parameters() const noexcept { return parameters_; }
  [[nodiscard]] StageKind kind() const noexcept override { return StageKind::finish; }
  [[nodiscard]] const NormalizeStage* as_normalize() const noexcept override { return this; }
  [[nodiscard]] std::string_view name() const noexcept override { return "normalize"; }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] std::string parameters_json() const override;

 private:
  Parameters parameters_;
};

}  // namespace batchcast::inline v0_1
