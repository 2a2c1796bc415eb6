// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "core/half.hpp"
#include "stage_support.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "catch.hpp"

namespace bc = batchcast;
using namespace batchcast::test;
using bc::DType;
using bc::TensorSpec;
using bc::TensorStage;

TEST_CASE("slice takes a part of the first axis") {
  std::vector<std::uint16_t> in(12);
  std::iota(in.begin(), in.end(), std::uint16_t{0});
  const TensorSpec flat{DType::u16, {12}};
  const TensorSpec rows{DType::u16, {4, 3}};
  const auto input = stage_as<TensorStage>(R"(stage = "slice", stop = -1)");
  CHECK(input->output(flat) == TensorSpec{DType::u16, {11}});
  CHECK(run_tensor(*input, flat, in) == std::vector<std::uint16_t>(in.begin(), in.end() - 1));
  const auto target = stage_as<TensorStage>(R"(stage = "slice", start = 1)");
  CHECK(run_tensor(*target, flat, in) == std::vector<std::uint16_t>(in.begin() + 1, in.end()));
  const auto middle = stage_as<TensorStage>(R"(stage = "slice", start = -3, stop = 2)");
  CHECK(middle->output(rows) == TensorSpec{DType::u16, {1, 3}});
  CHECK(run_tensor(*middle, rows, in) == std::vector<std::uint16_t>{3, 4, 5});

  const auto refused = [](const char* stage, const TensorSpec& spec) {
    CHECK_THROWS_AS(stage_as<TensorStage>(stage)->output(spec), bc::InvalidArgument);
  };
  refused(R"(stage = "slice", stop = 13)", flat);
  refused(R"(stage = "slice", start = 12)", flat);
  refused(R"(stage = "slice", start = -13)", flat);
  refused(R"(stage = "slice", start = -2, stop = 1)", rows);
  refused(R"(stage = "slice")", {DType::u16, {}});
  refused(R"(stage = "slice")", {DType::u8, {-1}});
}

TEST_CASE("reshape keeps the elements and works the open extent out") {
  const TensorSpec spec{DType::f32, {4, 6}};
  const auto shape = [&](const std::string& wanted) {
    return stage_as<TensorStage>("stage = \"reshape\", shape = " + wanted)->output(spec).shape;
  };
  CHECK(shape("[2, 12]") == std::vector<std::int64_t>{2, 12});
  CHECK(shape("[3, -1, 2]") == std::vector<std::int64_t>{3, 4, 2});
  CHECK(shape("-1") == std::vector<std::int64_t>{24});
  CHECK_THROWS_AS(shape("[5, -1]"), bc::InvalidArgument);
  CHECK_THROWS_AS(shape("[25, -1]"), bc::InvalidArgument);
  CHECK_THROWS_AS(shape("[281474976710656, 281474976710656]"), bc::InvalidArgument);
  const auto stage = stage_as<TensorStage>(R"(stage = "reshape", shape = [24])");
  CHECK(stage->in_place());
  std::vector<float> values(24, 3.5F);
  CHECK(run_tensor(*stage, spec, values) == values);
}

TEST_CASE("random erasing writes its value into the box that it notes, and nowhere else") {
  const auto stage =
      stage_as<TensorStage>(R"(stage = "random_erasing", p = 0.7, value = [1.5, -2, 0.25])");
  constexpr std::int64_t height = 20;
  constexpr std::int64_t width = 30;
  int erased = 0;
  for (std::uint64_t id = 0; id < 400; ++id) {
    std::vector<float> expected(3 * height * width, 9.0F);
    for (const bool last : {false, true}) {
      const TensorSpec spec{DType::f32, last ? std::vector<std::int64_t>{height, width, 3}
                                             : std::vector<std::int64_t>{3, height, width}};
      std::vector<bc::Note> notes;
      const auto out = run_tensor(*stage, spec, expected, id, &notes);
      const bool erases = note_of(notes, "erase") == 1;
      if (!last) erased += erases ? 1 : 0;
      const double x0 = erases ? note_of(notes, "erase_x") : 0;
      const double y0 = erases ? note_of(notes, "erase_y") : 0;
      const double w = erases ? note_of(notes, "erase_w") : 0;
      const double h = erases ? note_of(notes, "erase_h") : 0;
      bool right = x0 + w <= width && y0 + h <= height;
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t c = last ? i % 3 : i / (height * width);
        const std::size_t pixel = last ? i / 3 : i % (height * width);
        const auto x = static_cast<double>(pixel % width);
        const auto y = static_cast<double>(pixel / width);
        const bool inside = x >= x0 && x < x0 + w && y >= y0 && y < y0 + h;
        constexpr float values[] = {1.5F, -2.0F, 0.25F};
        right = right && out[i] == (inside ? values[c] : 9.0F);
      }
      REQUIRE(right);
    }
  }
  CHECK(std::abs(erased - 280) < 50);
}

TEST_CASE("random erasing can fill with numbers of the standard normal distribution") {
  const auto stage = stage_as<TensorStage>(
      R"(stage = "random_erasing", p = 1, scale = [0.3, 0.33], ratio = [1, 1], value = "random")");
  const TensorSpec spec{DType::f32, {3, 200, 200}};
  const auto out = run_tensor(*stage, spec, std::vector<float>(120'000, 100.0F));
  double count = 0;
  double sum = 0;
  double squares = 0;
  double beyond_two = 0;
  for (const float value : out) {
    if (value == 100.0F) continue;
    count += 1;
    sum += value;
    squares += static_cast<double>(value) * value;
    beyond_two += std::abs(value) > 2 ? 1 : 0;
  }
  REQUIRE(count > 35'000);
  CHECK(std::abs(sum / count) < 0.025);
  CHECK(squares / count == Approx(1).margin(0.035));
  CHECK(beyond_two / count == Approx(0.0455).margin(0.006));
  CHECK(out == run_tensor(*stage, spec, std::vector<float>(120'000, 100.0F)));
  CHECK(out != run_tensor(*stage, spec, std::vector<float>(120'000, 100.0F), 1));
}

TEST_CASE("random erasing fills several boxes, each with one colour of its own") {
  const auto stage = stage_as<TensorStage>(
      R"(stage = "random_erasing", p = 1, mode = "rand", min_count = 2, max_count = 3, )"
      R"(scale = [0.1, 0.1], ratio = [1, 1])");
  const TensorSpec spec{DType::f32, {3, 60, 60}};
  std::map<std::size_t, int> colours;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t id = 0; id < 300; ++id) {
    std::vector<bc::Note> notes;
    const auto out = run_tensor(*stage, spec, std::vector<float>(3 * 3600, 9.0F), id, &notes);
    std::set<float> seen(out.begin(), out.begin() + 3600);
    seen.erase(9.0F);
    ++colours[seen.size()];
    for (const float number : seen) {
      sum += static_cast<double>(number);
      squares += static_cast<double>(number) * static_cast<double>(number);
    }
    const auto boxes = std::count_if(notes.begin(), notes.end(),
                                     [](const bc::Note& note) { return note.key == "erase_w"; });
    REQUIRE((boxes == 2 || boxes == 3));
    // A tenth of the area, shared by all of them.
    REQUIRE(note_of(notes, "erase_w") == (boxes == 2 ? 13 : 11));
  }
  const double count = 2 * colours[2] + 3 * colours[3];
  CHECK(colours[2] > 100);
  CHECK(colours[3] > 80);
  CHECK(std::abs(sum / count) < 0.2);
  CHECK(squares / count == Approx(1).margin(0.25));
  const auto pixel = stage_as<TensorStage>(R"(stage = "random_erasing", p = 1, mode = "pixel")");
  const auto random = stage_as<TensorStage>(R"(stage = "random_erasing", p = 1, value = "random")");
  const std::vector<float> zeros(3 * 3600);
  CHECK(run_tensor(*pixel, spec, zeros) == run_tensor(*random, spec, zeros));
  CHECK(pixel->parameters_json() == random->parameters_json());
}

TEST_CASE("gaussian noise of floats and of levels") {
  const TensorSpec spec{DType::f32, {3, 100, 100}};
  const auto moments = [](const auto& values, double from) {
    double sum = 0;
    double squares = 0;
    for (const auto value : values) {
      const double off = static_cast<double>(value) - from;
      sum += off;
      squares += off * off;
    }
    const auto count = static_cast<double>(values.size());
    return std::pair(sum / count, std::sqrt(squares / count));
  };
  const auto floats =
      stage_as<TensorStage>(R"(stage = "gaussian_noise", sigma = 0.05, mean = 0.01)");
  const auto added = run_tensor(*floats, spec, std::vector<float>(30'000, 0.5F));
  const auto [mean, deviation] = moments(added, 0.5);
  CHECK(mean == Approx(0.01).margin(0.0015));
  CHECK(deviation == Approx(0.051).margin(0.0015));
  const auto clipped = run_tensor(*floats, spec, std::vector<float>(30'000, 1.0F));
  CHECK(*std::max_element(clipped.begin(), clipped.end()) == 1.0F);
  const auto open = stage_as<TensorStage>(R"(stage = "gaussian_noise", clip = false)");
  const auto beyond = run_tensor(*open, spec, std::vector<float>(30'000, 1.0F));
  CHECK(*std::max_element(beyond.begin(), beyond.end()) > 1.3F);

  const auto levels = stage_as<TensorStage>(R"(stage = "gaussian_noise", sigma = 0.1)");
  const TensorSpec bytes{DType::u8, {100, 100, 3}};
  const auto noisy = run_tensor(*levels, bytes, std::vector<std::uint8_t>(30'000, 128));
  // Cut off towards 0: about a third of a level less than 25.5.
  CHECK(moments(noisy, 128).second == Approx(25.0).margin(0.5));
  CHECK(std::abs(moments(noisy, 128).first) < 0.5);
  const auto at_times = stage_as<TensorStage>(R"(stage = "gaussian_noise", p = 0.25)");
  int noised = 0;
  for (std::uint64_t id = 0; id < 2000; ++id) {
    const std::vector<float> in(4, 0.5F);
    noised += run_tensor(*at_times, {DType::f32, {4}}, in, id) == in ? 0 : 1;
  }
  CHECK(std::abs(noised - 500) < 100);
  CHECK_THROWS_AS(levels->output({DType::i64, {4}}), bc::InvalidArgument);
}

TEST_CASE("random erasing of narrow types, and what it cannot take") {
  const auto one = stage_as<TensorStage>(
      R"(stage = "random_erasing", p = 1, scale = [0.2, 0.3], ratio = [1, 1], value = 3)");
  const auto u8 = run_tensor(*one, {DType::u8, {1, 16, 16}}, std::vector<std::uint8_t>(256));
  CHECK(std::count(u8.begin(), u8.end(), 3) > 40);
  const auto f16 = run_tensor(*one, {DType::f16, {16, 16, 3}}, std::vector<std::uint16_t>(768));
  CHECK(std::count(f16.begin(), f16.end(), bc::detail::f16_from_f32(3)) > 120);
  const auto bf16 = run_tensor(*one, {DType::bf16, {3, 16, 16}}, std::vector<std::uint16_t>(768));
  CHECK(std::count(bf16.begin(), bf16.end(), bc::detail::bf16_from_f32(3)) > 120);

  const auto refused = [](const char* parameters, const TensorSpec& spec) {
    const auto stage =
        stage_as<TensorStage>("stage = \"random_erasing\"" + std::string(parameters));
    CHECK_THROWS_AS(stage->output(spec), bc::InvalidArgument);
  };
  refused("", {DType::f32, {16, 16}});
  refused("", {DType::f32, {8, 16, 16}});
  refused("", {DType::f32, {3, 16, 3}});
  refused("", {DType::f64, {3, 16, 16}});
  refused(", value = [1, 2, 3]", {DType::f32, {1, 16, 16}});
  refused(", value = 0.5", {DType::u8, {3, 16, 16}});
  refused(", value = 256", {DType::u8, {3, 16, 16}});
  refused(", value = \"random\"", {DType::u8, {3, 16, 16}});
}
