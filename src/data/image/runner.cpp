// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/decoder.hpp"
#include "data/codec/orientation.hpp"
#include "data/frame_list.hpp"
#include "data/image/pixel_mover.hpp"
#include "data/image/program.hpp"
#include "data/image/step_chooser.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/clock.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

// Rows that are decoded before they are resized: the resizer takes 16 at a time.
constexpr std::size_t rows_at_once = 16;

// libjpeg-turbo stores pixels past the caches where a row begins at a multiple of 32. The next
// reader would wait for memory, so rows begin beside one.
constexpr std::size_t row_alignment = 64;
constexpr std::size_t row_offset = 8;

constexpr std::size_t row_stride(std::size_t byte_count) noexcept {
  return (byte_count + row_alignment - 1) / row_alignment * row_alignment;
}

// The largest of 1, 2, 4 and 8 by which the crop may shrink without becoming smaller than the size
// that it is resized to.
int scale_for(const Geometry& geometry) noexcept {
  int scale = 1;
  while (scale < 8 && geometry.box.width >= 2 * scale * geometry.resized.width &&
         geometry.box.height >= 2 * scale * geometry.resized.height) {
    scale *= 2;
  }
  return scale;
}

// The box in the smaller image: its edges go to the nearest pixel, and at least one pixel stays.
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

std::uint8_t* bytes_of(Scratch& memory, std::size_t byte_count) {
  return reinterpret_cast<std::uint8_t*>(memory.of(byte_count).data());
}

/// Gray or RGB of 8 bits, which stages may mix and change.
struct MixedPixels {
  using Level = std::uint8_t;
  using Mover = Resampler;
  static constexpr PixelFormat plain{};
};
/// Pixels with the channels and bits of the file, which are only moved.
template <class Channel>
struct KeptPixels {
  using Level = Channel;
  using Mover = PixelMover<Channel>;
  static constexpr PixelFormat plain{.dtype = sizeof(Channel) == 1 ? DType::u8 : DType::u16};
};

/// Scratch memory that all lanes share, because they run one after the other.
struct LaneMemory {
  // The result of a pass or a warp, from which the next one writes the other image.
  Scratch images[2];
  Scratch stage;
};

/// One image of one field on its way: passes, format and tensor stages, from its pixels.
template <class Pixels>
class Lane {
 public:
  /// All lanes of a runner share the memory.
  Lane(const ImagePlan& plan, std::uint32_t number, LaneMemory& memory)
      : plan_(plan), view_(number / plan.crops), memory_(memory), chooser_(plan, number) {
    if (plan.steps) steps_.emplace(*plan.steps);
  }

  void begin(const SampleKey& key, const ImageTarget& target) {
    input_ = {key, view_, target.notes};
    out_ = target.out;
    target_ = steps_ ? steps_->input_place(target.out) : target.out;
    rows_ = target.rows;
    chooser_.begin(key, target);
    filled_ = nullptr;
  }

  /// The geometry of the first pass for an image of that size.
  [[nodiscard]] const Geometry& place_first(ImageSize size) {
    first_ = chooser_.place(0, size);
    return first_;
  }
  /// Bytes that the first pass makes for the next step; 0 where it writes elements.
  [[nodiscard]] std::size_t first_byte_count() const {
    if (writes_elements(0)) return 0;
    return byte_count_of({nullptr, first_.output(), plan_.decoded_channels()});
  }
  void shrink_first(ImageSize image, int scale) { first_ = scaled(first_, image, scale); }
  /// The part of the image whose rows it wants; `push_first` gets them from the top. With `alone`
  /// no other lane begins before this one is finished.
  [[nodiscard]] const Box& begin_first(bool alone) {
    const std::int32_t channels = plan_.decoded_channels();
    const Goal goal = goal_of(0, alone ? free_image() : own_, first_.output(), channels);
    part_ = mover_.begin(first_, channels, goal.format, goal.out);
    return part_;
  }
  /// Takes what it wants of rows [y, y + count) of the image, whose pixels begin at the column x.
  void push_first(const std::uint8_t* rows, std::size_t stride, const Box& at) {
    const std::int32_t from = std::max(at.y, part_.y);
    const std::int32_t to = std::min(at.y + at.height, part_.y + part_.height);
    if (from >= to) return;
    mover_.push(rows + static_cast<std::size_t>(from - at.y) * stride +
                    static_cast<std::size_t>(part_.x - at.x) * plan_.decoded_pixel_bytes(),
                stride, static_cast<std::size_t>(to - from));
  }
  void finish_from_first() {
    paint(0, first_.output(), plan_.decoded_channels());
    go_on(1);
  }

  void run_from(const ImageView& image) {
    image_ = image;
    go_on(0);
  }

 private:
  using Level = typename Pixels::Level;

  void go_on(std::size_t first) {
    for (std::size_t i = first; i < passes().size(); ++i) {
      walk_image(chooser_.place(i, image_.size), i);
    }
    if (steps_) steps_->finish(input_, out_);
  }

  [[nodiscard]] std::span<const ImagePass> passes() const noexcept { return chooser_.passes(); }

  [[nodiscard]] bool writes_elements(std::size_t index) const {
    return index + 1 == passes().size() && passes()[index].pixels.empty();
  }

  // The last pass writes elements to their place, unless pixel stages follow.
  struct Goal {
    PixelFormat format;
    std::byte* out = nullptr;
  };
  Goal goal_of(std::size_t index, Scratch& made_in, ImageSize size, std::int32_t channels) {
    if (writes_elements(index)) return {plan_.format, target_for(size, channels)};
    check_between(plan_, size);
    const ImageView made{nullptr, size, channels};
    made_in_ = &made_in;
    return {Pixels::plain, made_in.of(byte_count_of(made)).data()};
  }

  /// Memory for an image, other than that of the last one.
  [[nodiscard]] Scratch& free_image() noexcept {
    return memory_.images[filled_ == &memory_.images[0] ? 1 : 0];
  }

  [[nodiscard]] std::byte* target_for(ImageSize size, std::int32_t channels) const {
    if (rows_ != nullptr) return rows_for_pixels(size, channels);
    check_element_count(plan_, ImageView{nullptr, size, channels}.byte_count());
    return target_.data();
  }

  // The image is as large as it has become: its rows take the memory that they need.
  [[nodiscard]] std::byte* rows_for_pixels(ImageSize size, std::int32_t channels) const {
    check_between(plan_, size);
    check_channels(plan_, channels);
    rows_->made = size;
    const std::size_t bytes =
        ImageView{nullptr, size, channels}.byte_count() * size_of(plan_.format.dtype);
    return rows_->make_rows(bytes).data();
  }

  void walk_image(const Geometry& geometry, std::size_t index) {
    const ImageView from = image_;
    const Goal goal = goal_of(index, free_image(), geometry.output(), from.channels);
    walk(from, geometry, goal);
    paint(index, geometry.output(), from.channels);
  }

  void walk(const ImageView& from, const Geometry& geometry, const Goal& goal) {
    const Box part = mover_.begin(geometry, from.channels, goal.format, goal.out);
    const std::size_t pixel_bytes = static_cast<std::size_t>(from.channels) * sizeof(Level);
    const std::size_t stride = static_cast<std::size_t>(from.size.width) * pixel_bytes;
    const std::uint8_t* first = from.data + static_cast<std::size_t>(part.y) * stride +
                                static_cast<std::size_t>(part.x) * pixel_bytes;
    mover_.push(first, stride, static_cast<std::size_t>(part.height));
  }

  static std::size_t byte_count_of(const ImageView& image) noexcept {
    return image.byte_count() * sizeof(Level);
  }

  // Runs pixel stages and warps over the pass's image, and the format if no pass follows.
  void paint(std::size_t index, ImageSize size, std::int32_t channels) {
    if (writes_elements(index)) return;
    filled_ = made_in_;
    image_ = {bytes_of(*filled_, 0), size, channels};
    for (const ImagePass::Painting& painting : passes()[index].pixels) {
      if (painting.warp != nullptr) {
        warp(painting);
        continue;
      }
      const std::size_t bytes = painting.stage->scratch_bytes(image_.size, image_.channels);
      StageContext context(input_.key, painting.draws.in_view(view_), memory_.stage.of(bytes),
                           input_.notes, nullptr, 0, painting.path);
      painting.stage->run(image_, context);
      image_.channels = painting.stage->output_channels(image_.channels);
    }
    if (index + 1 != passes().size()) return;
    walk(image_, Geometry::of(size), {plan_.format, target_for(size, image_.channels)});
  }

  void warp(const ImagePass::Painting& painting) {
    chooser_.note_cut(painting.cut, image_.size);
    const std::size_t bytes = painting.warp->scratch_bytes(image_.size, image_.channels);
    StageContext context(input_.key, painting.draws.in_view(view_), memory_.stage.of(bytes),
                         input_.notes, nullptr, 0, painting.path);
    Scratch& free = free_image();
    ImageView out = image_;
    out.data = bytes_of(free, image_.byte_count());
    if (!painting.warp->run(image_, out, plan_.is_mask, context)) return;
    image_ = out;
    filled_ = &free;
  }

  const ImagePlan& plan_;
  const std::uint32_t view_;
  LaneMemory& memory_;
  StepChooser chooser_;
  std::optional<TensorSteps::Run> steps_;  ///< none where the pixels are rows
  typename Pixels::Mover mover_;
  Scratch own_;                 ///< what the first pass makes while other lanes begin
  Scratch* filled_ = nullptr;   ///< has the image
  Scratch* made_in_ = nullptr;  ///< has what the last pass makes

  ViewInput input_;
  std::span<std::byte> out_;
  std::span<std::byte> target_;
  FieldTarget* rows_ = nullptr;  ///< of pixels on an axis
  Geometry first_;
  Box part_;
  ImageView image_;
};

/// The smallest box that contains both.
Box around(const Box& a, const Box& b) noexcept {
  const std::int32_t x = std::min(a.x, b.x);
  const std::int32_t y = std::min(a.y, b.y);
  return {x, y, std::max(a.x + a.width, b.x + b.width) - x,
          std::max(a.y + a.height, b.y + b.height) - y};
}

/// All views of fields that are made from the same pixels.
template <class Pixels>
class ImageRunner final : public FieldRunner {
 public:
  explicit ImageRunner(std::span<const ImagePlan* const> plans)
      : plan_(*plans.front()), plans_(plans.begin(), plans.end()) {
    for (const ImagePlan* plan : plans) {
      for (std::uint32_t number = 0; number < plan->images(); ++number) {
        lanes_.push_back(std::make_unique<Lane<Pixels>>(*plan, number, memory_));
      }
    }
  }

  void run(const PartInput& input, std::span<FieldTarget> targets) override {
    decode_ns_ = input.decode_ns;
    is_scaled_down_ = false;
    const ImageSize size = plan_.frames == 0 ? run_image(input, targets) : run_clip(input, targets);
    for (FieldTarget& target : targets) {
      target.size = size;
      target.is_scaled_down = is_scaled_down_;
    }
  }

 private:
  ImageSize run_image(const PartInput& input, std::span<FieldTarget> targets) {
    begin_lanes(input, targets, 0);
    return plan_.decode ? run_encoded(input.bytes, input.is_kept) : run_raw(input.bytes);
  }

  // What is drawn is drawn for the whole clip, so all frames are cut alike.
  ImageSize run_clip(const PartInput& input, std::span<FieldTarget> targets) {
    ImageSize first;
    for_each_frame(input.bytes, plan_.frames, [&](std::size_t frame, auto bytes) {
      begin_lanes(input, targets, static_cast<std::uint32_t>(frame));
      const ImageSize size = run_encoded(bytes, false);
      if (frame == 0) first = size;
      if (size == first) return;
      throw BadSample(
          text("it has {} x {} pixels, and the first frame {} x {}. All frames of a "
               "clip have one size",
               size.width, size.height, first.width, first.height));
    });
    return first;
  }

  void begin_lanes(const PartInput& input, std::span<FieldTarget> targets, std::uint32_t frame) {
    BATCHCAST_ASSERT(targets.size() == plans_.size());
    std::size_t lane = 0;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      for (std::uint32_t number = 0; number < plans_[i]->images(); ++number) {
        lanes_[lane++]->begin(input.key, image_target(targets[i], *plans_[i], frame, number));
      }
    }
  }

  void run_all_from(const ImageView& image) {
    for (const auto& lane : lanes_) lane->run_from(image);
  }

  ImageSize run_raw(std::span<const std::byte> bytes) {
    const RawImage& raw = plan_.raw;
    ImageView image{nullptr, raw.size, raw.channels};
    if (raw.channels_last || raw.channels == 1) {
      // It is only read: pixel stages run on what the pass before them made.
      image.data = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
      run_all_from(image);
      return raw.size;
    }
    image.data = bytes_of(whole_, bytes.size());
    const auto area =
        static_cast<std::size_t>(raw.size.width) * static_cast<std::size_t>(raw.size.height);
    const auto* planes = reinterpret_cast<const std::uint8_t*>(bytes.data());
    for (std::size_t i = 0; i < area; ++i) {
      for (std::size_t c = 0; c < 3; ++c) image.data[3 * i + c] = planes[c * area + i];
    }
    run_all_from(image);
    return raw.size;
  }

  ImageSize run_encoded(std::span<const std::byte> bytes, bool is_kept) {
    const DecodeLimits limits{.pixels_max = plan_.decode->pixels_max,
                              .mode = plan_.decode->mode,
                              .channels = plan_.decode->channels,
                              .bits = plan_.decode->bits};
    const ImageInfo info = measured(
        [&] { return is_kept ? decoder_.open_kept(bytes, limits) : decoder_.open(bytes, limits); });
    if (plan_.decode->orient && info.orientation != 1) return decode_upright(info);
    decode_once(info, is_kept);
    return info.size;
  }

  // Rows go through the first pass of every lane as they are decoded, without an image between.
  void decode_once(const ImageInfo& info, bool is_kept) {
    const bool may_shrink = plan_.decode->fast && !plan_.keeps();
    int scale = may_shrink && info.format == ImageFormat::jpeg ? 8 : 1;
    for (const auto& lane : lanes_)
      scale = std::min(scale, scale_for(lane->place_first(info.size)));
    if (scale > 1) {
      if (is_kept) throw NeedsFile{};
      is_scaled_down_ = true;
      smaller_ = decoder_.scale_down(scale);
      for (const auto& lane : lanes_) lane->shrink_first(smaller_, scale);
    }
    const ImageSize size = scale > 1 ? smaller_ : info.size;
    const bool alone = takes_turns(size);
    Box part = lanes_.front()->begin_first(alone);
    for (std::size_t i = 1; i < lanes_.size(); ++i) {
      part = around(part, lanes_[i]->begin_first(alone));
    }
    if (alone) return decode_for_turns(part);
    const RowLayout layout = measured([&] { return decoder_.start(part); });
    const std::size_t stride = row_stride(layout.byte_count);
    std::uint8_t* rows = rows_for(rows_, stride * rows_at_once);
    const std::uint8_t* first =
        rows + plan_.decoded_pixel_bytes() * static_cast<std::size_t>(layout.skip);
    Box at = part;
    while (at.y < part.y + part.height) {
      const auto left = static_cast<std::size_t>(part.y + part.height - at.y);
      const std::size_t count = read_rows(rows, stride, std::min(left, rows_at_once));
      BATCHCAST_ASSERT(count > 0);
      at.height = static_cast<std::int32_t>(count);
      for (const auto& lane : lanes_) lane->push_first(first, stride, at);
      at.y += at.height;
    }
    for (const auto& lane : lanes_) lane->finish_from_first();
  }

  // Whether lanes that take turns need less memory than lanes that run at once. In turns, each
  // takes its rows from the whole image. At once, each keeps what its first pass makes.
  [[nodiscard]] bool takes_turns(ImageSize image) const {
    std::size_t sum = 0;
    std::size_t largest = 0;
    for (const auto& lane : lanes_) {
      const std::size_t byte_count = lane->first_byte_count();
      sum += byte_count;
      largest = std::max(largest, byte_count);
    }
    return sum > largest + ImageView{nullptr, image, 1}.byte_count() * plan_.decoded_pixel_bytes();
  }

  void decode_for_turns(const Box& part) {
    const RowLayout layout = measured([&] { return decoder_.start(part); });
    const auto height = static_cast<std::size_t>(part.height);
    const std::size_t stride = row_stride(layout.byte_count);
    std::uint8_t* rows = rows_for(stored_, stride * height);
    for (std::size_t done = 0; done < height;) {
      done += read_rows(rows + done * stride, stride, std::min(height - done, rows_at_once));
    }
    const std::uint8_t* first =
        rows + plan_.decoded_pixel_bytes() * static_cast<std::size_t>(layout.skip);
    for (const auto& lane : lanes_) {
      static_cast<void>(lane->begin_first(true));
      lane->push_first(first, stride, part);
      lane->finish_from_first();
    }
  }

  ImageSize decode_upright(const ImageInfo& info) {
    const Box all{0, 0, info.size.width, info.size.height};
    const RowLayout layout = measured([&] { return decoder_.start(all); });
    const auto height = static_cast<std::size_t>(info.size.height);
    const std::size_t stride = row_stride(layout.byte_count);
    std::uint8_t* rows = rows_for(stored_, stride * height);
    for (std::size_t done = 0; done < height;) {
      done += read_rows(rows + done * stride, stride, std::min(height - done, rows_at_once));
    }
    const auto* first = rows + plan_.decoded_pixel_bytes() * static_cast<std::size_t>(layout.skip);
    ImageView image{nullptr, upright_size(info.size, info.orientation), plan_.decoded_channels()};
    const std::size_t pixel_bytes = plan_.decoded_pixel_bytes();
    image.data = bytes_of(whole_, image.byte_count() * sizeof(typename Pixels::Level));
    turn_upright({first, stride, info.size, pixel_bytes}, info.orientation, image.data);
    run_all_from(image);
    return image.size;
  }

  /// Of the samples whose decoding is measured, what a step of it takes.
  template <class Step>
  auto measured(const Step& step) {
    if (decode_ns_ == nullptr) return step();
    const std::uint64_t began_ns = now_ns();
    const auto result = step();
    *decode_ns_ += now_ns() - began_ns;
    return result;
  }
  std::size_t read_rows(std::uint8_t* rows, std::size_t stride, std::size_t count) {
    return measured([&] { return decoder_.read(rows, stride, count); });
  }

  static std::uint8_t* rows_for(Scratch& memory, std::size_t byte_count) {
    return bytes_of(memory, row_offset + byte_count) + row_offset;
  }

  bool is_scaled_down_ = false;  // of this sample
  const ImagePlan& plan_;        ///< the first plan: what all plans have in common
  std::vector<const ImagePlan*> plans_;
  LaneMemory memory_;
  std::vector<std::unique_ptr<Lane<Pixels>>> lanes_;
  ImageDecoder decoder_;
  std::uint64_t* decode_ns_ = nullptr;  ///< of the sample that is made
  ImageSize smaller_;                   ///< of an image that the decoder scales down
  Scratch rows_;
  Scratch stored_;  ///< a whole image, before it is turned
  Scratch whole_;
};

}  // namespace

std::unique_ptr<FieldRunner> image_runner(std::span<const ImagePlan* const> plans) {
  const ImagePlan& plan = *plans.front();
  if (!plan.keeps()) return std::make_unique<ImageRunner<MixedPixels>>(plans);
  if (plan.decode->bits == 8) return std::make_unique<ImageRunner<KeptPixels<std::uint8_t>>>(plans);
  return std::make_unique<ImageRunner<KeptPixels<std::uint16_t>>>(plans);
}

}  // namespace batchcast::inline v0_1::detail
