// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/decoder.hpp"
#include "data/codec/orientation.hpp"
#include "data/image/program.hpp"
#include "data/image/step_chooser.hpp"
#include "data/resample/axis.hpp"

#include <batchcast/core/assert.hpp>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

// Images whose pixels are kept as they stand in the file: of up to four channels, of 8 bits or 16.
// They are moved to other places and nothing else.
namespace batchcast::inline v0_1::detail {
namespace {

/// Rows without gaps, of pixels of so many bytes.
struct KeptImage {
  const std::byte* data = nullptr;
  ImageSize size;
};

std::size_t area_of(ImageSize size) noexcept {
  return static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height);
}

/// Where the pixels of an output come from along one axis of the image; -1: from no pixel of it.
class KeptAxis {
 public:
  void begin(const AxisRequest& request, std::int32_t box_first, AxisTapsCache& cache) {
    plan_.begin(request, cache);
    sources_.clear();
    for (std::int32_t place = 0; place < request.window_count; ++place) {
      const std::int32_t source = plan_.source_of(place);
      sources_.push_back(source < 0 ? -1 : box_first + in_box(source));
    }
  }
  [[nodiscard]] const std::vector<std::int32_t>& sources() const noexcept { return sources_; }

 private:
  [[nodiscard]] std::int32_t in_box(std::int32_t source) const noexcept {
    return plan_.taps == nullptr ? source
                                 : plan_.taps->taps[static_cast<std::size_t>(source)].first;
  }
  AxisPlan plan_;
  std::vector<std::int32_t> sources_;
};

/// What lanes need one after another, and so have together: a pass writes the one that it does not
/// read.
struct KeptMemory {
  Scratch images[2];
};

/// One image of one field on its way.
class KeptLane {
 public:
  /// The memory is of all lanes of a runner.
  KeptLane(const ImagePlan& plan, std::uint32_t number, KeptMemory& memory)
      : plan_(plan),
        view_(number / plan.crops),
        memory_(memory),
        chooser_(plan, number),
        steps_(*plan.steps),
        pixel_bytes_(static_cast<std::size_t>(plan.decode->channels) *
                     static_cast<std::size_t>(plan.decode->bits) / 8) {}

  void run(KeptImage image, const SampleKey& key, const ImageTarget& target) {
    chooser_.begin(key, target.notes);
    for (std::size_t pass = 0; pass < chooser_.passes().size(); ++pass) {
      image = moved(image, chooser_.place(pass, image.size));
    }
    const std::span<std::byte> to = steps_.input_place(target.out);
    check_element_count(plan_,
                        area_of(image.size) * static_cast<std::size_t>(plan_.decode->channels));
    if (plan_.decode->bits == 8) {
      write(reinterpret_cast<const std::uint8_t*>(image.data), area_of(image.size), to.data());
    } else {
      write(reinterpret_cast<const std::uint16_t*>(image.data), area_of(image.size), to.data());
    }
    steps_.finish({key, view_, target.notes}, target.out);
  }

 private:
  KeptImage moved(const KeptImage& from, const Geometry& geometry) {
    if (geometry == Geometry::of(from.size)) return from;
    check_between(plan_, geometry.output());
    across_.begin(
        {geometry.box.width, geometry.resized.width, geometry.window.x, geometry.window.width,
         geometry.flip_x, geometry.padding, Interpolation::nearest},
        geometry.box.x, taps_);
    down_.begin({geometry.box.height, geometry.resized.height, geometry.window.y,
                 geometry.window.height, geometry.flip_y, geometry.padding, Interpolation::nearest},
                geometry.box.y, taps_);
    const std::size_t stride = static_cast<std::size_t>(from.size.width) * pixel_bytes_;
    // A pass that leaves the image as it is leaves it where it is too.
    const bool is_in_first = from.data == memory_.images[0].of(0).data();
    Scratch& free = memory_.images[is_in_first ? 1 : 0];
    std::byte* out = free.of(area_of(geometry.output()) * pixel_bytes_).data();
    const KeptImage made{out, geometry.output()};
    for (const std::int32_t y : down_.sources()) {
      for (const std::int32_t x : across_.sources()) {
        if (x < 0 || y < 0) {
          fill(out, geometry.fill);
        } else {
          std::memcpy(out,
                      from.data + static_cast<std::size_t>(y) * stride +
                          static_cast<std::size_t>(x) * pixel_bytes_,
                      pixel_bytes_);
        }
        out += pixel_bytes_;
      }
    }
    return made;
  }

  void fill(std::byte* out, std::uint16_t level) const noexcept {
    if (plan_.decode->bits == 8) {
      std::memset(out, level, pixel_bytes_);
      return;
    }
    for (std::size_t i = 0; i < pixel_bytes_; i += 2) std::memcpy(out + i, &level, 2);
  }

  template <class Level>
  void write(const Level* pixels, std::size_t area, std::byte* to) const noexcept {
    const auto channels = static_cast<std::size_t>(plan_.decode->channels);
    const bool planes = plan_.format.layout == ImageLayout::chw;
    for (std::size_t i = 0; i < area; ++i) {
      for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t at = planes ? c * area + i : i * channels + c;
        const Level level = pixels[i * channels + c];
        if (plan_.format.dtype != DType::f32) {
          std::memcpy(to + at * sizeof level, &level, sizeof level);
          continue;
        }
        const float product = static_cast<float>(level) * plan_.kept_scale[c];
        const float element = product + plan_.kept_bias[c];
        std::memcpy(to + at * sizeof element, &element, sizeof element);
      }
    }
  }

  const ImagePlan& plan_;
  const std::uint32_t view_;
  KeptMemory& memory_;
  StepChooser chooser_;
  TensorSteps::Run steps_;
  const std::size_t pixel_bytes_;
  AxisTapsCache taps_;
  KeptAxis across_;
  KeptAxis down_;
};

class KeptRunner final : public FieldRunner {
 public:
  explicit KeptRunner(std::span<const ImagePlan* const> plans)
      : decode_(*plans.front()->decode), plans_(plans.begin(), plans.end()) {
    for (const ImagePlan* plan : plans) {
      for (std::uint32_t number = 0; number < plan->images(); ++number) {
        lanes_.push_back(std::make_unique<KeptLane>(*plan, number, memory_));
      }
    }
  }

  void run(const PartInput& input, std::span<FieldTarget> targets) override {
    BATCHCAST_ASSERT(targets.size() == plans_.size());
    const KeptImage image = decode(input.bytes);
    std::size_t lane = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      targets[i].size = image.size;
      for (std::uint32_t number = 0; number < plans_[i]->images(); ++number) {
        lanes_[lane++]->run(image, input.key, image_target(targets[i], *plans_[i], number));
      }
    }
  }

 private:
  KeptImage decode(std::span<const std::byte> bytes) {
    const ImageInfo info = decoder_.open(bytes, {.pixels_max = decode_.pixels_max,
                                                 .mode = decode_.mode,
                                                 .channels = decode_.channels,
                                                 .bits = decode_.bits});
    const std::size_t pixel_bytes =
        static_cast<std::size_t>(decode_.channels) * static_cast<std::size_t>(decode_.bits) / 8;
    const RowLayout layout = decoder_.start({0, 0, info.size.width, info.size.height});
    const auto height = static_cast<std::size_t>(info.size.height);
    std::byte* const rows = stored_.of(layout.byte_count * height).data();
    for (std::size_t done = 0; done < height;) {
      done += decoder_.read(reinterpret_cast<std::uint8_t*>(rows) + done * layout.byte_count,
                            layout.byte_count, height - done);
    }
    // Dense, and as it is meant to be seen.
    const int orientation = decode_.orient ? info.orientation : 1;
    const KeptImage image{whole_.of(area_of(info.size) * pixel_bytes).data(),
                          upright_size(info.size, orientation)};
    const auto* first = reinterpret_cast<const std::uint8_t*>(rows) +
                        pixel_bytes * static_cast<std::size_t>(layout.skip);
    turn_upright({first, layout.byte_count, info.size, pixel_bytes}, orientation,
                 const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(image.data)));
    return image;
  }

  const DecodeStage::Parameters decode_;
  std::vector<const ImagePlan*> plans_;
  KeptMemory memory_;
  std::vector<std::unique_ptr<KeptLane>> lanes_;
  ImageDecoder decoder_;
  Scratch stored_;
  Scratch whole_;
};

}  // namespace

std::unique_ptr<FieldRunner> kept_runner(std::span<const ImagePlan* const> plans) {
  return std::make_unique<KeptRunner>(plans);
}

}  // namespace batchcast::inline v0_1::detail
