// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "program_support.hpp"

#include "catch.hpp"

#include <memory>
#include <string>
#include <vector>

// Joints, views and kinds, given to the fields that they are of.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

TEST_CASE("a joint stands after its fields' decoding and before their own stages") {
  const std::string joint =
      "[[joint]]\nfields = [\"image\", \"mask\"]\nstages = [" + crop + flip + "]\nviews = 2\n";
  const std::string decode = R"({ stage = "decode" }, )";
  const detail::ResolvedRecipe made = resolved(
      field("image", decode + jitter + flip, "draws = \"own\"") +
      field("mask", R"({ stage = "decode", mode = "index" }, )", "kind = \"image\"") + joint);
  const auto& fields = made.fields;
  CHECK(paths_of(fields[0]) ==
        std::vector<std::string>{"own decode#0", "sample random_crop#0", "sample horizontal_flip#0",
                                 "own image color_jitter#0", "own image horizontal_flip#1"});
  CHECK(fields[1].stages.size() == 3);
  CHECK(fields[0].stages[1].draws == fields[1].stages[1].draws);
  CHECK(fields[0].views == 2);
  CHECK(fields[1].views == 2);
  CHECK(fields[0].kind == FieldKind::image);
  CHECK(detail::resolve(recipe(field("mask", R"({ stage = "decode", mode = "index" }, )")))
            .fields[0]
            .kind == FieldKind::mask);
  CHECK_FALSE(made.same_sizes.empty());

  const std::string image = field("image", decode + flip, "kind = \"image\"");
  const std::string mask = field("mask", decode + flip, "kind = \"mask\"");
  CHECK(detail::resolve(recipe(image + mask)).same_sizes.empty());
  CHECK(
      detail::resolve(recipe(image + mask + "[[joint]]\nfields = [\"image\", \"mask\"]\nviews = 2"))
          .same_sizes.empty());

  const std::string both = field("image", decode) + field("mask", decode, "views = 3");
  CHECK_THAT(unresolved(both + joint), Contains("3 views") && Contains("in one place"));
  CHECK_THAT(unresolved(field("image", decode) + field("mask", decode) +
                        "[[joint]]\nfields = [\"image\"]\nstages = [{ stage = \"to\" }]"),
             Contains("`to`") && Contains("cannot stand in a joint"));
  CHECK_THAT(unresolved(field("image", decode) +
                        "[[joint]]\nfields = [\"image\", \"image\"]\nstages = []"),
             Contains("twice"));
  Recipe own = recipe(field("image", decode));
  own.joints.push_back({.fields = {"imgae"}});
  CHECK_THROWS_WITH(detail::resolve(own), Contains("Did you mean `image`?"));
}

TEST_CASE("joints in a ring that would draw apart are refused, and unequal views") {
  const std::string fields =
      "[[field]]\nname = \"a\"\n[[field]]\nname = \"b\"\n[[field]]\nname = \"c\"\n";
  const auto joint = [](const std::string& names, const std::string& id) {
    return "[[joint]]\nfields = [" + names + "]\nstages = [{ stage = \"horizontal_flip\"" + id +
           " }]\n";
  };
  const std::string ring = fields + joint(R"("a", "b")", "") + joint(R"("b", "c")", "");
  CHECK_THAT(unresolved(ring + joint(R"("c", "a")", "")),
             Contains("test.toml:12: ") && Contains("`b` and `c`") && Contains("draw apart"));
  CHECK(unresolved(fields + joint(R"("a", "b")", ", id = \"x\"") +
                   joint(R"("b", "c")", ", id = \"y\"") + joint(R"("c", "a")", ", id = \"z\"")) ==
        "nothing");
  const std::string views = "[[field]]\nname = \"a\"\nviews = 2\n[[field]]\nname = \"b\"\n";
  CHECK_THAT(unresolved(views + joint(R"("a", "b")", "")),
             Contains("test.toml:6: ") && Contains("`a` has 2, `b` 1") && Contains("`views`"));
}

TEST_CASE("a stage that is null is refused, with its field") {
  Recipe own;
  own.fields.push_back(
      {.name = "x", .stages = {std::make_shared<ToStage>(ToStage::Parameters{}), nullptr}});
  CHECK_THROWS_WITH(detail::resolve(own), Contains("field `x` has a stage that is null"));
}
