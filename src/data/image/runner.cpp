// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/decoder.hpp"
#include "data/image/orientation.hpp"
#include "data/image/program.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace batchcast::inline v0_1::detail {
namespace {

// Rows that are decoded before they are resized: the resizer takes 16 at a time.
constexpr std::size_t rows_at_once = 16;

// libjpeg-turbo stores pixels past the caches where a row begins at a multiple of 32, and whoever
// reads them next waits for memory: rows begin beside one.
constexpr std::size_t row_alignment = 64;
constexpr std::size_t row_offset = 8;

constexpr std::size_t row_stride(std::size_t byte_count) noexcept {
  return (byte_count + row_alignment - 1) / row_alignment * row_alignment;
}

constexpr PixelFormat plain_pixels{};

// The largest of 1, 2, 4 and 8 by which the crop may shrink and still be as large as what it is
// resized to.
int scale_for(const Geometry& geometry) noexcept {
  int scale = 1;
  while (scale < 8 && geometry.box.width >= 2 * scale * geometry.resized.width &&
         geometry.box.height >= 2 * scale * geometry.resized.height) {
    scale *= 2;
  }
  return scale;
}

// The box in the smaller image: its edges to the nearest pixel, at least one of which stays.
Geometry scaled(const Geometry& geometry, ImageSize image, int scale) noexcept {
  const auto nearest = [scale](std::int32_t at) { return (at + scale / 2) / scale; };
  const auto shrink = [&](std::int32_t begin, std::int32_t size, std::int32_t extent) {
    const std::int32_t first = std::min(nearest(begin), extent - 1);
    const std::int32_t last = std::clamp(nearest(begin + size), first + 1, extent);
    return std::array<std::int32_t, 2>{first, last - first};
  };
  const auto [x, width] = shrink(geometry.box.x, geometry.box.width, image.width);
  const auto [y, height] = shrink(geometry.box.y, geometry.box.height, image.height);
  Geometry result = geometry;
  result.image = image;
  result.box = {x, y, width, height};
  return result;
}

class ImageRunner final : public FieldRunner {
 public:
  explicit ImageRunner(const ImagePlan& plan) : plan_(plan), steps_(*plan.steps) {}

  void run(const PartInput& input, std::span<std::byte> out) override {
    input_ = &input;
    target_ = steps_.input_place(out);
    const std::size_t first_from_memory = begin(input.bytes);
    for (std::size_t i = first_from_memory; i < plan_.passes.size(); ++i) {
      const Geometry geometry = place(plan_.passes[i], image_.size);
      walk_image(geometry, plan_.passes[i], i);
    }
    steps_.finish(input, out);
  }

 private:
  // Brings pixels into memory or, better, through the first pass; says which pass comes next.
  std::size_t begin(std::span<const std::byte> bytes) {
    if (!plan_.decode) {
      take_raw(bytes);
      return 0;
    }
    const ImageInfo info = decoder_.open(bytes, {plan_.decode->pixels_max});
    if (plan_.decode->orient && info.orientation != 1) {
      decode_upright(info);
      return 0;
    }
    decode_first_pass(info);
    return 1;
  }

  void take_raw(std::span<const std::byte> bytes) {
    const RawImage& raw = plan_.raw;
    image_ = {nullptr, raw.size, raw.channels};
    if (raw.channels_last || raw.channels == 1) {
      // Only read: pixel stages run on what the pass before them made.
      image_.data = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
      return;
    }
    image_.data = reinterpret_cast<std::uint8_t*>(images_[1].of(bytes.size()).data());
    const auto area =
        static_cast<std::size_t>(raw.size.width) * static_cast<std::size_t>(raw.size.height);
    const auto* planes = reinterpret_cast<const std::uint8_t*>(bytes.data());
    for (std::size_t i = 0; i < area; ++i) {
      for (std::size_t c = 0; c < 3; ++c) image_.data[3 * i + c] = planes[c * area + i];
    }
  }

  void decode_first_pass(const ImageInfo& info) {
    const ImagePass& pass = plan_.passes.front();
    Geometry geometry = place(pass, info.size);
    if (plan_.decode->fast && info.format == ImageFormat::jpeg) {
      if (const int scale = scale_for(geometry); scale > 1) {
        geometry = scaled(geometry, decoder_.scale_down(scale), scale);
      }
    }
    const Goal goal = goal_of(pass, 0, geometry.output(), 3);
    const Box part = resampler_.begin(geometry, 3, goal.format, goal.out);
    const RowLayout layout = decoder_.start(part);
    const std::size_t stride = row_stride(layout.byte_count);
    std::uint8_t* rows = rows_for(rows_, stride * rows_at_once);
    const std::uint8_t* first = rows + 3 * static_cast<std::size_t>(layout.skip);
    std::size_t left = static_cast<std::size_t>(part.height);
    while (left > 0) {
      const std::size_t count = decoder_.read(rows, stride, std::min(left, rows_at_once));
      BATCHCAST_ASSERT(count > 0);
      resampler_.push(first, stride, count);
      left -= count;
    }
    paint(pass, 0, geometry.output(), 3);
  }

  void decode_upright(const ImageInfo& info) {
    const Box all{0, 0, info.size.width, info.size.height};
    const RowLayout layout = decoder_.start(all);
    const auto height = static_cast<std::size_t>(info.size.height);
    const std::size_t stride = row_stride(layout.byte_count);
    std::uint8_t* rows = rows_for(images_[0], stride * height);
    for (std::size_t done = 0; done < height;) {
      done += decoder_.read(rows + done * stride, stride, std::min(height - done, rows_at_once));
    }
    const auto* first = rows + 3 * static_cast<std::size_t>(layout.skip);
    image_ = {nullptr, upright_size(info.size, info.orientation), 3};
    image_.data = reinterpret_cast<std::uint8_t*>(images_[1].of(image_.byte_count()).data());
    turn_upright({first, stride, info.size}, info.orientation, image_.data);
  }

  static std::uint8_t* rows_for(Scratch& memory, std::size_t byte_count) {
    return reinterpret_cast<std::uint8_t*>(memory.of(row_offset + byte_count).data()) + row_offset;
  }

  Geometry place(const ImagePass& pass, ImageSize size) {
    Geometry geometry = Geometry::of(size);
    for (const ImagePass::Placing& placing : pass.geometry) {
      StageContext context(input_->key, placing.number, {}, input_->notes);
      placing.stage->place(geometry, context);
    }
    if (input_->notes != nullptr && &pass == &plan_.passes.front()) note(geometry);
    return geometry;
  }

  void note(const Geometry& geometry) const {
    const auto add = [&](std::string_view key, std::int32_t value) {
      input_->notes->push_back({key, static_cast<double>(value)});
    };
    add("crop_x", geometry.box.x);
    add("crop_y", geometry.box.y);
    add("crop_w", geometry.box.width);
    add("crop_h", geometry.box.height);
    if (geometry.window == Box{0, 0, geometry.resized.width, geometry.resized.height}) return;
    add("window_x", geometry.window.x);
    add("window_y", geometry.window.y);
    add("window_w", geometry.window.width);
    add("window_h", geometry.window.height);
  }

  // The last pass writes elements where they belong, unless pixel stages are still to come.
  struct Goal {
    PixelFormat format;
    std::byte* out = nullptr;
  };
  Goal goal_of(const ImagePass& pass, std::size_t index, ImageSize size, std::int32_t channels) {
    const bool last = index + 1 == plan_.passes.size() && pass.pixels.empty();
    if (last) return {plan_.format, target_for(size, channels)};
    const ImageView made{nullptr, size, channels};
    return {plain_pixels, images_[index % 2].of(made.byte_count()).data()};
  }

  // A stage that gives another image than it said would have the sample written beyond its end.
  [[nodiscard]] std::byte* target_for(ImageSize size, std::int32_t channels) const {
    const std::size_t elements = ImageView{nullptr, size, channels}.byte_count();
    const std::size_t expected = plan_.steps->input().element_count();
    if (elements != expected) {
      throw InvalidArgument("batchcast: the stages of a field made an image of " +
                            std::to_string(elements) + " elements, and " +
                            std::to_string(expected) +
                            " is what they said. Let a stage of your own place what its output() "
                            "promises.");
    }
    return target_.data();
  }

  void walk_image(const Geometry& geometry, const ImagePass& pass, std::size_t index) {
    const ImageView from = image_;
    const Goal goal = goal_of(pass, index, geometry.output(), from.channels);
    walk(from, geometry, goal);
    paint(pass, index, geometry.output(), from.channels);
  }

  void walk(const ImageView& from, const Geometry& geometry, const Goal& goal) {
    const Box part = resampler_.begin(geometry, from.channels, goal.format, goal.out);
    const auto channels = static_cast<std::size_t>(from.channels);
    const std::size_t stride = static_cast<std::size_t>(from.size.width) * channels;
    const std::uint8_t* first = from.data + static_cast<std::size_t>(part.y) * stride +
                                static_cast<std::size_t>(part.x) * channels;
    resampler_.push(first, stride, static_cast<std::size_t>(part.height));
  }

  // Pixel stages, over what the pass left in its image; and the format, if none comes after.
  void paint(const ImagePass& pass, std::size_t index, ImageSize size, std::int32_t channels) {
    const bool last = index + 1 == plan_.passes.size();
    if (last && pass.pixels.empty()) return;
    Scratch& own = images_[index % 2];
    image_ = {reinterpret_cast<std::uint8_t*>(own.of(0).data()), size, channels};
    for (const ImagePass::Painting& painting : pass.pixels) {
      const std::size_t bytes = painting.stage->scratch_bytes(image_.size, image_.channels);
      StageContext context(input_->key, painting.number, scratch_.of(bytes), input_->notes);
      painting.stage->run(image_, context);
      image_.channels = painting.stage->output_channels(image_.channels);
    }
    if (last) walk(image_, Geometry::of(size), {plan_.format, target_for(size, image_.channels)});
  }

  const ImagePlan& plan_;
  TensorSteps::Run steps_;
  ImageDecoder decoder_;
  Resampler resampler_;
  Scratch rows_;
  // What a pass makes for the next one: even passes the first, odd ones the second, so that none
  // writes what it reads. What comes before all passes lies in the second.
  Scratch images_[2];
  Scratch scratch_;

  const PartInput* input_ = nullptr;
  std::span<std::byte> target_;
  ImageView image_;
};

}  // namespace

std::unique_ptr<FieldRunner> image_runner(const ImagePlan& plan) {
  return std::make_unique<ImageRunner>(plan);
}

}  // namespace batchcast::inline v0_1::detail
