// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/image_support.hpp"
#include "data/frame_list.hpp"
#include "pipeline_support.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <memory>
#include <string>
#include <vector>

// Clips: a part that is several images, which become one field.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

using image_test::Bytes;

/// A pixel says where it is, and in which frame.
Bytes frame_of(ImageSize size, int number) {
  image_test::Picture picture{size, 3, {}};
  for (std::int32_t y = 0; y < size.height; ++y) {
    for (std::int32_t x = 0; x < size.width; ++x) {
      for (const std::int32_t value : {x, y, number}) {
        picture.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  return image_test::encode_png(picture);
}

class Clips final : public Source {
 public:
  Clips(std::vector<Bytes> frames, std::size_t listed) : frames_(std::move(frames)) {
    parts_ = {
        {.name = "clip", .kind = PartKind::image, .frames = static_cast<std::int32_t>(listed)}};
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return 12; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t /*sample_id*/, SampleParts& parts) const override {
    parts.resize(1);
    std::vector<std::uint64_t> lengths;
    for (const Bytes& frame : frames_) lengths.push_back(frame.size());
    std::span<std::byte> place = detail::make_frame_list(0, lengths, parts);
    for (const Bytes& frame : frames_) {
      std::memcpy(place.data(), frame.data(), frame.size());
      place = place.subspan(frame.size());
    }
  }
  [[nodiscard]] std::string name_of(std::uint64_t /*sample_id*/) const override { return "clip"; }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_of("clips"); }

 private:
  std::vector<Bytes> frames_;
  std::vector<PartSpec> parts_;
};

std::shared_ptr<Clips> clips(std::vector<Bytes> frames) {
  const std::size_t count = frames.size();
  return std::make_shared<Clips>(std::move(frames), count);
}

const std::string cropped = R"(
[[field]]
name = "clip"
stages = [{ stage = "decode" }, { stage = "random_crop", size = [5, 6] },
          { stage = "horizontal_flip" }, { stage = "to", dtype = "u8", layout = "hwc" }]
)";

std::string fault(const std::shared_ptr<Clips>& source) {
  try {
    const Pipeline pipeline({.source = source, .recipe = recipe(cropped)});
    static_cast<void>(make(pipeline, {0, 0, 1}));
  } catch (const BadSample& bad) {
    return bad.what();
  }
  return "nothing";
}

}  // namespace

TEST_CASE("the frames of a clip are cut alike, in every view") {
  constexpr ImageSize size{40, 30};
  const auto source = clips({frame_of(size, 0), frame_of(size, 1), frame_of(size, 2)});
  const Pipeline one({.source = source, .recipe = recipe(cropped), .seed = 2});
  REQUIRE(one.schema() == Schema{{"clip", DType::u8, {3, 5, 6, 3}}});
  const Pipeline pipeline({.source = source, .recipe = recipe(cropped + "views = 2\n"), .seed = 2});
  REQUIRE(pipeline.schema() == Schema{{"clip", DType::u8, {2, 3, 5, 6, 3}}});
  const Made made = make(pipeline, {0, 0, 12});
  const Made single = make(one, {0, 0, 12});
  constexpr std::size_t frame_bytes = 5 * 6 * 3;
  bool alike = true;
  bool first_view_is_single = true;
  bool views_differ = false;
  for (std::size_t i = 0; i < 12 * 2; ++i) {
    for (std::size_t at = 0; at < frame_bytes; ++at) {
      const auto level = [&](std::size_t frame) {
        return made.at<std::uint8_t>(0, (3 * i + frame) * frame_bytes + at);
      };
      for (std::size_t frame = 0; frame < 3; ++frame) {
        alike = alike && level(frame) == (at % 3 == 2 ? frame : level(0));
      }
      if (i % 2 == 0) {
        first_view_is_single =
            first_view_is_single &&
            level(1) == single.at<std::uint8_t>(0, (3 * i / 2 + 1) * frame_bytes + at);
        views_differ = views_differ || made.at<std::uint8_t>(0, 3 * i * frame_bytes + at) !=
                                           made.at<std::uint8_t>(0, 3 * (i + 1) * frame_bytes + at);
      }
    }
  }
  CHECK(alike);
  CHECK(first_view_is_single);
  CHECK(views_differ);
}

TEST_CASE("several crops of a clip stand behind its frames") {
  constexpr ImageSize size{40, 30};
  const Pipeline pipeline(
      {.source = clips({frame_of(size, 0), frame_of(size, 1)}), .recipe = recipe(R"(
[[field]]
name = "clip"
stages = [{ stage = "decode" }, { stage = "five_crop", size = 4 },
          { stage = "to", dtype = "u8", layout = "hwc" }]
)")});
  REQUIRE(pipeline.schema() == Schema{{"clip", DType::u8, {2, 5, 4, 4, 3}}});
  const Made made = make(pipeline, {0, 0, 1});
  for (std::size_t frame = 0; frame < 2; ++frame) {
    for (std::size_t crop = 0; crop < 5; ++crop) {
      const std::size_t at = (frame * 5 + crop) * 4 * 4 * 3;
      CHECK(made.at<std::uint8_t>(0, at + 2) == frame);
      CHECK(made.at<std::uint8_t>(0, at) == std::vector<int>{0, 36, 0, 36, 18}[crop]);
    }
  }
}

TEST_CASE("what one frame notes is noted once for the clip") {
  constexpr ImageSize size{40, 30};
  const Pipeline pipeline(
      {.source = clips({frame_of(size, 0), frame_of(size, 1)}), .recipe = recipe(cropped)});
  std::vector<std::byte> out(pipeline.schema()[0].byte_count());
  std::array<std::uint64_t, 1> ids{};
  const std::vector<FieldSlots> slots = {{out.data(), out.size()}};
  const SampleTrace trace = pipeline.trace({0, 0, slots, ids});
  std::size_t flips = 0;
  for (const Note& note : trace.fields.at(0).views.at(0)) flips += note.key == "flip" ? 1U : 0U;
  CHECK(flips == 1);
}

TEST_CASE("a clip with a broken frame, or frames of two sizes, is a bad sample") {
  constexpr ImageSize size{40, 30};
  Bytes broken = frame_of(size, 1);
  broken.resize(broken.size() / 2);
  CHECK_THAT(fault(clips({frame_of(size, 0), broken})), Contains("frame 1: "));
  CHECK_THAT(fault(clips({frame_of(size, 0), frame_of({30, 40}, 1)})),
             Contains("frame 1: it has 30 x 40 pixels, and the first frame 40 x 30"));
  CHECK_THAT(fault(std::make_shared<Clips>(std::vector<Bytes>{frame_of(size, 0)}, 900)),
             Contains("it is no list of frames"));
  CHECK(fault(clips({frame_of(size, 0)})) == "nothing");
}
