// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/nearest_name.hpp>

#include <string>
#include <vector>

using batchcast::detail::did_you_mean;
using batchcast::detail::nearest_name;

namespace {

const std::vector<std::string> stages = {"decode",      "resize",    "random_resized_crop",
                                         "random_crop", "normalize", "horizontal_flip",
                                         "to",          "pad"};

}  // namespace

TEST_CASE("the nearest name is found past a typing error") {
  CHECK(nearest_name("decod", stages) == "decode");
  CHECK(nearest_name("deocde", stages) == "decode");
  CHECK(nearest_name("normalise", stages) == "normalize");
  CHECK(nearest_name("Random-Crop", stages) == "random_crop");
  CHECK(nearest_name("random_resize_crop", stages) == "random_resized_crop");
  CHECK(nearest_name("pda", stages) == "pad");
  CHECK(nearest_name("tp", stages) == "to");
}

TEST_CASE("part of a name is near, but a typing error is nearer") {
  CHECK(nearest_name("flip", stages) == "horizontal_flip");
  CHECK(nearest_name("crop", stages) == "random_resized_crop");
  CHECK(nearest_name("resized", stages) == "resize");
}

TEST_CASE("what resembles nothing is answered with nothing") {
  CHECK(nearest_name("mixup", stages).empty());
  CHECK(nearest_name("x", stages).empty());
  CHECK(nearest_name("", stages).empty());
  CHECK(nearest_name(std::string(100'000, 'd'), stages).empty());
  CHECK(nearest_name("decode", {}).empty());
}

TEST_CASE("a refusal ends with the name, or with nothing") {
  CHECK(did_you_mean("resise", stages) == " Did you mean `resize`?");
  CHECK(did_you_mean("mixup", stages).empty());
}
