// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/data/order.hpp>
#include <batchcast/data/stage.hpp>

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

/// The parameters of one stage as a recipe gives them: asked for one by one, each with its default.
/// Whatever is asked wrongly throws InvalidArgument with the recipe's file and line; what nobody
/// asked for is refused afterwards, with the nearest name that somebody did.
class StageParameters {
 public:
  virtual ~StageParameters() = default;
  [[nodiscard]] virtual std::optional<bool> boolean(std::string_view key) = 0;
  [[nodiscard]] virtual std::optional<std::int64_t> integer(std::string_view key) = 0;
  [[nodiscard]] virtual std::optional<double> number(std::string_view key) = 0;
  [[nodiscard]] virtual std::optional<std::string> text(std::string_view key) = 0;
  /// A list of numbers, or one number as a list of one.
  [[nodiscard]] virtual std::optional<std::vector<double>> numbers(std::string_view key) = 0;
  /// For what may be a text or else numbers.
  [[nodiscard]] virtual bool is_text(std::string_view key) const = 0;
  /// The stages that a container holds.
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

/// The draw group of all fields that do not say otherwise.
inline constexpr std::string_view sample_draws = "sample";
/// As a field's or a joint's draws: a group of its own.
inline constexpr std::string_view own_draws = "own";

inline constexpr std::int32_t views_max = 64;

/// What the pixels of an image field mean, and so what may be done to them.
enum class FieldKind : std::uint8_t {
  image,
  mask,  ///< ids: resized to the nearest, and never mixed
};

/// How one field is made: a part of the source and what happens to it, in that order.
struct FieldRecipe {
  std::string name;
  std::string from = {};  ///< the source's part; the field's own name if empty
  std::vector<RecipeStage> stages = {};
  /// Its draw group: fields of one group draw alike where their random stages have the same path.
  std::string draws = std::string(sample_draws);
  /// How many times each sample is made, with draws of its own each time; 0: once, without a
  /// dimension for it.
  std::int32_t views = 0;
  /// Nothing: a mask where it is decoded as `index`.
  std::optional<FieldKind> kind = std::nullopt;
  /// Where it stands, for messages: `recipe.toml:9`. Empty where it was made in code.
  std::string where = {};
};

/// Stages that several image fields share, after each one's own `decode` and before its others.
struct JointRecipe {
  std::vector<std::string> fields;
  std::vector<RecipeStage> stages = {};
  std::string draws = std::string(sample_draws);
  std::int32_t views = 0;  ///< of each of its fields; 0: what each one says
  std::string where = {};  ///< as a field's
};

/// Order and stages: what a recipe file says. With source, seed and shard it determines a stream.
struct Recipe {
  OrderMode order = OrderMode::reshuffle;
  BlockOptions blocks = {};  ///< where the order is `blocks`
  /// Empty: every part of the source as it stands.
  std::vector<FieldRecipe> fields = {};
  std::vector<JointRecipe> joints = {};

  /// A preset's name (`imagenet-train`), or else the path of a TOML file. Throws InvalidArgument
  /// with file, line and the nearest right name.
  [[nodiscard]] static Recipe load(std::string_view name_or_path,
                                   const StageCatalog& catalog = StageCatalog::standard());
  /// `origin` names the text in messages.
  [[nodiscard]] static Recipe from_toml(std::string_view text, std::string_view origin,
                                        const StageCatalog& catalog = StageCatalog::standard());
  /// What `to_json` wrote.
  [[nodiscard]] static Recipe from_json(std::string_view json,
                                        const StageCatalog& catalog = StageCatalog::standard());
  /// All of it, defaults too, keys sorted: equal texts are equal recipes.
  [[nodiscard]] std::string to_json() const;
  [[nodiscard]] static std::span<const std::string_view> preset_names() noexcept;
  /// A preset's TOML, to begin a file of one's own with.
  [[nodiscard]] static std::string_view preset_toml(std::string_view name);
};

}  // namespace batchcast::inline v0_1
