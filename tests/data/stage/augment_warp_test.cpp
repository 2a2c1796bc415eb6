// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/operations.hpp"
#include "stage_support.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <map>

#include "catch.hpp"

namespace bc = batchcast;
using namespace batchcast::test;
using Pixels = std::vector<std::uint8_t>;

namespace {

// A gray pixel says where it is.
Pixels columns_and_rows(bc::ImageSize size) {
  Pixels pixels;
  for (std::int32_t y = 0; y < size.height; ++y) {
    for (std::int32_t x = 0; x < size.width; ++x) {
      pixels.push_back(static_cast<std::uint8_t>(16 * y + x + 1));
    }
  }
  return pixels;
}

std::shared_ptr<const bc::WarpStage> warp(std::string_view parameters) {
  return stage_as<bc::WarpStage>(parameters);
}

}  // namespace

TEST_CASE("rotations by quarters move pixels, and by others what PIL makes") {
  const Pixels square = {1, 2, 3, 4, 5, 6, 7, 8, 9};
  const auto rotated = [&](const std::string& parameters) {
    return run_warp(*warp("stage = \"rotate\", " + parameters), square, {3, 3}, 1);
  };
  CHECK(rotated("angle = 90") == Pixels{3, 6, 9, 2, 5, 8, 1, 4, 7});
  CHECK(rotated("angle = -90") == Pixels{7, 4, 1, 8, 5, 2, 9, 6, 3});
  CHECK(rotated("angle = 540") == Pixels{9, 8, 7, 6, 5, 4, 3, 2, 1});
  CHECK(rotated("angle = 360") == square);
  // What PIL 9.4 gives.
  CHECK(rotated("angle = 45, interpolation = \"bilinear\"") == Pixels{1, 3, 5, 2, 5, 7, 4, 6, 8});
}

TEST_CASE("an affine warp translates by what it says, and fills what is left over") {
  const bc::ImageSize size{5, 4};
  const Pixels pixels = columns_and_rows(size);
  const auto moved = warp(R"(stage = "affine", translate = [2, -1], fill = 99, mask_fill = 255)");
  for (const bool is_mask : {false, true}) {
    const Pixels out = run_warp(*moved, pixels, size, 1, is_mask);
    bool right = true;
    for (std::size_t y = 0; y < 4; ++y) {
      for (std::size_t x = 0; x < 5; ++x) {
        const bool inside = x >= 2 && y < 3;
        const int wanted = inside ? pixels[(y + 1) * 5 + x - 2] : is_mask ? 255 : 99;
        right = right && out[y * 5 + x] == wanted;
      }
    }
    CHECK(right);
  }
  const auto colours = warp(R"(stage = "affine", translate = [9, 0], fill = [1, 2, 3])");
  CHECK(run_warp(*colours, Pixels(6), {2, 1}, 3) == Pixels{1, 2, 3, 1, 2, 3});
  CHECK_NOTHROW(colours->check_channels(3));
  CHECK_THROWS_AS(colours->check_channels(1), bc::InvalidArgument);
}

TEST_CASE("a mask takes the nearest pixel, whatever its image is mixed from") {
  const bc::ImageSize size{12, 15};
  const Pixels pixels = columns_and_rows(size);
  for (const char* parameters :
       {R"(stage = "random_rotation", degrees = 40, interpolation = "bicubic", fill = 255)",
        R"(stage = "random_affine", degrees = 40, scale = [0.5, 2], interpolation = "bilinear")",
        R"(stage = "random_perspective", p = 1)", R"(stage = "elastic", sigma = 1, alpha = 9)"}) {
    INFO(parameters);
    const auto stage = warp(parameters);
    bool differs = false;
    for (std::uint64_t id = 0; id < 20; ++id) {
      const Pixels mask = run_warp(*stage, pixels, size, 1, true, id);
      for (const std::uint8_t level : mask) {
        // 0 is the fill; and all levels of the image but those between them.
        REQUIRE((level == 0 || std::find(pixels.begin(), pixels.end(), level) != pixels.end()));
      }
      differs = differs || mask != run_warp(*stage, pixels, size, 1, false, id);
    }
    CHECK(differs);
  }
}

TEST_CASE("a warp with a probability leaves other images as they are, and says so") {
  const Pixels pixels = columns_and_rows({12, 12});
  for (const char* parameters :
       {R"(stage = "random_rotation", degrees = [10, 20], p = 0.3)",
        R"(stage = "rotate", angle = 10, p = 0.3)", R"(stage = "affine", angle = 10, p = 0.3)",
        R"(stage = "random_affine", degrees = [10, 20], p = 0.3)",
        R"(stage = "random_perspective", p = 0.3)", R"(stage = "elastic", sigma = 1, p = 0.3)"}) {
    INFO(parameters);
    const auto stage = warp(parameters);
    CHECK(stage->is_random());
    int done = 0;
    for (std::uint64_t id = 0; id < 1000; ++id) {
      std::vector<bc::Note> notes;
      const bool moved = !run_warp(*stage, pixels, {12, 12}, 1, false, id, &notes).empty();
      const bool noted = !notes.empty() && (notes[0].key == "angle" || notes[0].value == 1);
      REQUIRE(moved == noted);
      done += moved ? 1 : 0;
    }
    CHECK(std::abs(done - 300) < 75);
  }
  CHECK_FALSE(warp(R"(stage = "rotate", angle = 10)")->is_random());
  CHECK_FALSE(warp(R"(stage = "random_rotation", degrees = 10, p = 0)")->is_random());
}

TEST_CASE("warps of images that have no room to be bent") {
  CHECK(run_warp(*warp(R"(stage = "random_perspective", p = 1)"), Pixels{7, 8}, {1, 2}, 1).empty());
  CHECK(run_warp(*warp(R"(stage = "random_rotation", degrees = 90, fill = 7)"), Pixels{7}, {1, 1},
                 1) == Pixels{7});
  CHECK_THROWS_AS(run_warp(*warp(R"(stage = "elastic")"), Pixels(400), {20, 20}, 1), bc::BadSample);
  CHECK_THROWS_WITH(
      run_pixels(*stage_as<bc::PixelStage>(R"(stage = "gaussian_blur", kernel_size = 9)"),
                 Pixels(48), {4, 4}, 3),
      Catch::Contains("4x4 pixels is too small") && Catch::Contains("`kernel_size`"));
  // Such an image is a bad sample, and takes no memory for rows as long as it is.
  constexpr bc::ImageSize low{100'000'000, 1};
  CHECK(stage_as<bc::PixelStage>(R"(stage = "gaussian_blur", kernel_size = 23)")
            ->scratch_bytes(low, 3) == 0);
  CHECK(warp(R"(stage = "elastic")")->scratch_bytes(low, 3) == 0);
}

TEST_CASE("matrices of perspectives take corners to corners, and there is none on a line") {
  using bc::detail::Corners;
  const Corners corners = {{{3, 1}, {17, 4}, {19, 13}, {0, 9}}};
  const auto matrix = bc::detail::perspective_matrix({20, 14}, corners);
  REQUIRE(matrix);
  const Corners from = {{{0, 0}, {19, 0}, {19, 13}, {0, 13}}};
  for (std::size_t i = 0; i < 4; ++i) {
    const double x = corners[i][0];
    const double y = corners[i][1];
    const auto& m = *matrix;
    const double depth = m[6] * x + m[7] * y + 1;
    CHECK((m[0] * x + m[1] * y + m[2]) / depth == Approx(from[i][0]).margin(1e-4));
    CHECK((m[3] * x + m[4] * y + m[5]) / depth == Approx(from[i][1]).margin(1e-4));
  }
  CHECK_FALSE(bc::detail::perspective_matrix({20, 14}, {{{3, 3}, {5, 5}, {9, 9}, {0, 9}}}));
}

TEST_CASE("stages that scale resize as torchvision counts") {
  const auto short_side = stage_as<bc::GeometryStage>(
      R"(stage = "random_short_side", min_size = [100, 150, 200], max_size = 300)");
  CHECK_FALSE(short_side->output(bc::ImageSize{500, 375}));
  std::map<double, int> drawn;
  for (std::uint64_t id = 0; id < 3000; ++id) {
    std::vector<bc::Note> notes;
    const bc::Geometry geometry = placed(*short_side, {640, 401}, id, &notes);
    const double side = note_of(notes, "short_side");
    ++drawn[side];
    // 200 / 401 would make the longer side 319.
    const double factor = side == 200 ? 300.0 / 640 : side / 401;
    REQUIRE(geometry.resized == bc::ImageSize{static_cast<std::int32_t>(640 * factor),
                                              static_cast<std::int32_t>(401 * factor)});
  }
  for (const double side : {100, 150, 200}) CHECK(std::abs(drawn[side] - 1000) < 140);
  CHECK_FALSE(
      stage_as<bc::GeometryStage>(R"(stage = "random_short_side", min_size = 9)")->is_random());

  const auto at_times = stage_as<bc::GeometryStage>(
      R"(stage = "scale_jitter", target_size = 50, scale_range = [1, 1], p = 0.25)");
  CHECK(at_times->is_random());
  int scaled = 0;
  for (std::uint64_t id = 0; id < 2000; ++id) {
    scaled += placed(*at_times, {100, 100}, id).resized == bc::ImageSize{50, 50} ? 1 : 0;
  }
  CHECK(std::abs(scaled - 500) < 100);

  const auto jitter = stage_as<bc::GeometryStage>(
      R"(stage = "scale_jitter", target_size = [200, 100], scale_range = [0.5, 1.5])");
  double least = 2;
  double most = 0;
  for (std::uint64_t id = 0; id < 2000; ++id) {
    std::vector<bc::Note> notes;
    const bc::Geometry geometry = placed(*jitter, {400, 300}, id, &notes);
    const double scale = note_of(notes, "jitter_scale");
    least = std::min(least, scale);
    most = std::max(most, scale);
    const float factor = static_cast<float>(100.0 / 300) * static_cast<float>(scale);
    REQUIRE(geometry.resized == bc::ImageSize{static_cast<std::int32_t>(400 * factor),
                                              static_cast<std::int32_t>(300 * factor)});
  }
  CHECK((least >= 0.5 && least < 0.505 && most < 1.5 && most > 1.495));

  // Of torchvision 0.26's ScaleJitter: what comes next to a whole number is cut off as in floats.
  const auto fitted = [](int target, bc::ImageSize size) {
    return placed(*stage_as<bc::GeometryStage>(R"(stage = "scale_jitter", target_size = )" +
                                               std::to_string(target) + ", scale_range = [1, 1]"),
                  size)
        .resized;
  };
  CHECK(fitted(1024, {233, 478}) == bc::ImageSize{499, 1024});
  CHECK(fitted(512, {705, 143}) == bc::ImageSize{511, 103});
  CHECK(fitted(256, {136, 417}) == bc::ImageSize{83, 256});
  CHECK(fitted(512, {427, 281}) == bc::ImageSize{511, 336});

  const auto crop = stage_as<bc::GeometryStage>(
      R"(stage = "resized_crop", top = 1, left = 2, height = 30, width = 40, size = 24)");
  CHECK(placed(*crop, {50, 40}).box == bc::Box{2, 1, 40, 30});
  CHECK(placed(*crop, {50, 40}).resized == bc::ImageSize{24, 24});
  CHECK_THROWS_AS(placed(*crop, {41, 40}), bc::BadSample);
  CHECK_THROWS_AS(crop->output(bc::ImageSize{50, 30}), bc::InvalidArgument);
}
