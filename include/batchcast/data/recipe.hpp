// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/data/order.hpp>
#include <batchcast/data/stage.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// The parameters of one stage as a recipe gives them. A stage asks for them one by one, each with
/// its default. A parameter of the wrong type throws InvalidArgument with the recipe's file and
/// line. A parameter that the stage did not ask for is refused afterwards, with the nearest name
/// that it asked for.
class StageParameters {
 public:
  virtual ~StageParameters() = default;
  [[nodiscard]] virtual std::optional<bool> boolean(std::string_view key) = 0;
  [[nodiscard]] virtual std::optional<std::int64_t> integer(std::string_view key) = 0;
  [[nodiscard]] virtual std::optional<double> number(std::string_view key) = 0;
  [[nodiscard]] virtual std::optional<std::string> text(std::string_view key) = 0;
  /// A list of numbers, or one number as a list of one.
  [[nodiscard]] virtual std::optional<std::vector<double>> numbers(std::string_view key) = 0;
  /// A list of lists of numbers.
  [[nodiscard]] virtual std::optional<std::vector<std::vector<double>>> number_lists(
      std::string_view key) = 0;
  /// For a parameter that may be a text or numbers.
  [[nodiscard]] virtual bool is_text(std::string_view key) const = 0;
  /// The stages inside a container.
  [[nodiscard]] virtual std::optional<std::vector<RecipeStage>> stages(std::string_view key) = 0;
  /// Throws InvalidArgument: file, line, stage and key, then `why`, such as `must be above 0`.
  [[noreturn]] virtual void refuse(std::string_view key, const std::string& why) = 0;
};

using StageFactory = std::function<std::shared_ptr<const Stage>(StageParameters&)>;

/// The stages that recipes may name. A value: add your own to a copy.
class StageCatalog {
 public:
  /// decode, random_resized_crop, resize, center_crop, random_crop, pad, horizontal_flip,
  /// vertical_flip, color_jitter, grayscale, normalize, random_erasing, to, slice, …
  [[nodiscard]] static const StageCatalog& standard();

  /// Throws InvalidArgument if the name is taken.
  void add(std::string name, StageFactory factory);
  /// Null if there is none.
  [[nodiscard]] const StageFactory* find(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::map<std::string, StageFactory, std::less<>> factories_;
};

/// The draw group of all fields that do not name one.
inline constexpr std::string_view sample_draws = "sample";
/// As a field's or a joint's `draws`: a group that no other field has.
inline constexpr std::string_view own_draws = "own";

inline constexpr std::int32_t views_max = 64;
inline constexpr std::int32_t scale_max = 16;

/// What the pixels of an image field mean, and so what stages may do to them.
enum class FieldKind : std::uint8_t {
  image,
  mask,  ///< ids: resized to the nearest, never mixed
};

/// How one field is made: a part of the source, and the stages that it passes in that order.
struct FieldRecipe {
  std::string name;
  std::string from = {};  ///< the source's part; the field's own name if empty
  std::vector<RecipeStage> stages = {};
  /// Its draw group: fields of one group draw alike where their random stages have the same path.
  std::string draws = std::string(sample_draws);
  /// How many times each sample is made, with other draws each time. 0: once, without a dimension.
  std::int32_t views = 0;
  /// Empty: the field is a mask where it is decoded as `index`.
  std::optional<FieldKind> kind = std::nullopt;
  /// Where the stage stands, for messages: `recipe.toml:9`. Empty where code made it.
  std::string where = {};
  /// How many times as large its images are as those of the fields that draw alike. Its stages
  /// count in the pixels of these, and its samples have this many times their sides.
  std::int32_t scale = 1;
  /// Of images that keep their own sizes: the axis whose rows are their pixels, one line after the
  /// other. A field `NAME_size`, i32 [2], has each image's height and width. Empty: all samples
  /// have one size.
  std::string axis = {};
};

/// Stages that several image fields share, after the `decode` of each field and before its others.
struct JointRecipe {
  std::vector<std::string> fields;
  std::vector<RecipeStage> stages = {};
  std::string draws = std::string(sample_draws);
  std::int32_t views = 0;  ///< of each of its fields; 0: what each one says
  std::string where = {};  ///< as a field's
};

/// What becomes of a sample with more tokens than a recipe allows (`Recipe::max_tokens`).
enum class Overlong : std::uint8_t {
  error,     ///< the stream does not begin: InvalidArgument, which says how many there are
  truncate,  ///< it has its first tokens
  drop,      ///< it is left out
  split,     ///< it becomes several samples, each of consecutive tokens
};

inline constexpr std::array<std::string_view, 4> overlong_names = {"error", "truncate", "drop",
                                                                   "split"};

[[nodiscard]] constexpr std::string_view name_of(Overlong overlong) noexcept {
  return overlong_names[static_cast<std::size_t>(overlong)];
}

[[nodiscard]] constexpr std::optional<Overlong> parse_overlong(std::string_view name) noexcept {
  for (std::size_t i = 0; i < overlong_names.size(); ++i) {
    if (overlong_names[i] == name) return static_cast<Overlong>(i);
  }
  return std::nullopt;
}

inline constexpr std::uint64_t max_tokens_max = (std::uint64_t{1} << 32) - 1;

/// Order and stages, as in a recipe file. With source, seed and shard they determine a stream.
struct Recipe {
  OrderMode order = OrderMode::reshuffle;
  BlockOptions blocks = {};   ///< where the order is `blocks`
  PackedOptions packed = {};  ///< where the order is `packed`
  /// Rows that a sample has at most on the axis `tokens`; 0: any number. The source has to know all
  /// lengths. What becomes of longer ones is decided before the order is drawn.
  std::uint64_t max_tokens = 0;
  Overlong overlong = Overlong::error;
  /// Empty: every part of the source becomes a field, unchanged.
  std::vector<FieldRecipe> fields = {};
  std::vector<JointRecipe> joints = {};

  /// Reads a preset (`imagenet-train`), or else the TOML file at that path. Throws InvalidArgument
  /// with file, line and the nearest right name.
  [[nodiscard]] static Recipe load(std::string_view name_or_path,
                                   const StageCatalog& catalog = StageCatalog::standard());
  /// Reads TOML text. `origin` names the text in messages.
  [[nodiscard]] static Recipe from_toml(std::string_view text, std::string_view origin,
                                        const StageCatalog& catalog = StageCatalog::standard());
  /// Reads what `to_json` wrote.
  [[nodiscard]] static Recipe from_json(std::string_view json,
                                        const StageCatalog& catalog = StageCatalog::standard());
  /// The whole recipe, defaults too, with sorted keys: equal texts are equal recipes.
  [[nodiscard]] std::string to_json() const;
  [[nodiscard]] static std::span<const std::string_view> preset_names() noexcept;
  /// A preset's TOML, as a beginning of the user's file.
  [[nodiscard]] static std::string_view preset_toml(std::string_view name);
};

}  // namespace batchcast::inline v0_1
