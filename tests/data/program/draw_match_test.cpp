// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "program_support.hpp"

#include "catch.hpp"

#include <string>

// Fields that draw alike have the same stages that draw.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

TEST_CASE("stages that would draw alike and do not match are refused with ways out") {
  CHECK_THAT(unresolved(field("image", flip + crop + flip) + field("mask", crop + flip)),
             Contains("`image` and `mask`") &&
                 Contains("`horizontal_flip#0`, `horizontal_flip#1`") && Contains("[[joint]]") &&
                 Contains("`id`") && Contains("draws = \"own\""));
  CHECK(unresolved(field("image", flip + crop + flip) +
                   field("mask", crop + flip, "draws = \"own\"")) == "nothing");
  CHECK(unresolved(field("image", flip + crop + flip) + field("mask", crop)) == "nothing");
  CHECK(unresolved(field("image", flip) +
                   field("mask", R"({ stage = "horizontal_flip", p = 1 }, )" + flip)) != "nothing");
  const std::string named = R"({ stage = "horizontal_flip", id = "way" }, )";
  CHECK_THAT(unresolved(field("image", named + named)), Contains("id `way`"));
  const std::string namesake = R"({ stage = "grayscale", p = 0.2, id = "way" }, )";
  CHECK_THAT(unresolved(field("a", named) + field("b", namesake)),
             Contains("the id `way` is of a `horizontal_flip`") && Contains("`grayscale`"));
  CHECK(unresolved(field("a", named) + field("b", namesake, "draws = \"own\"")) == "nothing");
  CHECK_THAT(unresolved(field("image", flip, "draws = \"smaple\"")),
             Contains("nothing else draws") && Contains("Did you mean `sample`?"));
}
