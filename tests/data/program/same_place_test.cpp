// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "program_support.hpp"

#include "catch.hpp"

#include <string>
#include <vector>

// An image and its mask show the same place.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

bool has_all(const std::string& said, const std::vector<std::string>& words) {
  INFO(said);
  for (const std::string& word : words) CHECK_THAT(said, Contains(word));
  return true;
}

}  // namespace

TEST_CASE("an image and a mask that a random crop would cut differently are refused") {
  const auto pair = [](const std::string& image, const std::string& mask) {
    return unresolved(field("image", image) + field("mask", mask, "kind = \"mask\""));
  };
  const std::string resize = R"({ stage = "resize", size = [16, 16] }, )";
  const std::string bicubic =
      R"({ stage = "resize", size = [16, 16], interpolation = "bicubic" }, )";
  CHECK_THAT(pair(resize + crop, crop), Contains("cut alike by `random_crop`"));
  CHECK(pair(crop, resize + crop) != "nothing");
  CHECK(pair(crop + flip, flip + crop) != "nothing");
  CHECK(pair(crop, R"({ stage = "random_crop", size = 4 }, )") != "nothing");
  CHECK(pair(bicubic + jitter + crop + resize, resize + crop) == "nothing");
  CHECK(pair(R"({ stage = "random_crop", size = 8, padding = 2 }, )",
             R"({ stage = "random_crop", size = 8, padding = 2, fill = 255 }, )") == "nothing");
  const auto resized = [](int size) {
    return R"({ stage = "random_resized_crop", size = )" + std::to_string(size) + " }, ";
  };
  CHECK(pair(resized(8), resized(4)) == "nothing");
  CHECK(pair(resized(8) + crop, resized(16) + crop) != "nothing");
  CHECK(unresolved(field("a", resize + crop) + field("b", crop)) == "nothing");
}

TEST_CASE("what would move an image and not its mask is refused, in a joint's fields") {
  const auto pair = [](const std::string& image, const std::string& mask,
                       const std::string& more = "") {
    return unresolved(field("image", image, more) +
                      field("mask", mask, "kind = \"mask\"\n" + more) +
                      "[[joint]]\nfields = [\"image\", \"mask\"]\nstages = [" + crop + "]\n");
  };
  const std::string own = "draws = \"own\"";
  const std::string rotate = R"({ stage = "rotate", angle = 90 }, )";
  const std::string surely = R"({ stage = "rotate", angle = 90, p = 1 }, )";
  const std::string turn = R"({ stage = "random_rotation", degrees = 20 }, )";
  const std::string perhaps = R"({ stage = "random_apply", stages = [)" + surely + "] }, ";
  for (const std::string& mover :
       {rotate, surely, turn, flip, perhaps, std::string(R"({ stage = "vertical_flip" }, )"),
        std::string(R"({ stage = "random_affine", degrees = 20 }, )"),
        std::string(R"({ stage = "center_crop", size = 4 }, )")}) {
    CAPTURE(mover);
    const std::vector<std::string> refused{"test.toml:", "share a joint",
                                           "Put it into the [[joint]]"};
    CHECK(has_all(pair(jitter + mover, ""), refused));
    CHECK(has_all(pair(jitter, mover), refused));
    CHECK(has_all(pair(mover, "", own), refused));
    CHECK(pair(jitter + mover, mover) == "nothing");
  }
  CHECK(pair(turn + flip, flip + turn) != "nothing");
  CHECK_THAT(pair(turn, turn, own), Contains("share a joint"));  // by draws of their own
  CHECK(pair(surely, surely, own) == "nothing");
  CHECK(pair(R"({ stage = "rotate", angle = 90, fill = 7, interpolation = "bilinear" }, )",
             R"({ stage = "rotate", angle = 90, mask_fill = 255 }, )") == "nothing");
  // A mask of another size shows the same place.
  CHECK(pair(jitter, R"({ stage = "resize", size = [2, 2] }, )") == "nothing");
  CHECK(pair("", R"({ stage = "resize", size = [2, 2] }, )" + flip) != "nothing");

  for (const char* name :
       {"rand_augment", "trivial_augment_wide", "auto_augment", "aug_mix", "timm_rand_augment"}) {
    CAPTURE(name);
    const std::string policy = std::string("{ stage = \"") + name + "\" }, ";
    const std::string inner = R"({ stage = "random_apply", stages = [)" + policy + "] }, ";
    const std::vector<std::string> refused{"test.toml:", std::string("`") + name + "`",
                                           "take color_jitter"};
    CHECK(has_all(pair(policy, ""), refused));
    CHECK(has_all(pair(inner, "", own), refused));
    CHECK(has_all(
        unresolved(field("image", "") + field("mask", "", "kind = \"mask\"") +
                   "[[joint]]\nfields = [\"image\", \"mask\"]\nstages = [" + policy + "]\n"),
        refused));
    CHECK(unresolved(field("image", policy)) == "nothing");
  }
}

TEST_CASE("what would move an image and not its mask is refused, without a joint") {
  const auto pair = [](const std::string& image, const std::string& mask,
                       const std::string& more = "") {
    return unresolved(field("image", image, more) + field("mask", mask, "kind = \"mask\""));
  };
  const std::string middle = R"({ stage = "center_crop", size = 8 }, )";
  const std::vector<std::string> refused{"test.toml:", "lacks it", "[[joint]]", "draws = \"own\""};
  CHECK(has_all(pair(crop, middle), refused));
  CHECK_THAT(pair(crop, middle), Contains("`random_crop#0` of the field `image`"));
  CHECK(has_all(pair(middle, crop), refused));
  CHECK_THAT(pair(middle, crop), Contains("`random_crop#0` of the field `mask`"));
  CHECK(has_all(pair(crop, ""), refused));
  CHECK(has_all(pair(R"({ stage = "random_choice", stages = [)" + flip + jitter + "] }, ", ""),
                refused));
  CHECK_THAT(pair(R"({ stage = "rand_augment" }, )", ""),
             Contains("A policy cannot be used on an image with a mask"));
  CHECK(pair(R"({ stage = "rand_augment" }, )", "", "draws = \"own\"") == "nothing");
  CHECK(pair(crop, middle, "draws = \"own\"") == "nothing");
  CHECK(pair(middle, R"({ stage = "resize", size = 8 }, )") == "nothing");
  CHECK(pair(jitter + crop, crop) == "nothing");
  CHECK(unresolved(field("a", crop) + field("b", middle)) == "nothing");  // two images
  CHECK(pair(crop, crop) == "nothing");
  CHECK(unresolved(field("mask", crop, "kind = \"mask\"") + "[[field]]\nname = \"label\"\n" +
                   field("text", R"({ stage = "to", dtype = "i64" })")) == "nothing");
}

TEST_CASE("an image and a mask whose containers differ are refused") {
  const auto pair = [](const std::string& image, const std::string& mask) {
    return unresolved(field("a", image) + field("b", mask, "kind = \"mask\""));
  };
  CHECK(pair(holding("random_apply", flip), holding("random_apply", flip)) == "nothing");
  CHECK_THAT(pair(holding("random_choice", flip + jitter), holding("random_choice", flip)),
             Contains("test.toml:8: ") &&
                 Contains("`a` and `b` choose alike in `random_choice#0`") &&
                 Contains("[[joint]]"));
  CHECK(pair(holding("random_apply", flip, ", p = 0.2"), holding("random_apply", flip)) !=
        "nothing");
  CHECK_THAT(pair(holding("random_apply", flip), flip),
             Contains("`random_apply#0/horizontal_flip#0` of the one, `horizontal_flip#0`"));

  // By an id it draws alike wherever it stands, and must run alike too.
  const std::string turn = R"({ stage = "random_rotation", degrees = 20, id = "turn" })";
  const std::string apart = "draw alike for `turn`, and it does not stand in the same containers";
  CHECK_THAT(pair(holding("random_apply", turn), turn),
             Contains("test.toml:8: ") && Contains(apart));
  CHECK_THAT(pair(turn, holding("random_apply", turn)), Contains(apart));
  CHECK_THAT(pair(holding("random_apply", turn, ", p = 1"), turn), Contains(apart));
  CHECK(pair(holding("random_apply", turn), holding("random_apply", turn)) == "nothing");
}

TEST_CASE("thousands of stages of an image and its mask are compared at once") {
  std::string stages;
  for (int i = 0; i < 2000; ++i) stages += R"({ stage = "random_rotation", degrees = 20 }, )";
  CHECK(resolved(field("a", stages) + field("b", stages, "kind = \"mask\""))
            .fields[1]
            .stages.size() == 2000);
}
