// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/fake_source.hpp"

#include <batchcast/data/pipeline.hpp>

#include "catch.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <numeric>
#include <thread>

using namespace batchcast;
using test::FakeSource;

namespace {

std::shared_ptr<FakeSource> numbers(std::uint64_t samples) {
  return std::make_shared<FakeSource>(
      samples,
      std::vector<PartSpec>{{"values", PartKind::tensor, DType::i32, {4}},
                            {"label", PartKind::tensor, DType::i64, {}}},
      [](std::uint64_t id, std::size_t part, std::span<std::byte> out) {
        if (part == 1) {
          std::memcpy(out.data(), &id, 8);
          return;
        }
        for (std::size_t i = 0; i < 4; ++i) {
          const auto value = static_cast<std::int32_t>(10 * id + i);
          std::memcpy(out.data() + 4 * i, &value, 4);
        }
      });
}

/// Samples made into memory of the test's own.
struct Made {
  std::vector<std::vector<std::byte>> fields;
  std::vector<std::uint64_t> ids;

  template <class T>
  [[nodiscard]] T at(std::size_t field, std::size_t element) const {
    T value;
    std::memcpy(&value, fields[field].data() + element * sizeof(T), sizeof value);
    return value;
  }
  friend bool operator==(const Made&, const Made&) = default;
};

struct Range {
  std::uint64_t epoch = 0;
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

Made make(const Pipeline& pipeline, SampleWorker& worker, const Range& range) {
  Made made;
  std::vector<FieldSlots> slots;
  made.fields.resize(pipeline.schema().size());
  for (std::size_t f = 0; f < made.fields.size(); ++f) {
    const std::size_t bytes = pipeline.schema()[f].byte_count();
    made.fields[f].resize(bytes * range.count);
    slots.push_back({made.fields[f].data(), bytes});
  }
  made.ids.resize(range.count);
  worker.make({range.epoch, range.begin, slots, made.ids});
  return made;
}

Made make(const Pipeline& pipeline, const Range& range) {
  return make(pipeline, *pipeline.worker(), range);
}

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

/// The first four bytes; of any number where `sized`, else it does not say how many come out.
class FirstFour final : public TensorStage {
 public:
  explicit FirstFour(bool sized = true) : sized_(sized) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "first_four"; }
  [[nodiscard]] std::string parameters_json() const override { return "{}"; }
  [[nodiscard]] TensorSpec output(const TensorSpec& /*in*/) const override {
    return {DType::u8, {sized_ ? 4 : -1}};
  }
  void run(std::span<const std::byte> in, std::span<std::byte> out,
           StageContext& /*context*/) const override {
    std::memcpy(out.data(), in.data(), 4);
  }

 private:
  bool sized_;
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

Recipe recipe(std::string_view toml) { return Recipe::from_toml(toml, "test.toml"); }

}  // namespace

TEST_CASE("without a recipe every part is a field as it stands") {
  const Pipeline pipeline({.source = numbers(10), .recipe = {.order = OrderMode::sequential}});
  REQUIRE(pipeline.schema() == Schema{{"values", DType::i32, {4}}, {"label", DType::i64, {}}});
  const Made made = make(pipeline, {0, 3, 2});
  CHECK(made.ids == std::vector<std::uint64_t>{3, 4});
  CHECK(made.at<std::int32_t>(0, 0) == 30);
  CHECK(made.at<std::int32_t>(0, 7) == 43);
  CHECK(made.at<std::int64_t>(1, 1) == 4);
}

TEST_CASE("a sample is the same bytes whoever makes it, alone or with others, in any order") {
  const auto source = std::make_shared<FakeSource>(
      97, std::vector<PartSpec>{{"image", PartKind::tensor, DType::u8, {3, 12, 10}}},
      [](std::uint64_t id, std::size_t, std::span<std::byte> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(id * 31 + i);
      });
  const Pipeline pipeline({.source = source,
                           .recipe = recipe(R"(
[[field]]
name = "image"
stages = [
  { stage = "random_crop", size = 8, padding = 2 },
  { stage = "horizontal_flip" },
  { stage = "to", dtype = "f32" },
  { stage = "normalize", mean = [0.5], std = [0.25] },
])"),
                           .seed = 7});
  const Made whole = make(pipeline, {2, 0, 97});
  for (const unsigned workers : {1U, 2U, 16U}) {
    std::vector<Made> parts(97);
    std::vector<std::thread> threads;
    for (unsigned w = 0; w < workers; ++w) {
      threads.emplace_back([&, w] {
        const auto worker = pipeline.worker();
        for (std::uint64_t i = 96 - w; i < 97; i -= workers) {
          parts[i] = make(pipeline, *worker, {2, i, 1});
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    Made joined{{{}}, {}};
    for (const Made& part : parts) {
      joined.fields[0].insert(joined.fields[0].end(), part.fields[0].begin(), part.fields[0].end());
      joined.ids.push_back(part.ids[0]);
    }
    CHECK(joined == whole);
  }
  SECTION("and others in another epoch or under another seed") {
    CHECK(make(pipeline, {3, 0, 97}).fields != whole.fields);
    const Pipeline other({.source = source,
                          .recipe = recipe(R"(
[[field]]
name = "image"
stages = [{ stage = "random_crop", size = 8, padding = 2 }])"),
                          .seed = 8});
    CHECK(make(other, {2, 0, 97}).ids != whole.ids);
  }
}

TEST_CASE("the identity depends on what determines the bytes and on nothing else") {
  const auto identity = [](auto change) {
    PipelineOptions options{.source = numbers(10), .location = "here"};
    change(options);
    return Pipeline(options).identity();
  };
  const auto same = identity([](PipelineOptions&) {});
  CHECK(identity([](PipelineOptions& o) { o.location = "there"; }) == same);
  CHECK(identity([](PipelineOptions& o) { o.on_bad_sample = OnBadSample::substitute; }) == same);
  CHECK(identity([](PipelineOptions& o) { o.seed = 1; }) != same);
  CHECK(identity([](PipelineOptions& o) { o.shard = {1, 2}; }) != same);
  CHECK(identity([](PipelineOptions& o) { o.shard = {0, 2}; }) != same);
  CHECK(identity([](PipelineOptions& o) { o.recipe.order = OrderMode::fixed; }) != same);
  CHECK(identity([](PipelineOptions& o) { o.source = numbers(11); }) != same);
  CHECK(identity([](PipelineOptions& o) {
          auto other = numbers(10);
          other->name = "other files";
          o.source = other;
        }) != same);
  CHECK(identity([](PipelineOptions& o) {
          o.recipe = recipe("[[field]]\nname = \"values\"\nstages = [{ stage = \"to\" }]");
        }) != same);
}

TEST_CASE("`to` converts tensors value by value") {
  const Pipeline pipeline({.source = numbers(10), .recipe = recipe(R"(
order = { mode = "sequential" }
[[field]]
name = "small"
from = "values"
stages = [{ stage = "to", dtype = "i8" }]
[[field]]
name = "half"
from = "values"
stages = [{ stage = "to", dtype = "f16" }]
)")});
  const Made made = make(pipeline, {0, 9, 1});
  CHECK(made.at<std::int8_t>(0, 3) == 93);
  CHECK(made.at<std::uint16_t>(1, 0) == 0x55a0);  // 90
  const Pipeline saturating({.source = numbers(100), .recipe = recipe(R"(
order = { mode = "sequential" }
[[field]]
name = "values"
stages = [{ stage = "to", dtype = "u8" }]
)")});
  CHECK(make(saturating, {0, 50, 1}).at<std::uint8_t>(0, 0) == 255);
}

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

TEST_CASE("bytes of any length go through several stages") {
  const auto source = std::make_shared<FakeSource>(
      3, std::vector<PartSpec>{{"text", PartKind::bytes, DType::u8, {1 << 20}}},
      [](std::uint64_t id, std::size_t, std::span<std::byte> out) {
        std::fill(out.begin(), out.end(), static_cast<std::byte>(id));
      });
  const auto with = [&](std::vector<std::shared_ptr<const Stage>> stages) {
    return Pipeline({.source = source,
                     .recipe = {.order = OrderMode::sequential,
                                .fields = {{.name = "text", .stages = std::move(stages)}}}});
  };
  const auto to_i64 = std::make_shared<ToStage>(ToStage::Parameters{.dtype = DType::i64});
  const auto to_i16 = std::make_shared<ToStage>(ToStage::Parameters{.dtype = DType::i16});
  const auto first = std::make_shared<FirstFour>();
  CHECK(make(with({first}), {0, 2, 1}).at<std::uint8_t>(0, 3) == 2);
  CHECK(make(with({first, to_i64}), {0, 2, 1}).at<std::int64_t>(0, 3) == 2);
  CHECK(make(with({first, to_i64, to_i16, to_i64}), {0, 2, 1}).at<std::int64_t>(0, 3) == 2);
  CHECK_THROWS_WITH(with({std::make_shared<FirstFour>(false), to_i64}),
                    Catch::Contains("no known size"));
  CHECK_THROWS_WITH(with({first, nullptr}), Catch::Contains("null"));
}

TEST_CASE("a stage that makes another image than it said writes nothing beyond its sample") {
  const auto source = std::make_shared<FakeSource>(
      3, std::vector<PartSpec>{{"image", PartKind::tensor, DType::u8, {20, 20}}},
      [](std::uint64_t, std::size_t, std::span<std::byte>) {});
  const auto jitter =
      recipe("[[field]]\nname = \"x\"\nstages = [{ stage = \"color_jitter\", brightness = 0.5 }]");
  const auto with = [&](std::vector<std::shared_ptr<const Stage>> stages) {
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

TEST_CASE("shards are disjoint, equally long and together nearly everything") {
  std::vector<std::uint64_t> all;
  for (std::uint64_t shard = 0; shard < 3; ++shard) {
    const Pipeline pipeline({.source = numbers(11), .seed = 3, .shard = {shard, 3}});
    REQUIRE(pipeline.samples_per_epoch() == 3);
    const Made made = make(pipeline, {5, 0, 3});
    all.insert(all.end(), made.ids.begin(), made.ids.end());
  }
  std::sort(all.begin(), all.end());
  CHECK(std::adjacent_find(all.begin(), all.end()) == all.end());
}

TEST_CASE("what was drawn can be looked at, and is what the stream has") {
  const auto source = std::make_shared<FakeSource>(
      5, std::vector<PartSpec>{{"image", PartKind::tensor, DType::u8, {20, 30}}},
      [](std::uint64_t, std::size_t, std::span<std::byte> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i);
      });
  const Pipeline pipeline({.source = source, .recipe = recipe(R"(
[[field]]
name = "image"
stages = [{ stage = "random_crop", size = 8 }, { stage = "horizontal_flip", p = 0.5 }]
)")});
  REQUIRE(pipeline.schema()[0].shape == std::vector<std::int64_t>{8, 8});
  for (std::uint64_t index = 0; index < 5; ++index) {
    const Made made = make(pipeline, {1, index, 1});
    std::vector<std::byte> bytes(64);
    std::uint64_t id = 0;
    const std::vector<FieldSlots> slots{{bytes.data(), 64}};
    const SampleTrace trace = pipeline.trace({1, index, slots, {&id, 1}});
    CHECK(bytes == made.fields[0]);
    CHECK(trace.sample_id == made.ids[0]);
    CHECK(trace.path == "fake/" + std::to_string(id));
    const auto note = [&](std::string_view key) {
      for (const Note& each : trace.fields[0].notes) {
        if (each.key == key) return each.value;
      }
      FAIL("no note " << key);
      return 0.0;
    };
    const bool flipped = note("flip") != 0;
    const double x = note("crop_x") + (flipped ? 7 : 0);
    CHECK(bytes[0] == static_cast<std::byte>(30 * note("crop_y") + x));
  }
}
