// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/image/compile_field.hpp"
#include "data/pipeline/pipeline_support.hpp"
#include "data/program/resolve.hpp"
#include "data/stage/stage_support.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

// Stages in stages: what may stand where, what is drawn, and what comes out.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

constexpr ImageSize size{12, 10};

/// A tensor that is an image: each pixel says where it is.
std::shared_ptr<FakeSource> pixels(std::uint64_t samples = 400) {
  return std::make_shared<FakeSource>(
      samples,
      std::vector<PartSpec>{{"image", PartKind::tensor, DType::u8, {size.height, size.width}}},
      [](std::uint64_t, std::size_t, std::span<std::byte> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i);
      });
}

std::string field(const std::string& stages, const std::string& more = "") {
  return "[[field]]\nname = \"image\"\n" + more + "\nstages = [\n" + stages + "\n]\n";
}

std::string refusal(const std::string& toml) {
  try {
    const Pipeline pipeline({.source = pixels(1), .recipe = recipe(toml)});
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "nothing";
}

/// The image of one sample, and what was noted of it.
struct Traced {
  std::vector<std::uint8_t> pixels;
  std::map<std::string, std::vector<std::string>> texts;
};

Traced trace(const Pipeline& pipeline, std::uint64_t index) {
  Traced traced;
  traced.pixels.resize(pipeline.schema()[0].byte_count());
  std::uint64_t id = 0;
  const std::vector<FieldSlots> slots{
      {reinterpret_cast<std::byte*>(traced.pixels.data()), traced.pixels.size()}};
  const SampleTrace sample = pipeline.trace({0, index, slots, {&id, 1}});
  for (const Note& note : sample.fields[0].views[0]) {
    traced.texts[std::string(note.key)].emplace_back(note.text);
  }
  return traced;
}

std::vector<std::uint8_t> flipped(bool horizontally, bool vertically) {
  std::vector<std::uint8_t> made;
  for (std::int32_t y = 0; y < size.height; ++y) {
    for (std::int32_t x = 0; x < size.width; ++x) {
      const std::int32_t from_x = horizontally ? size.width - 1 - x : x;
      const std::int32_t from_y = vertically ? size.height - 1 - y : y;
      made.push_back(static_cast<std::uint8_t>(from_y * size.width + from_x));
    }
  }
  return made;
}

const std::string flip = R"({ stage = "horizontal_flip", p = 1 })";
const std::string turn = R"({ stage = "vertical_flip", p = 1 })";
const std::string jitter = R"({ stage = "color_jitter", brightness = 0.4 })";

std::string holding(const std::string& name, const std::string& stages,
                    const std::string& more = "") {
  return "{ stage = \"" + name + "\", stages = [" + stages + "]" + more + " }";
}

/// Runs both of its stages, the last one first.
class BackwardsStage final : public ContainerStage {
 public:
  BackwardsStage(std::vector<RecipeStage> stages, std::size_t beyond)
      : stages_(std::move(stages)), beyond_(beyond) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "backwards"; }
  [[nodiscard]] bool is_random() const noexcept override { return false; }
  [[nodiscard]] std::span<const RecipeStage> stages() const noexcept override { return stages_; }
  void choose(std::vector<std::size_t>& chosen, StageContext&) const override {
    for (std::size_t i = stages_.size(); i > 0; --i) chosen.push_back(i - 1 + beyond_);
  }
  [[nodiscard]] std::string own_parameters_json() const override {
    return R"({"beyond":)" + std::to_string(beyond_) + "}";
  }

 private:
  std::vector<RecipeStage> stages_;
  std::size_t beyond_;
};

StageCatalog with_backwards() {
  StageCatalog catalog = StageCatalog::standard();
  catalog.add("backwards", [](StageParameters& parameters) {
    const auto beyond = static_cast<std::size_t>(parameters.integer("beyond").value_or(0));
    return std::make_shared<BackwardsStage>(parameters.stages("stages").value(), beyond);
  });
  return catalog;
}

}  // namespace

TEST_CASE("random_apply runs its stages with its probability, and says which way it went") {
  const Pipeline pipeline(
      {.source = pixels(),
       .recipe = recipe(field(holding("random_apply", flip + ", " + turn, ", p = 0.3"))),
       .seed = 3});
  int applied = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Traced traced = trace(pipeline, i);
    const bool was = traced.texts.at("random_apply#0") == std::vector<std::string>{"applied"};
    applied += was ? 1 : 0;
    REQUIRE(traced.pixels == flipped(was, was));
  }
  // 0.3 × 400, within five standard deviations.
  CHECK(applied > 120 - 46);
  CHECK(applied < 120 + 46);
}

TEST_CASE("random_choice runs one stage, as often as its weight says") {
  const std::string compose = holding("random_apply", flip + ", " + turn, ", p = 1");
  const Pipeline pipeline(
      {.source = pixels(),
       .recipe = recipe(field(
           holding("random_choice", flip + ", " + turn + ", " + compose, ", p = [1, 0, 3]")))});
  std::array<int, 2> counts{};
  for (std::uint64_t i = 0; i < 400; ++i) {
    const Traced traced = trace(pipeline, i);
    const std::string chosen = traced.texts.at("random_choice#0").at(0);
    const bool both = chosen == "random_choice#0/random_apply#0";
    REQUIRE((both || chosen == "random_choice#0/horizontal_flip#0"));
    REQUIRE(traced.pixels == flipped(true, both));
    ++counts[both ? 1 : 0];
  }
  CHECK(counts[0] > 100 - 44);
  CHECK(counts[0] < 100 + 44);
}

TEST_CASE("random_order runs all stages in every order equally often") {
  // Padding and a crop back to the size: what they leave says which came first.
  const std::string three =
      jitter + ", " + R"({ stage = "color_jitter", contrast = 0.4 })" + ", " + flip;
  const Pipeline pipeline(
      {.source = pixels(600), .recipe = recipe(field(holding("random_order", three)))});
  std::map<std::vector<std::string>, int> orders;
  for (std::uint64_t i = 0; i < 600; ++i) {
    ++orders[trace(pipeline, i).texts.at("random_order#0")];
  }
  REQUIRE(orders.size() == 6);
  for (const auto& [order, count] : orders) {
    CHECK(std::set<std::string>(order.begin(), order.end()).size() == 3);
    CHECK(count > 100 - 46);
    CHECK(count < 100 + 46);
  }
}

TEST_CASE("geometry that is chosen for each sample makes the pixels of its own recipe") {
  const std::string crop = R"({ stage = "random_crop", size = [6, 8], id = "crop" })";
  const std::string resize = R"({ stage = "resize", size = [6, 8] })";
  const std::string after = ", " + jitter + R"(, { stage = "pad", padding = 2 }, { stage = "to" })";
  const auto made = [&](const std::string& stages) {
    return make(Pipeline({.source = pixels(60), .recipe = recipe(field(stages)), .seed = 9}),
                {0, 0, 60});
  };
  const Pipeline both(
      {.source = pixels(60),
       .recipe = recipe(field(holding("random_choice", crop + ", " + resize) + after)),
       .seed = 9});
  const Made chosen = make(both, {0, 0, 60});
  const Made cropped = made(crop + after);
  const Made resized = made(resize + after);
  const std::size_t bytes = both.schema()[0].byte_count();
  REQUIRE(bytes == std::size_t{10 * 12 * 4});
  int crops = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    const auto sample = [&](const Made& from) {
      return std::vector<std::byte>(
          from.fields[0].begin() + static_cast<std::ptrdiff_t>(i * bytes),
          from.fields[0].begin() + static_cast<std::ptrdiff_t>((i + 1) * bytes));
    };
    const bool was_cropped = trace(both, i).texts.at("random_choice#0").at(0) == "crop";
    crops += was_cropped ? 1 : 0;
    REQUIRE(sample(chosen) == sample(was_cropped ? cropped : resized));
  }
  CHECK(crops > 10);
  CHECK(crops < 50);
}

TEST_CASE("containers in a joint choose alike for all its fields") {
  const auto source = std::make_shared<FakeSource>(
      50,
      std::vector<PartSpec>{{"image", PartKind::tensor, DType::u8, {9, 9}},
                            {"mask", PartKind::tensor, DType::u8, {9, 9}}},
      [](std::uint64_t, std::size_t, std::span<std::byte> out) {
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::byte>(i);
      });
  const std::string inner = R"({ stage = "random_crop", size = 5 })";
  const std::string joint = "[[joint]]\nfields = [\"image\", \"mask\"]\nviews = 2\nstages = [" +
                            holding("random_choice", inner + ", " + flip + ", " + turn) + ", " +
                            holding("random_apply", flip) + "]\n";
  const std::string crops = R"({ stage = "random_crop", size = 5 })";
  const std::string fixed =
      "[[joint]]\nfields = [\"image\", \"mask\"]\nviews = 2\nstages = [" +
      holding("random_choice", crops + ", " + R"({ stage = "center_crop", size = 5 })") + ", " +
      holding("random_apply", flip) + "]\n";
  const std::string fields =
      "[[field]]\nname = \"image\"\n[[field]]\nname = \"mask\"\nkind = \"mask\"\n";
  CHECK_THROWS_WITH(Pipeline({.source = source, .recipe = recipe(fields + joint)}),
                    Contains("9 by 9") && Contains("5 by 5"));
  const Made made =
      make(Pipeline({.source = source, .recipe = recipe(fields + fixed)}), {0, 0, 50});
  CHECK(made.fields[0] == made.fields[1]);
}

TEST_CASE("what cannot stand in a container is refused with its line and a cure") {
  const auto nested = [](const std::string& stages) {
    return refusal(field(holding("random_apply", stages)));
  };
  CHECK_THAT(nested(R"({ stage = "to" })"),
             Contains("test.toml:5: the stage `to` cannot stand in `random_apply`") &&
                 Contains("move it out"));
  CHECK_THAT(nested(R"({ stage = "random_erasing" })"), Contains("`random_erasing` cannot stand"));
  CHECK_THAT(nested(R"({ stage = "decode" })"), Contains("`decode` cannot stand"));
  CHECK_THAT(nested(R"({ stage = "random_crop", size = 4 })"),
             Contains("test.toml:5: the stage `random_apply` of the field `image`") &&
                 Contains("`random_crop` come out 4 by 4 pixels") &&
                 Contains("otherwise 12 by 10 pixels") && Contains("resize or a crop"));
  CHECK(nested(R"({ stage = "pad", padding = 1 }, { stage = "center_crop", size = [10, 12] })") ==
        "nothing");
  CHECK(refusal(field(holding("random_order",
                              R"({ stage = "pad", padding = 1 },
                                 { stage = "center_crop", size = [10, 12] })"))) != "nothing");
  CHECK(refusal(field(holding("random_choice",
                              R"({ stage = "random_crop", size = 4 },
                                 { stage = "random_crop", size = 5 })"))) != "nothing");
  CHECK(refusal(field(holding("random_apply", R"({ stage = "random_crop", size = 4 })",
                              ", p = 1"))) == "nothing");
  CHECK_THAT(refusal(field(holding("random_apply", jitter), "kind = \"mask\"")),
             Contains("`color_jitter`") && Contains("ids"));

  CHECK_THAT(refusal(field("{ stage = \"random_apply\" }")),
             Contains("random_apply: `stages` is missing"));
  CHECK_THAT(refusal(field(holding("random_choice", ""))), Contains("`stages` is missing"));
  CHECK_THAT(refusal(field(holding("random_choice", flip, ", p = [1, 2]"))),
             Contains("one weight for each of its 1 stages, not 2"));
  CHECK_THAT(refusal(field(holding("random_choice", flip, ", p = [0]"))),
             Contains("no weight above 0"));
  CHECK_THAT(refusal(field(holding("random_order", flip, ", p = 1"))), Contains("there is no `p`"));
  CHECK_THAT(refusal("[[field]]\nname = \"text\"\nfrom = \"image\"\nstages = [" +
                     holding("random_aply", flip) + "]"),
             Contains("Did you mean `random_apply`?"));
}

TEST_CASE("stages are nested so deep and no deeper, in files and in code") {
  const auto deep = [](int levels) {
    std::string stages = flip;
    for (int i = 0; i < levels; ++i) stages = holding("random_apply", stages, ", p = 1");
    return field(stages);
  };
  REQUIRE(refusal(deep(nesting_max)) == "nothing");
  CHECK_THAT(refusal(deep(nesting_max + 1)),
             Contains("test.toml:5: ") && Contains("more than 4 others"));
  const Pipeline pipeline({.source = pixels(1), .recipe = recipe(deep(nesting_max))});
  CHECK(trace(pipeline, 0).pixels == flipped(true, false));

  Recipe own = recipe(deep(nesting_max));
  std::vector<RecipeStage> inner = own.fields[0].stages;
  own.fields[0].stages = {std::make_shared<BackwardsStage>(inner, 0)};
  CHECK_THROWS_WITH(detail::resolve(own), Contains("more than 4 others"));
}

TEST_CASE("the JSON of a recipe has all that is nested, and comes back as it was") {
  const std::string toml =
      field(holding("random_choice",
                    flip + ", " + holding("random_apply", jitter, ", p = 0.25, id = \"often\"")));
  const std::string json = recipe(toml).to_json();
  CHECK_THAT(json, Contains(R"({"p":[1.0,1.0],"stage":"random_choice","stages":[)") &&
                       Contains(R"("id":"often","p":0.25,"stage":"random_apply","stages":[{)"));
  CHECK(Recipe::from_json(json).to_json() == json);
  const std::string other = field(holding(
      "random_choice", flip + ", " +
                           holding("random_apply", R"({ stage = "color_jitter", hue = 0.1 })",
                                   ", p = 0.25, id = \"often\"")));
  CHECK(recipe(other).to_json() != json);
}

TEST_CASE("containers of one's own hold stages too, and must keep to what they hold") {
  const StageCatalog catalog = with_backwards();
  const auto made = [&](const std::string& more) {
    return Recipe::from_toml(field(holding("backwards", flip + ", " + turn, more)), "r.toml",
                             catalog);
  };
  const std::string json = made("").to_json();
  CHECK(Recipe::from_json(json, catalog).to_json() == json);
  const Pipeline pipeline({.source = pixels(1), .recipe = made("")});
  const Traced traced = trace(pipeline, 0);
  CHECK(traced.pixels == flipped(true, true));
  CHECK(traced.texts.count("backwards#0") == 0);
  const Pipeline beyond({.source = pixels(1), .recipe = made(", beyond = 1")});
  CHECK_THROWS_WITH(make(beyond, {0, 0, 1}), Contains("chose its stage 2 of 2"));
}

TEST_CASE("what one walk over the pixels does is known by name") {
  const auto walks = [](const std::string& stages) {
    const auto fields = detail::resolve(recipe(field(stages))).fields;
    return detail::compile_field(fields[0], {"image", PartKind::image})->walks();
  };
  using Walks = std::vector<std::vector<std::string>>;
  const std::string crop = R"({ stage = "decode" }, { stage = "random_resized_crop", size = 8 }, )";
  const std::string end = R"(, { stage = "to" }, { stage = "normalize", mean = 0, std = 1 })";
  CHECK(walks(crop + flip + end + R"(, { stage = "random_erasing" })") ==
        Walks{{"decode", "random_resized_crop", "horizontal_flip", "to", "normalize"},
              {"random_erasing"}});
  CHECK(walks(crop + holding("random_apply", jitter) + ", " + flip + end) ==
        Walks{{"decode", "random_resized_crop"},
              {"random_apply"},
              {"horizontal_flip", "to", "normalize"}});
  CHECK(walks(crop + R"({ stage = "resize", size = 4 })" + end) ==
        Walks{{"decode", "random_resized_crop"}, {"resize", "to", "normalize"}});
}
