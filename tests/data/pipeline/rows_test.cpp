// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe_text.hpp"
#include "data/source/fake_source.hpp"

#include "catch.hpp"

#include <batchcast/data/pipeline.hpp>

#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

/// Sample i has i % 5 boxes, each with a class, and a label; all say whose they are.
class Boxes final : public Source {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return 20; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t id, SampleParts& out) const override {
    if (id == bad) throw BadSample("it is bad");
    out.resize(3);
    const std::uint64_t rows = rows_of(id) + (id == longer ? 1 : 0);
    std::vector<float> boxes(rows * 2, static_cast<float>(id));
    std::vector<std::int64_t> classes(rows + (id == more_classes ? 1 : 0));
    std::iota(classes.begin(), classes.end(), static_cast<std::int64_t>(100 * id));
    put(out, 0, boxes.data(), boxes.size() * sizeof(float) + (id == odd ? 1 : 0));
    put(out, 1, classes.data(), classes.size() * sizeof(std::int64_t));
    put(out, 2, &id, sizeof id);
  }
  [[nodiscard]] std::string name_of(std::uint64_t id) const override {
    return "boxes/" + std::to_string(id);
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_of("boxes"); }
  [[nodiscard]] bool in_memory() const noexcept override { return mapped; }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override {
    if (!says_lengths || axis != "boxes") return nullptr;
    std::vector<std::uint32_t> rows;
    for (std::uint64_t id = 0; id < size(); ++id) {
      rows.push_back(static_cast<std::uint32_t>(rows_of(id)));
    }
    return std::make_shared<StoredLengths>(std::move(rows));
  }
  static std::uint64_t rows_of(std::uint64_t id) { return id % 5; }

  static constexpr std::uint64_t none = 1000;
  std::uint64_t bad = none;
  std::uint64_t longer = none;
  std::uint64_t more_classes = none;
  std::uint64_t odd = none;
  bool mapped = false;
  bool says_lengths = true;

 private:
  static void put(SampleParts& out, std::size_t part, const void* from, std::size_t bytes) {
    const std::span<std::byte> to = out.make(part, bytes);
    const auto* const first = static_cast<const std::byte*>(from);
    std::fill(to.begin(), to.end(), std::byte{});
    if (bytes > 1) std::memcpy(to.data(), first, bytes - bytes % 4);
  }
  std::vector<PartSpec> parts_ = {
      {.name = "boxes", .dtype = DType::f32, .shape = {2}, .axis = "boxes"},
      {.name = "classes", .dtype = DType::i64, .axis = "boxes"},
      {.name = "label", .dtype = DType::i64}};
};

template <class T>
std::vector<T> values(const MadeSample& made, std::size_t field) {
  std::vector<T> all(made.field(field).size() / sizeof(T));
  if (!all.empty()) std::memcpy(all.data(), made.field(field).data(), all.size() * sizeof(T));
  return all;
}

std::string why_bad(const std::shared_ptr<Boxes>& source) {
  const Pipeline pipeline({.source = source, .recipe = {.order = OrderMode::sequential}});
  const auto worker = pipeline.worker();
  MadeSample made(pipeline.schema());
  try {
    for (std::uint64_t i = 0; i < source->size(); ++i) worker->make_apart(0, i, made);
  } catch (const BadSample& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("parts on an axis are fields on it, made apart from the ring") {
  const auto source = std::make_shared<Boxes>();
  const Pipeline pipeline({.source = source, .recipe = {.order = OrderMode::reshuffle}, .seed = 3});
  CHECK(pipeline.schema() == Schema{{"boxes", DType::f32, Axis{"boxes"}, {2}},
                                    {"classes", DType::i64, Axis{"boxes"}},
                                    {"label", DType::i64}});
  CHECK_FALSE(pipeline.fills_in_place());  // reading takes long, or may fail
  REQUIRE(pipeline.lengths("boxes") != nullptr);
  CHECK(pipeline.lengths("other") == nullptr);
  const auto worker = pipeline.worker();
  MadeSample made(pipeline.schema());
  for (std::uint64_t i = 0; i < 20; ++i) {
    worker->make_apart(1, i, made);
    const std::uint64_t id = pipeline.sample_id_at(1, i);
    CHECK(made.sample_id == id);
    CHECK(made.rows()[0] == id % 5);
    CHECK(values<float>(made, 0) == std::vector<float>(2 * (id % 5), static_cast<float>(id)));
    std::vector<std::int64_t> classes(id % 5);
    std::iota(classes.begin(), classes.end(), static_cast<std::int64_t>(100 * id));
    CHECK(values<std::int64_t>(made, 1) == classes);
    CHECK(values<std::uint64_t>(made, 2) == std::vector<std::uint64_t>{id});
    CHECK((*pipeline.lengths("boxes"))[id] == id % 5);
  }
}

TEST_CASE("samples in memory whose lengths are known are made where their rows lie") {
  const auto source = std::make_shared<Boxes>();
  source->mapped = true;
  const Pipeline pipeline({.source = source, .recipe = {.order = OrderMode::reshuffle}, .seed = 3});
  REQUIRE(pipeline.fills_in_place());
  std::uint64_t rows = 0;
  for (std::uint64_t i = 4; i < 11; ++i) rows += pipeline.sample_id_at(0, i) % 5;
  std::vector<float> boxes(rows * 2);
  std::vector<std::int64_t> classes(rows);
  std::vector<std::int64_t> labels(7 * 2, -1);
  std::vector<std::uint64_t> ids(7);
  const std::vector<FieldSlots> slots = {{reinterpret_cast<std::byte*>(boxes.data()), 8},
                                         {reinterpret_cast<std::byte*>(classes.data()), 8},
                                         {reinterpret_cast<std::byte*>(labels.data()), 16}};
  pipeline.worker()->make({0, 4, slots, ids});
  MadeSample made(pipeline.schema());
  const auto worker = pipeline.worker();
  std::size_t at = 0;
  for (std::size_t i = 0; i < 7; ++i) {
    worker->make_apart(0, 4 + i, made);
    CHECK(ids[i] == made.sample_id);
    CHECK(labels[2 * i] == static_cast<std::int64_t>(made.sample_id));
    CHECK(labels[2 * i + 1] == -1);
    for (const std::int64_t name : values<std::int64_t>(made, 1)) {
      CHECK(boxes[2 * at] == static_cast<float>(made.sample_id));
      CHECK(classes[at++] == name);
    }
  }
  CHECK(at == rows);

  const Pipeline substitutes({.source = source, .on_bad_sample = OnBadSample::substitute});
  CHECK_FALSE(substitutes.fills_in_place());
  CHECK(substitutes.lengths("boxes") == nullptr);
  source->says_lengths = false;
  CHECK_FALSE(Pipeline({.source = source}).fills_in_place());
}

TEST_CASE("a sample whose rows are not what was said is a bad sample") {
  auto source = std::make_shared<Boxes>();
  CHECK(why_bad(source).empty());
  source->longer = 7;
  CHECK_THAT(why_bad(source), Contains("boxes/7") && Contains("3 rows on the axis `boxes`") &&
                                  Contains("say 2") && Contains("lengths"));
  source->says_lengths = false;
  CHECK(why_bad(source).empty());
  source->longer = Boxes::none;
  source->more_classes = 4;
  CHECK_THAT(why_bad(source), Contains("boxes/4") && Contains("`boxes` has 4 rows") &&
                                  Contains("`classes` 5") && Contains("axis `boxes`"));
  source->more_classes = Boxes::none;
  source->odd = 9;
  CHECK_THAT(why_bad(source),
             Contains("boxes/9") && Contains("33 bytes") && Contains("row of it 8"));
}

TEST_CASE("a sample with more rows than the ring takes no memory for them") {
  const auto source = std::make_shared<Boxes>();
  source->says_lengths = false;
  source->longer = 9;
  const Pipeline pipeline({.source = source, .recipe = {.order = OrderMode::sequential}});
  const auto worker = pipeline.worker();
  MadeSample made(pipeline.schema());
  made.limit_rows({4});
  worker->make_apart(0, 3, made);
  const std::size_t bytes = made.buffer_bytes();
  CHECK_THROWS_WITH(worker->make_apart(0, 9, made),
                    Contains("boxes/9") && Contains("5 rows on the axis `boxes`"));
  CHECK(made.buffer_bytes() == bytes);
}

TEST_CASE("a bad sample is replaced with its neighbour's rows") {
  const auto source = std::make_shared<Boxes>();
  source->bad = 7;
  const Pipeline pipeline({.source = source,
                           .recipe = {.order = OrderMode::sequential},
                           .on_bad_sample = OnBadSample::substitute});
  MadeSample made(pipeline.schema());
  pipeline.worker()->make_apart(0, 7, made);
  CHECK(made.sample_id == 8);
  CHECK(made.rows()[0] == 3);
}

TEST_CASE("stages of a field on an axis are refused by name") {
  CHECK_THROWS_WITH(Pipeline({.source = std::make_shared<Boxes>(), .recipe = recipe(R"(
[[field]]
name = "boxes"
stages = [ { stage = "to", dtype = "f16" } ])")}),
                    Contains("`to`") && Contains("axis `boxes`") && Contains("leave out"));
}
