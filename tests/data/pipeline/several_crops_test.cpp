// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/codec/image_support.hpp"
#include "data/pipeline/device_split.hpp"
#include "pipeline_support.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <malloc.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Several images of one: five_crop and ten_crop, many views.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

constexpr ImageSize size{11, 8};

std::shared_ptr<FakeSource> pixels() {
  return std::make_shared<FakeSource>(
      20, std::vector<PartSpec>{{"image", PartKind::tensor, DType::u8, {size.height, size.width}}},
      [](std::uint64_t, std::size_t, std::span<std::byte> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i);
      });
}

Pipeline pipeline(const std::string& stages, const std::string& more = "") {
  return Pipeline(
      {.source = pixels(),
       .recipe = recipe("[[field]]\nname = \"image\"\n" + more + "\nstages = [" + stages + "]"),
       .seed = 6});
}

std::string refusal(const std::string& stages) {
  try {
    static_cast<void>(pipeline(stages));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

/// The first pixel of each crop of 3 by 4, and the one at its right.
std::vector<int> corners(const Made& made, std::size_t crops) {
  std::vector<int> found;
  for (std::size_t i = 0; i < crops; ++i) {
    found.push_back(made.at<std::uint8_t>(0, 12 * i));
    found.push_back(made.at<std::uint8_t>(0, 12 * i + 1));
  }
  return found;
}

/// A photograph of that size, encoded once; decoded by everybody who reads it.
class OneImage final : public Source {
 public:
  explicit OneImage(ImageSize of) {
    image_test::Picture picture{of, 3, {}};
    picture.pixels.assign(picture.stride() * static_cast<std::size_t>(of.height), 90);
    file_ = image_test::encode_jpeg(picture);
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return 4; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t, SampleParts& parts) const override {
    parts.resize(1);
    std::memcpy(parts.make(0, file_.size()).data(), file_.data(), file_.size());
  }
  [[nodiscard]] std::string name_of(std::uint64_t id) const override { return std::to_string(id); }
  [[nodiscard]] Fingerprint fingerprint() const override { return {}; }

 private:
  std::vector<PartSpec> parts_ = {{"image", PartKind::image}};
  image_test::Bytes file_;
};

[[maybe_unused]] std::size_t bytes_in_use() {
  const struct mallinfo2 info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

}  // namespace

TEST_CASE("five_crop gives the corners and the centre, and its extent stands in front") {
  const Pipeline five = pipeline(R"({ stage = "five_crop", size = [3, 4] },
                                    { stage = "to", dtype = "u8" })");
  CHECK(five.schema()[0].shape == std::vector<std::int64_t>{5, 1, 3, 4});
  // Rows of 11: the lower crops begin in row 5, the right ones in column 7; the centre in row
  // round(2.5) = 2 and column round(3.5) = 4, as Python rounds.
  CHECK(corners(make(five, {0, 0, 1}), 5) == std::vector<int>{0, 1, 7, 8, 55, 56, 62, 63, 26, 27});
}

TEST_CASE("ten_crop gives those of the mirrored image too") {
  const std::string to = R"(, { stage = "to", dtype = "u8" })";
  const Made across = make(pipeline(R"({ stage = "ten_crop", size = [3, 4] })" + to), {0, 0, 1});
  CHECK(corners(across, 10) == std::vector<int>{0,  1, 7, 8, 55, 56, 62, 63, 26, 27,  //
                                                10, 9, 3, 2, 65, 64, 58, 57, 28, 27});
  const Made down = make(
      pipeline(R"({ stage = "ten_crop", size = [3, 4], vertical_flip = true })" + to), {0, 0, 1});
  CHECK(corners(down, 10) == std::vector<int>{0,  1,  7,  8,  55, 56, 62, 63, 26, 27,  //
                                              77, 78, 84, 85, 22, 23, 29, 30, 59, 60});
}

TEST_CASE("crops stand behind views, and draw alike within one") {
  const std::string stages = R"({ stage = "random_crop", size = [6, 9] },
    { stage = "five_crop", size = [3, 4] }, { stage = "horizontal_flip" },
    { stage = "to", dtype = "u8" })";
  const Pipeline both = pipeline(stages, "views = 3");
  REQUIRE(both.schema()[0].shape == std::vector<std::int64_t>{3, 5, 1, 3, 4});
  const Made made = make(both, {0, 0, 20});
  std::size_t flipped = 0;
  for (std::size_t image = 0; image < 20 * 3; ++image) {
    const auto first = [&](std::size_t crop) {
      return int{made.at<std::uint8_t>(0, (5 * image + crop) * 12)};
    };
    // Of a crop of 9 by 6 that begins anywhere: the lower left begins three rows below.
    REQUIRE(first(1) - first(0) == 5);
    REQUIRE(first(2) - first(0) == 3 * 11);
    const int step = made.at<std::uint8_t>(0, 5 * image * 12 + 1) - first(0);
    flipped += step < 0 ? 1U : 0U;
    for (std::size_t crop = 1; crop < 5; ++crop) {
      REQUIRE(made.at<std::uint8_t>(0, (5 * image + crop) * 12 + 1) - first(crop) == step);
    }
  }
  CHECK(flipped > 10);
  CHECK(flipped < 50);

  std::vector<std::byte> bytes(both.schema()[0].byte_count());
  std::uint64_t id = 0;
  const std::vector<FieldSlots> slots{{bytes.data(), bytes.size()}};
  const SampleTrace trace = both.trace({0, 3, slots, {&id, 1}});
  REQUIRE(trace.fields[0].views.size() == 3);
  for (const std::vector<Note>& view : trace.fields[0].views) {
    const auto noted = [&](std::string_view key, std::string_view path) {
      return std::ranges::count_if(
          view, [&](const Note& note) { return note.key == key && note.path == path; });
    };
    CHECK(noted("crop_x", "") == 1);
    CHECK(noted("crop_x", "random_crop#0") == 1);
    CHECK(noted("crop_x", "five_crop#0") == 5);
    CHECK(noted("flip", "horizontal_flip#0") == 1);
    CHECK(view.size() == 4 + 4 + 20 + 1);
    std::vector<int> parts;
    for (const Note& note : view) {
      if (note.key == "crop_w" && note.path == "five_crop#0") parts.push_back(note.part);
    }
    CHECK(parts == std::vector<int>{0, 1, 2, 3, 4});
  }
}

TEST_CASE("what several crops cannot be is refused") {
  CHECK_THAT(refusal(R"({ stage = "five_crop", size = 9 })"),
             Contains("11x8") && Contains("Resize it first"));
  CHECK_THAT(refusal(R"({ stage = "five_crop", size = 4 }, { stage = "ten_crop", size = 2 })"),
             Contains("several images of one already"));
  CHECK_THAT(refusal(R"({ stage = "random_apply", p = 1, stages = [
                          { stage = "five_crop", size = 4 }] })"),
             Contains("may not be chosen"));
  const Recipe whole = recipe(R"([[field]]
name = "image"
stages = [{ stage = "five_crop", size = 4 }, { stage = "to" }])");
  const detail::DeviceSplit split = detail::split_for_device(whole, pixels()->parts());
  REQUIRE(split.kept.size() == 1);
  CHECK_THAT(split.kept[0].reason, Contains("several crops"));
}

#ifndef __SANITIZE_ADDRESS__  // whose allocator does not count for mallinfo2()
TEST_CASE("views of a large image with colours take no image each") {
  constexpr std::size_t image_bytes = std::size_t{1200} * 800 * 3;
  const auto of_views = [&](int views, const std::string& fast) {
    const Pipeline many(
        {.source = std::make_shared<OneImage>(ImageSize{1200, 800}),
         .recipe = recipe("[[field]]\nname = \"image\"\nviews = " + std::to_string(views) +
                          "\nstages = [{ stage = \"decode\"" + fast +
                          " }, { stage = \"horizontal_flip\" }, { stage = \"autocontrast\" }, "
                          "{ stage = \"random_resized_crop\", size = 8 }]")});
    std::vector<std::byte> bytes(many.schema()[0].byte_count());
    std::uint64_t id = 0;
    const std::vector<FieldSlots> slots{{bytes.data(), bytes.size()}};
    const std::size_t before = bytes_in_use();
    const auto worker = many.worker();
    worker->make({0, 0, slots, {&id, 1}});
    return bytes_in_use() - before;
  };
  const std::size_t few = of_views(3, "");
  const std::size_t many = of_views(24, "");
  INFO("3 views " << few << " bytes, 24 views " << many);
  CHECK(few > image_bytes);
  CHECK(many < 4 * image_bytes);
}
#endif

TEST_CASE("views that take turns are what they are by themselves") {
  // Five whole images are more than the one that is decoded, so the lanes take turns.
  const auto source = std::make_shared<OneImage>(ImageSize{90, 70});
  const auto of_views = [&](int views, const std::string& decode) {
    return make(Pipeline({.source = source,
                          .recipe = recipe("[[field]]\nname = \"image\"\nviews = " +
                                           std::to_string(views) + "\nstages = [" + decode + R"(,
      { stage = "random_crop", size = [60, 80] }, { stage = "color_jitter", brightness = 0.4 },
      { stage = "random_resized_crop", size = 16 }, { stage = "to", dtype = "u8" }])"),
                          .seed = 3}),
                {0, 0, 4});
  };
  for (const std::string decode :
       {R"({ stage = "decode" })", R"({ stage = "decode", fast = true })"}) {
    const Made five = of_views(5, decode);
    const Made two = of_views(2, decode);
    for (std::size_t sample = 0; sample < 4; ++sample) {
      const auto at = [&](const Made& made, std::size_t views) {
        return made.fields[0].begin() + static_cast<std::ptrdiff_t>(sample * views * 768);
      };
      CHECK(std::equal(at(two, 2), at(two, 2) + 2 * 768, at(five, 5)));
    }
  }
}
