// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/placing.hpp"

#include "catch.hpp"

#include <memory>
#include <string>

namespace {

using namespace batchcast;

/// A pixel stage of a program's own.
class Shuffle final : public PixelStage {
 public:
  Shuffle(bool moves, bool draws) : moves_(moves), draws_(draws) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "shuffle"; }
  [[nodiscard]] std::string parameters_json() const override { return "{}"; }
  [[nodiscard]] bool is_random() const noexcept override { return draws_; }
  [[nodiscard]] bool moves_pixels() const noexcept override { return moves_; }
  void run(const ImageView& /*image*/, StageContext& /*context*/) const override {}

 private:
  bool moves_;
  bool draws_;
};

detail::NamedStage named(bool moves, bool draws) {
  Recipe recipe;
  recipe.fields.push_back({.name = "image", .stages = {std::make_shared<Shuffle>(moves, draws)}});
  return detail::resolve(recipe).fields.front().stages.front();
}

}  // namespace

TEST_CASE("placing: a pixel stage of one's own that says so moves pixels as policies do") {
  CHECK(detail::is_policy(named(true, true)));
  CHECK(detail::moves_pixels(named(true, true)));
  CHECK_FALSE(detail::is_policy(named(true, false)));
  CHECK_FALSE(detail::is_policy(named(false, true)));
  CHECK_FALSE(detail::moves_pixels(named(false, true)));
}

TEST_CASE("stages are what they say, and nothing else") {
  const Shuffle pixels(false, true);
  const Stage& stage = pixels;
  CHECK(stage.as_pixel() == &pixels);
  CHECK(stage.as_geometry() == nullptr);
  CHECK(stage.as_tensor() == nullptr);
  CHECK(detail::works_on_pixels(stage));
  const ToStage to({});
  CHECK(static_cast<const Stage&>(to).as_to() == &to);
  CHECK_FALSE(detail::works_on_pixels(to));
}
