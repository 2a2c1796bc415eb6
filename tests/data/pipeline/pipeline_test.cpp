// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "pipeline_support.hpp"

#include <batchcast/core/identity.hpp>

#include "catch.hpp"

#include <algorithm>
#include <memory>
#include <thread>

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

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

TEST_CASE("the names of classes stand on the board and are not in the identity") {
  const auto board_with = [](std::vector<std::string> classes, std::string& identity) {
    const auto source = numbers(10);
    source->classes = std::move(classes);
    PipelineOptions options;
    options.source = source;
    const Pipeline pipeline(std::move(options));
    identity = pipeline.identity().to_hex();
    return pipeline.recipe_json();
  };
  std::string without, with, many;
  CHECK_THAT(board_with({}, without), !Contains("classes"));
  CHECK_THAT(board_with({"cat", "dog"}, with), Contains(R"("classes":["cat","dog"])"));
  CHECK_THAT(board_with(std::vector<std::string>(6554, "ten letter"), many), !Contains("classes"));
  CHECK(without == with);
  CHECK(without == many);
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

TEST_CASE("a grid lays out one stream for any nodes: the same samples, identity and cursors") {
  PipelineOptions options{.source = numbers(11), .seed = 3};
  const Pipeline plain(options);
  Pipeline laid_out(options);
  laid_out.lay_out(Grid::whole(11));
  CHECK(laid_out.identity() == plain.identity());
  CHECK(make(laid_out, {5, 0, 11}).ids == make(plain, {5, 0, 11}).ids);

  const Grid first{.samples = 11, .ranks = 3, .first = 0, .own = 2};
  laid_out.lay_out(first);
  CHECK(laid_out.samples_per_epoch() == 6);
  const Made of_first = make(laid_out, {5, 0, 6});
  const Fingerprint of_first_ring = laid_out.identity();
  CHECK(of_first_ring != plain.identity());
  CHECK(Grid::in_recipe(laid_out.recipe_json()) == first);
  CHECK(detail::identity_in(laid_out.recipe_json()) == plain.identity().to_hex());

  laid_out.lay_out({.samples = 11, .ranks = 3, .first = 2, .own = 1});
  CHECK(laid_out.identity() != of_first_ring);
  CHECK(detail::identity_in(laid_out.recipe_json()) == plain.identity().to_hex());
  const Made of_second = make(laid_out, {5, 0, 3});
  const Made all = make(plain, {5, 0, 9});
  for (std::size_t row = 0; row < 3; ++row) {
    CHECK(of_first.ids[2 * row] == all.ids[3 * row]);
    CHECK(of_first.ids[2 * row + 1] == all.ids[3 * row + 1]);
    CHECK(of_second.ids[row] == all.ids[3 * row + 2]);
  }
  CHECK_THROWS_WITH(laid_out.lay_out(Grid::whole(12)), Contains("cannot be laid out by the grid"));
  options.grid = first;
  CHECK(Pipeline(options).identity() == of_first_ring);
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
      for (const Note& each : trace.fields[0].views.at(0)) {
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
