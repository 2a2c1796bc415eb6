// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/portable_math.hpp"
#include "data/stage/standard_stages.hpp"
#include "data/stage/warp_options.hpp"

// Rotation, translation, scaling, shearing: by given amounts, or by drawn ones.
namespace batchcast::inline v0_1::detail {
namespace {

using Json = nlohmann::json;

// Ten turns: a recipe with more has a mistake.
constexpr Range degree_bounds{-3600, 3600};
// Nearly a right angle, where nothing of the image is left.
constexpr Range shear_bounds{-89, 89};
constexpr Range scale_bounds{1e-3, 1000};

struct TurnParameters {
  std::optional<Point> center;
  WarpParameters warp;
};

/// `center`, and what all warps take.
TurnParameters turn_parameters(StageParameters& parameters) {
  const std::optional<Point> center = center_of(parameters);
  return {center, warp_parameters(parameters, Interpolation::nearest, 1)};
}

/// A warp about a centre.
class TurningWarp : public StandardWarp {
 public:
  explicit TurningWarp(TurnParameters turn)
      : StandardWarp(std::move(turn.warp)), center_(turn.center) {}
  [[nodiscard]] std::string parameters_json() const final {
    Json object = own_parameters();
    if (center_) object["center"] = json_of(center_);
    warp().add_to(object);
    return object.dump();
  }

 protected:
  [[nodiscard]] virtual Json own_parameters() const = 0;
  [[nodiscard]] const std::optional<Point>& center() const noexcept { return center_; }

 private:
  std::optional<Point> center_;
};

class RotateStage final : public TurningWarp {
 public:
  RotateStage(double angle, TurnParameters turn) : TurningWarp(std::move(turn)), angle_(angle) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "rotate"; }
  [[nodiscard]] bool is_random() const noexcept override { return is_open(warp().p); }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    if (!happens(warp().p, context)) return false;
    context.note("angle", angle_);
    rotate(in, out, angle_, center(), warp().options(is_mask));
    return true;
  }

 protected:
  [[nodiscard]] Json own_parameters() const override { return {{"angle", angle_}}; }

 private:
  double angle_;
};

class RandomRotationStage final : public TurningWarp {
 public:
  RandomRotationStage(Range degrees, TurnParameters turn)
      : TurningWarp(std::move(turn)), degrees_(degrees) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_rotation"; }
  [[nodiscard]] bool is_random() const noexcept override { return warp().p > 0; }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    if (!happens(warp().p, context)) return false;
    const double angle = draw_between(degrees_, context.draws());
    context.note("angle", angle);
    rotate(in, out, angle, center(), warp().options(is_mask));
    return true;
  }

 protected:
  [[nodiscard]] Json own_parameters() const override { return {{"degrees", list_of(degrees_)}}; }

 private:
  Range degrees_;
};

class AffineStage final : public TurningWarp {
 public:
  AffineStage(const AffineParameters& affine, TurnParameters turn)
      : TurningWarp(std::move(turn)), affine_(affine) {
    affine_.center = center();
  }
  [[nodiscard]] std::string_view name() const noexcept override { return "affine"; }
  [[nodiscard]] bool is_random() const noexcept override { return is_open(warp().p); }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    const bool applies = happens(warp().p, context);
    context.note("affine", applies ? 1 : 0);
    if (!applies) return false;
    warp_affine(in, out, affine_matrix(in.size, affine_), warp().options(is_mask));
    return true;
  }

 protected:
  [[nodiscard]] Json own_parameters() const override {
    return {{"angle", affine_.angle},
            {"translate", {affine_.translate[0], affine_.translate[1]}},
            {"scale", affine_.scale},
            {"shear", {affine_.shear[0], affine_.shear[1]}}};
  }

 private:
  AffineParameters affine_;
};

struct RandomAffineParameters {
  Range degrees;
  std::optional<Point> translate;  ///< shares of width and height
  std::optional<Range> scale;
  std::optional<Range> shear_x;
  std::optional<Range> shear_y;
};

class RandomAffineStage final : public TurningWarp {
 public:
  RandomAffineStage(const RandomAffineParameters& ranges, TurnParameters turn)
      : TurningWarp(std::move(turn)), ranges_(ranges) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "random_affine"; }
  [[nodiscard]] bool is_random() const noexcept override { return warp().p > 0; }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    if (!happens(warp().p, context)) return false;
    const AffineParameters drawn = draw(in.size, context.draws());
    context.note("angle", drawn.angle);
    context.note("translate_x", drawn.translate[0]);
    context.note("translate_y", drawn.translate[1]);
    context.note("scale", drawn.scale);
    context.note("shear_x", drawn.shear[0]);
    context.note("shear_y", drawn.shear[1]);
    warp_affine(in, out, affine_matrix(in.size, drawn), warp().options(is_mask));
    return true;
  }

 protected:
  [[nodiscard]] Json own_parameters() const override {
    Json object = {{"degrees", list_of(ranges_.degrees)}};
    if (ranges_.translate) object["translate"] = json_of(ranges_.translate);
    if (ranges_.scale) object["scale"] = list_of(*ranges_.scale);
    if (ranges_.shear_x) object["shear"] = list_of(*ranges_.shear_x);
    if (ranges_.shear_y) {
      object["shear"].push_back(ranges_.shear_y->low);
      object["shear"].push_back(ranges_.shear_y->high);
    }
    return object;
  }

 private:
  [[nodiscard]] AffineParameters draw(ImageSize size, Draws& draws) const {
    AffineParameters drawn;
    drawn.center = center();
    drawn.angle = draw_between(ranges_.degrees, draws);
    if (ranges_.translate) {
      const double x_max = (*ranges_.translate)[0] * size.width;
      const double y_max = (*ranges_.translate)[1] * size.height;
      drawn.translate[0] = round_half_even(draw_between({-x_max, x_max}, draws));
      drawn.translate[1] = round_half_even(draw_between({-y_max, y_max}, draws));
    }
    if (ranges_.scale) drawn.scale = draw_between(*ranges_.scale, draws);
    if (ranges_.shear_x) drawn.shear[0] = draw_between(*ranges_.shear_x, draws);
    if (ranges_.shear_y) drawn.shear[1] = draw_between(*ranges_.shear_y, draws);
    return drawn;
  }

  RandomAffineParameters ranges_;
};

/// A number d: from −d to d; or the range itself.
Range degrees_of(StageParameters& parameters) {
  const auto degrees = parameters.numbers("degrees");
  if (!degrees) parameters.refuse("degrees", "is missing: a number, or [min, max]");
  if (degrees->size() != 1) return range_in(parameters, "degrees", {}, degree_bounds);
  const double most = number_in(parameters, "degrees", std::nullopt, {0, degree_bounds.high});
  return {-most, most};
}

void refuse_expand(StageParameters& parameters) {
  if (parameters.boolean("expand").value_or(false)) {
    parameters.refuse("expand",
                      "cannot be true: a warp keeps the image's size. Put { stage = \"pad\", "
                      "padding = … } before it instead");
  }
}

Point pair_of(StageParameters& parameters, std::string_view key, Range bounds) {
  const auto numbers = parameters.numbers(key);
  if (!numbers) return {};
  if (numbers->size() != 2) {
    parameters.refuse(key, "must be [x, y], not a list of " + std::to_string(numbers->size()));
  }
  for (const double number : *numbers) {
    if (!(number >= bounds.low && number <= bounds.high)) {
      parameters.refuse(key, "must lie from " + text_of(bounds.low) + " to " +
                                 text_of(bounds.high) + ", not at " + text_of(number));
    }
  }
  return {(*numbers)[0], (*numbers)[1]};
}

/// s: from −s to s along x; [min, max] along x; [min x, max x, min y, max y].
void take_shear(StageParameters& parameters, RandomAffineParameters& ranges) {
  const auto numbers = parameters.numbers("shear");
  if (!numbers) return;
  if (numbers->size() == 1) {
    const double most = number_in(parameters, "shear", std::nullopt, {0, shear_bounds.high});
    ranges.shear_x = Range{-most, most};
    return;
  }
  if (numbers->size() != 2 && numbers->size() != 4) {
    parameters.refuse("shear",
                      "must be one number, [min, max] or [min x, max x, min y, max y], not a list "
                      "of " +
                          std::to_string(numbers->size()));
  }
  const auto range = [&](std::size_t i) {
    const Range found{(*numbers)[i], (*numbers)[i + 1]};
    if (!(found.low <= found.high && found.low >= shear_bounds.low &&
          found.high <= shear_bounds.high)) {
      parameters.refuse("shear",
                        "must lie from -89 to 89 degrees, the least first, not " + text_of(found));
    }
    return found;
  };
  ranges.shear_x = range(0);
  if (numbers->size() == 4) ranges.shear_y = range(2);
}

}  // namespace

StagePointer make_rotate(StageParameters& parameters) {
  const double angle = number_in(parameters, "angle", std::nullopt, degree_bounds);
  refuse_expand(parameters);
  return std::make_shared<RotateStage>(angle, turn_parameters(parameters));
}

StagePointer make_random_rotation(StageParameters& parameters) {
  const Range degrees = degrees_of(parameters);
  refuse_expand(parameters);
  return std::make_shared<RandomRotationStage>(degrees, turn_parameters(parameters));
}

StagePointer make_affine(StageParameters& parameters) {
  constexpr auto far = static_cast<double>(side_max);
  AffineParameters affine;
  affine.angle = number_in(parameters, "angle", 0, degree_bounds);
  affine.translate = pair_of(parameters, "translate", {-far, far});
  affine.scale = number_in(parameters, "scale", 1, scale_bounds);
  if (const auto shear = parameters.numbers("shear"); shear && shear->size() == 1) {
    affine.shear[0] = number_in(parameters, "shear", 0, shear_bounds);
  } else {
    affine.shear = pair_of(parameters, "shear", shear_bounds);
  }
  return std::make_shared<AffineStage>(affine, turn_parameters(parameters));
}

StagePointer make_random_affine(StageParameters& parameters) {
  RandomAffineParameters ranges;
  ranges.degrees = degrees_of(parameters);
  if (parameters.numbers("translate")) ranges.translate = pair_of(parameters, "translate", {0, 1});
  if (parameters.numbers("scale")) ranges.scale = range_in(parameters, "scale", {}, scale_bounds);
  take_shear(parameters, ranges);
  return std::make_shared<RandomAffineStage>(ranges, turn_parameters(parameters));
}

}  // namespace batchcast::inline v0_1::detail
