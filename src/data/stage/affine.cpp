// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/portable_math.hpp"
#include "data/stage/standard_stages.hpp"
#include "data/stage/warp_options.hpp"

#include <batchcast/core/text.hpp>

// Rotation, translation, scaling, shearing, by given or by drawn amounts.
namespace batchcast::inline v0_1::detail {
namespace {

// Ten turns: a recipe with more has a mistake.
constexpr double degrees_max = 3600;
// Nearly a right angle, where nothing of the image is left.
constexpr double shear_max = 89;
constexpr double far = side_max;
constexpr const char* range_text = "a number, or [min, max]";

/// A warp about a centre, by default the image's.
template <class Self>
class TurningWarp : public StandardWarp<Self> {
 protected:
  static void turn_rows(auto& self, auto& table) {
    table("center", self.center_, Pair{-far, far});
    StandardWarp<Self>::warp_rows(self, table);
  }
  std::optional<Point> center_;
};

/// A rotation, which keeps the image's size.
template <class Self>
class RotatingWarp : public TurningWarp<Self> {
 public:
  void settle(StageParameters& given) {
    if (!expand_) return;
    given.refuse("expand",
                 "cannot be true: a warp keeps the image's size. Put { stage = \"pad\", "
                 "padding = … } before it instead");
  }

 protected:
  static void rotation_rows(auto& self, auto& table) {
    table("expand", self.expand_, Flag(), {.printed = false});
    TurningWarp<Self>::turn_rows(self, table);
  }

 private:
  bool expand_ = false;
};

class RotateStage final : public RotatingWarp<RotateStage> {
 public:
  static constexpr std::string_view stage_name = "rotate";
  static void rows(auto& self, auto& table) {
    constexpr Number degrees{-degrees_max, degrees_max};
    table("angle", self.angle_, degrees, {.missing = degrees.text()});
    rotation_rows(self, table);
  }
  [[nodiscard]] bool is_random() const noexcept override { return is_open(p_); }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    if (!happens(p_, context)) return false;
    context.note("angle", angle_);
    rotate(in, out, angle_, center_, options(is_mask));
    return true;
  }

 private:
  double angle_ = 0;
};

class RandomRotationStage final : public RotatingWarp<RandomRotationStage> {
 public:
  static constexpr std::string_view stage_name = "random_rotation";
  static void rows(auto& self, auto& table) {
    table("degrees", self.degrees_, Spread{degrees_max}, {.missing = range_text});
    rotation_rows(self, table);
  }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0; }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    if (!happens(p_, context)) return false;
    const double angle = draw_between(degrees_, context.draws());
    context.note("angle", angle);
    rotate(in, out, angle, center_, options(is_mask));
    return true;
  }

 private:
  Range degrees_;
};

/// Degrees along x, or [x, y].
struct ShearOf {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Point& value) const {
    const auto numbers = given.numbers(key);
    if (!numbers || numbers->size() != 1) {
      return Pair{-shear_max, shear_max}.read(given, key, value);
    }
    return Number{-shear_max, shear_max}.read(given, key, value[0]);
  }
  [[nodiscard]] nlohmann::json write(const Point& value) const { return value; }
};

class AffineStage final : public TurningWarp<AffineStage> {
 public:
  static constexpr std::string_view stage_name = "affine";
  static void rows(auto& self, auto& table) {
    table("angle", self.affine_.angle, Number{-degrees_max, degrees_max});
    table("translate", self.affine_.translate, Pair{-far, far});
    table("scale", self.affine_.scale, Number{1e-3, 1000});
    table("shear", self.affine_.shear, ShearOf());
    turn_rows(self, table);
  }
  void settle(StageParameters& /*given*/) { affine_.center = center_; }
  [[nodiscard]] bool is_random() const noexcept override { return is_open(p_); }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    const bool applies = happens(p_, context);
    context.note("affine", applies ? 1 : 0);
    if (!applies) return false;
    warp_affine(in, out, affine_matrix(in.size, affine_), options(is_mask));
    return true;
  }

 private:
  AffineParameters affine_;
};

/// s: from −s to s along x; [min, max] along x; [min x, max x, min y, max y].
struct RandomShearOf {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          std::vector<double>& value) const {
    const auto numbers = given.numbers(key);
    if (!numbers) return false;
    if (numbers->size() == 1) {
      double most = 0;
      static_cast<void>(Number{0, shear_max}.read(given, key, most));
      value = {-most, most};
      return true;
    }
    if (numbers->size() != 2 && numbers->size() != 4) {
      given.refuse(
          key,
          text("must be one number, [min, max] or [min x, max x, min y, max y], not a list of {}",
               numbers->size()));
    }
    for (std::size_t i = 0; i < numbers->size(); i += 2) {
      const Range range{(*numbers)[i], (*numbers)[i + 1]};
      if (range.low <= range.high && range.low >= -shear_max && range.high <= shear_max) continue;
      given.refuse(
          key, text("must lie from -89 to 89 degrees, the least first, not {}", text_of(range)));
    }
    value = *numbers;
    return true;
  }
  [[nodiscard]] nlohmann::json write(const std::vector<double>& value) const {
    return value.empty() ? nlohmann::json() : nlohmann::json(value);
  }
};

class RandomAffineStage final : public TurningWarp<RandomAffineStage> {
 public:
  static constexpr std::string_view stage_name = "random_affine";
  static void rows(auto& self, auto& table) {
    table("degrees", self.degrees_, Spread{degrees_max}, {.missing = range_text});
    table("translate", self.translate_, Pair{0, 1});
    table("scale", self.scale_, Between{1e-3, 1000});
    table("shear", self.shear_, RandomShearOf());
    turn_rows(self, table);
  }
  [[nodiscard]] bool is_random() const noexcept override { return p_ > 0; }
  [[nodiscard]] bool run(const ImageView& in, const ImageView& out, bool is_mask,
                         StageContext& context) const override {
    if (!happens(p_, context)) return false;
    const AffineParameters drawn = draw(in.size, context.draws());
    context.note("angle", drawn.angle);
    context.note("translate_x", drawn.translate[0]);
    context.note("translate_y", drawn.translate[1]);
    context.note("scale", drawn.scale);
    context.note("shear_x", drawn.shear[0]);
    context.note("shear_y", drawn.shear[1]);
    warp_affine(in, out, affine_matrix(in.size, drawn), options(is_mask));
    return true;
  }

 private:
  [[nodiscard]] AffineParameters draw(ImageSize size, Draws& draws) const {
    AffineParameters drawn;
    drawn.center = center_;
    drawn.angle = draw_between(degrees_, draws);
    if (translate_) {
      const double x_max = (*translate_)[0] * size.width;
      const double y_max = (*translate_)[1] * size.height;
      drawn.translate[0] = round_half_even(draw_between({-x_max, x_max}, draws));
      drawn.translate[1] = round_half_even(draw_between({-y_max, y_max}, draws));
    }
    if (scale_) drawn.scale = draw_between(*scale_, draws);
    for (std::size_t i = 0; i < shear_.size() / 2; ++i) {
      drawn.shear[i] = draw_between({shear_[2 * i], shear_[2 * i + 1]}, draws);
    }
    return drawn;
  }

  Range degrees_;
  std::optional<Point> translate_;  ///< shares of width and height
  std::optional<Range> scale_;
  std::vector<double> shear_;  ///< the least and most along x, then along y
};

}  // namespace

void add_affine(StandardStages& stages) {
  stages.add<RotateStage>();
  stages.add<RandomRotationStage>();
  stages.add<AffineStage>();
  stages.add<RandomAffineStage>();
}

}  // namespace batchcast::inline v0_1::detail
