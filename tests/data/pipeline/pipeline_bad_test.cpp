// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "pipeline_support.hpp"

#include "catch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// Samples, stages and sources that are not what they should be.
using namespace batchcast;
using namespace batchcast::test;

namespace {

/// Cannot take a sample where what it draws for it is below a half, as a crop may meet the damage
/// in a file or not.
class FailsAtTimes final : public TensorStage {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "fails_at_times"; }
  [[nodiscard]] std::string parameters_json() const override { return "{}"; }
  [[nodiscard]] bool in_place() const noexcept override { return true; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override { return in; }
  void run(std::span<const std::byte> /*in*/, std::span<std::byte> /*out*/,
           StageContext& context) const override {
    if (context.draws().unit_f64() < 0.5) throw BadSample("it met the damage.");
  }
};

/// Says 8 by 8 and takes as many pixels of a side as it is told.
class Liar final : public GeometryStage {
 public:
  explicit Liar(std::int32_t side) : side_(side) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "liar"; }
  [[nodiscard]] std::string parameters_json() const override { return "{}"; }
  [[nodiscard]] GeometryTraits traits() const noexcept override { return {.crops = true}; }
  [[nodiscard]] std::optional<ImageSize> output(std::optional<ImageSize> /*in*/) const override {
    return ImageSize{8, 8};
  }
  void place(Geometry& geometry, StageContext& /*context*/) const override {
    geometry.crop({0, 0, side_, side_});
  }

 private:
  std::int32_t side_;
};

}  // namespace

TEST_CASE("a bad sample is an error that names it") {
  auto source = numbers(10);
  source->bad = {4};
  const Pipeline pipeline({.source = source, .recipe = {.order = OrderMode::sequential}});
  CHECK(make(pipeline, {0, 0, 4}).ids.size() == 4);
  try {
    static_cast<void>(make(pipeline, {0, 3, 2}));
    FAIL("it was made");
  } catch (const BadSample& bad) {
    const std::string text = bad.what();
    CHECK(text.find("fake/4") != std::string::npos);
    CHECK(text.find("it is bad") != std::string::npos);
  }
}

TEST_CASE("a bad sample is substituted by the next good one, reported once, up to a limit") {
  auto source = numbers(10);
  source->bad = {4, 5, 9};
  std::vector<BadSampleReport> reports;
  PipelineOptions options{.source = source,
                          .recipe = {.order = OrderMode::sequential},
                          .on_bad_sample = OnBadSample::substitute,
                          .bad_samples_max = 3,
                          .on_bad = [&](const BadSampleReport& bad) { reports.push_back(bad); }};
  SECTION("within the limit") {
    const Pipeline pipeline(options);
    const Made made = make(pipeline, {0, 0, 10});
    CHECK(made.ids == std::vector<std::uint64_t>{0, 1, 2, 3, 6, 6, 6, 7, 8, 0});
    CHECK(made.at<std::int64_t>(1, 4) == 6);
    CHECK(make(pipeline, {1, 0, 10}) == made);
    CHECK(pipeline.bad_samples() == 3);
    REQUIRE(reports.size() == 3);
    CHECK(reports[0].name == "fake/4");
    CHECK(reports[0].reason == "it is bad");
  }
  SECTION("over the limit") {
    options.bad_samples_max = 2;
    const Pipeline pipeline(options);
    CHECK_THROWS_AS(make(pipeline, {0, 0, 10}), BadSample);
  }
  SECTION("all of them") {
    for (std::uint64_t id = 0; id < 10; ++id) source->bad.insert(id);
    options.bad_samples_max = 100;
    const Pipeline pipeline(options);
    CHECK_THROWS_AS(make(pipeline, {0, 0, 1}), BadSample);
  }
}

TEST_CASE("substitutes depend on the position and not on what was made before") {
  const Recipe fails{.order = OrderMode::sequential,
                     .fields = {{.name = "values", .stages = {std::make_shared<FailsAtTimes>()}}}};
  const PipelineOptions options{.source = numbers(20),
                                .recipe = fails,
                                .on_bad_sample = OnBadSample::substitute,
                                .bad_samples_max = 20};
  const Pipeline whole(options);
  for (std::uint64_t epoch = 0; epoch < 8; ++epoch) {
    const Made made = make(whole, {epoch, 0, 20});
    CHECK(make(Pipeline(options), {epoch, 0, 20}) == made);
    CHECK(make(Pipeline(options), {epoch, 19, 1}).ids[0] == made.ids[19]);
  }
}

TEST_CASE("samples that are only copied from memory can be bad like others") {
  auto source = numbers(10);
  source->mapped = true;
  source->bad = {4};
  source->wrong_size = {7};
  PipelineOptions options{.source = source, .recipe = {.order = OrderMode::sequential}};
  CHECK_THROWS_WITH(make(Pipeline(options), {0, 3, 2}), Catch::Contains("`fake/4`"));
  CHECK_THROWS_WITH(make(Pipeline(options), {0, 7, 1}),
                    Catch::Contains("`fake/7`") && Catch::Contains("17 bytes"));
  options.on_bad_sample = OnBadSample::substitute;
  const Pipeline pipeline(options);
  CHECK(make(pipeline, {0, 3, 5}).ids == std::vector<std::uint64_t>{3, 5, 5, 6, 8});
  CHECK(pipeline.bad_samples() == 2);
  source->mapped = false;
  CHECK(make(Pipeline(options), {0, 3, 5}) == make(pipeline, {0, 3, 5}));
}

TEST_CASE("a stage that makes another image than it said writes nothing beyond its sample") {
  const auto source = std::make_shared<FakeSource>(
      3, std::vector<PartSpec>{{"image", PartKind::tensor, DType::u8, {20, 20}}},
      [](std::uint64_t, std::size_t, std::span<std::byte>) {});
  const auto jitter =
      recipe("[[field]]\nname = \"x\"\nstages = [{ stage = \"color_jitter\", brightness = 0.5 }]");
  const auto with = [&](std::vector<RecipeStage> stages) {
    return Pipeline(
        {.source = source, .recipe = {.fields = {{.name = "image", .stages = std::move(stages)}}}});
  };
  const auto painted = jitter.fields[0].stages[0];
  CHECK(make(with({std::make_shared<Liar>(8)}), {0, 0, 1}).fields[0].size() == 64);
  CHECK_THROWS_AS(make(with({std::make_shared<Liar>(9)}), {0, 0, 1}), InvalidArgument);
  CHECK_THROWS_AS(make(with({std::make_shared<Liar>(9), painted}), {0, 0, 1}), InvalidArgument);
}

TEST_CASE("a sample that memory does not suffice for is named, and never substituted") {
  const auto source = std::make_shared<FakeSource>(
      10, std::vector<PartSpec>{{"values", PartKind::tensor, DType::i32, {4}}},
      [](std::uint64_t id, std::size_t, std::span<std::byte>) {
        if (id == 4) throw std::bad_alloc();
      });
  const Pipeline pipeline({.source = source,
                           .recipe = {.order = OrderMode::sequential},
                           .on_bad_sample = OnBadSample::substitute});
  CHECK_THROWS_AS(make(pipeline, {0, 3, 2}), OutOfMemory);
  CHECK_THROWS_WITH(make(pipeline, {0, 4, 1}), Catch::Contains("`fake/4`"));
}

namespace {

/// Ten samples, of which reading the one numbered 4 throws what `raise` throws.
std::shared_ptr<FakeSource> throwing(bool mapped, std::function<void()> raise) {
  auto source = std::make_shared<FakeSource>(
      10, std::vector<PartSpec>{{"values", PartKind::tensor, DType::i32, {4}}},
      [raise = std::move(raise)](std::uint64_t id, std::size_t, std::span<std::byte>) {
        if (id == 4) raise();
      });
  source->mapped = mapped;
  return source;
}

}  // namespace

TEST_CASE("what a source of one's own throws is why its sample is bad, whatever its type") {
  const bool mapped = GENERATE(false, true);
  CAPTURE(mapped);
  const std::vector<std::pair<std::string, std::function<void()>>> all = {
      {"no such record", [] { throw std::runtime_error("no such record"); }},
      {"out of its range", [] { throw std::out_of_range("out of its range."); }},
      {"asked for wrongly", [] { throw InvalidArgument("batchcast: asked for wrongly."); }},
      {"no std::exception", [] { throw 7; }},
  };
  for (const auto& [reason, raise] : all) {
    CAPTURE(reason);
    PipelineOptions options{.source = throwing(mapped, raise),
                            .recipe = {.order = OrderMode::sequential}};
    CHECK_THROWS_AS(make(Pipeline(options), {0, 3, 2}), BadSample);
    CHECK_THROWS_WITH(make(Pipeline(options), {0, 3, 2}),
                      Catch::Contains("sample 4, `fake/4`") && Catch::Contains(reason));
    options.on_bad_sample = OnBadSample::substitute;
    CHECK(make(Pipeline(options), {0, 3, 3}).ids == std::vector<std::uint64_t>{3, 5, 5});
  }
}

TEST_CASE("faults of the machine name the sample, keep their type, and are never substituted") {
  const bool mapped = GENERATE(false, true);
  CAPTURE(mapped);
  const auto serving = [&](std::function<void()> raise) {
    return Pipeline({.source = throwing(mapped, std::move(raise)),
                     .recipe = {.order = OrderMode::sequential},
                     .on_bad_sample = OnBadSample::substitute});
  };
  try {
    static_cast<void>(
        make(serving([] { throw SystemError("batchcast: cannot read disk", EIO); }), {0, 3, 2}));
    FAIL("it was made");
  } catch (const SystemError& error) {
    CHECK(error.code() == EIO);
    CHECK(std::string(error.what()) ==
          "batchcast: sample 4, `fake/4`, cannot be made: cannot read disk: Input/output error");
  }
  const Pipeline full = serving([] { throw OutOfMemory("batchcast: too large."); });
  CHECK_THROWS_AS(make(full, {0, 3, 2}), OutOfMemory);
  CHECK_THROWS_WITH(make(full, {0, 3, 2}),
                    Catch::Contains("`fake/4`") && Catch::Contains("too large"));
}
