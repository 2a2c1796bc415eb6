// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/text.hpp>
#include <batchcast/data/recipe.hpp>

#include "data/stage/stage_choices.hpp"

#include <nlohmann/json.hpp>

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// A stage's parameters, each written once. `rows` names them in the order in which a recipe is
// asked for them. For example:
//
//   class GaussianNoiseStage final : public TableStage<GaussianNoiseStage, TensorStage> {
//    public:
//     static constexpr std::string_view stage_name = "gaussian_noise";
//     static void rows(auto& self, auto& table) {
//       table("mean", self.mean_, Number{-10, 10});
//       table("clip", self.clip_, Flag());
//     }
//     // What rows cannot say; may be left out.
//     void settle(StageParameters& given);
//
// The stage is read, refused, printed and listed from this: a member's first value is the default.
namespace batchcast::inline v0_1::detail {

// Kinds of parameters. `read` returns whether the parameter is given, and refuses wrong values.
// `write` makes the value in a recipe's JSON; null: no value.

struct Flag {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key, bool& value) const;
  [[nodiscard]] nlohmann::json write(bool value) const { return value; }
};

/// A number within bounds.
struct Number {
  double low;
  double high;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool read(StageParameters& given, std::string_view key, double& value) const;
  [[nodiscard]] nlohmann::json write(double value) const { return value; }
};

inline constexpr Number probability{0, 1};

/// A whole number within bounds.
struct Whole {
  std::int64_t low;
  std::int64_t high;

  template <std::integral T>
  [[nodiscard]] bool read(StageParameters& given, std::string_view key, T& value) const {
    if (!given.integer(key)) return false;
    value = static_cast<T>(integer_in(given, key, low, low, high));
    return true;
  }
  template <std::integral T>
  [[nodiscard]] nlohmann::json write(T value) const {
    return value;
  }
};

inline constexpr Whole level{0, 255};

/// One of two whole numbers, which messages also name in words.
struct Either {
  std::int64_t first;
  std::int64_t second;
  std::string_view words;

  [[nodiscard]] bool read(StageParameters& given, std::string_view key, std::int32_t& value) const;
  [[nodiscard]] nlohmann::json write(std::int32_t value) const { return value; }
};

/// An enumerator by its name.
struct Choice {
  std::span<const std::string_view> names;

  template <class E>
  [[nodiscard]] bool read(StageParameters& given, std::string_view key, E& value) const {
    if (!given.text(key)) return false;
    value = static_cast<E>(choice(given, key, names, 0));
    return true;
  }
  template <class E>
  [[nodiscard]] nlohmann::json write(E value) const {
    return names[static_cast<std::size_t>(value)];
  }
};

/// [min, max] within bounds.
struct Between {
  double low;
  double high;

  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Range& value) const;
  [[nodiscard]] nlohmann::json write(const Range& value) const { return list_of(value); }
};

/// [min, max], or d for [-d, d].
struct Spread {
  double most;

  [[nodiscard]] bool read(StageParameters& given, std::string_view key, Range& value) const;
  [[nodiscard]] nlohmann::json write(const Range& value) const { return list_of(value); }
};

/// [x, y] within bounds.
struct Pair {
  double low;
  double high;

  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          std::array<double, 2>& value) const;
  [[nodiscard]] nlohmann::json write(const std::array<double, 2>& value) const { return value; }
};

/// One number for a square, or [height, width].
struct Sides {
  static constexpr const char* text = "one number for a square, or [height, width]";

  [[nodiscard]] bool read(StageParameters& given, std::string_view key, ImageSize& value) const;
  [[nodiscard]] nlohmann::json write(ImageSize value) const {
    return nlohmann::json::array({value.height, value.width});
  }
};

/// A list of whole numbers within bounds, or one of them.
struct Wholes {
  std::int64_t low;
  std::int64_t high;

  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          std::vector<std::int64_t>& value) const;
  [[nodiscard]] nlohmann::json write(const std::vector<std::int64_t>& value) const { return value; }
};

/// The stages that a container holds, which prints them itself.
struct InnerStages {
  [[nodiscard]] bool read(StageParameters& given, std::string_view key,
                          std::vector<RecipeStage>& value) const;
  [[nodiscard]] nlohmann::json write(const std::vector<RecipeStage>& /*value*/) const { return {}; }
};

/// What a row has besides name, member and kind.
struct Row {
  std::string missing = {};  ///< what is missing without it; empty: it may be left out
  bool printed = true;       ///< false: this stage's identity does not name it
};

/// Fills members with a recipe's values.
class ParameterReader {
 public:
  explicit ParameterReader(StageParameters& given) : given_(given) {}
  template <class T, class Kind>
  void operator()(std::string_view key, T& member, const Kind& kind, const Row& row = {}) const {
    if (kind.read(given_, key, member) || row.missing.empty()) return;
    given_.refuse(key, text("is missing: {}", row.missing));
  }
  template <class T, class Kind>
  void operator()(std::string_view key, std::optional<T>& member, const Kind& kind,
                  const Row& /*row*/ = {}) const {
    T value{};
    if (kind.read(given_, key, value)) member = std::move(value);
  }

 private:
  StageParameters& given_;
};

/// A stage's parameter as its table lists it.
struct ListedParameter {
  std::string name;
  bool needed = false;
  nlohmann::json otherwise = {};  ///< the default; null: nothing, or not printed
};

/// Lists parameters with their values; for a stage that was just made, with their defaults.
class ParameterLister {
 public:
  template <class T, class Kind>
  void operator()(std::string_view key, const T& member, const Kind& kind, const Row& row = {}) {
    listed_.push_back({std::string(key), !row.missing.empty(),
                       row.printed ? kind.write(member) : nlohmann::json()});
  }
  template <class T, class Kind>
  void operator()(std::string_view key, const std::optional<T>& member, const Kind& kind,
                  const Row& row = {}) {
    if (member) return (*this)(key, *member, kind, row);
    listed_.push_back({std::string(key), false, {}});
  }
  [[nodiscard]] std::vector<ListedParameter> take() noexcept { return std::move(listed_); }

 private:
  std::vector<ListedParameter> listed_;
};

template <class Table>
[[nodiscard]] std::vector<ListedParameter> listed(const Table& table) {
  ParameterLister lister;
  Table::rows(table, lister);
  return lister.take();
}

/// The JSON of parameters; null values are left out.
[[nodiscard]] std::string json_of(std::vector<ListedParameter> parameters);

/// A stage of the catalog, of kind `Kind`.
template <class Self, class Kind>
class TableStage : public Kind {
 public:
  [[nodiscard]] std::string_view name() const noexcept final { return Self::stage_name; }
  [[nodiscard]] std::string parameters_json() const final {
    return json_of(listed(static_cast<const Self&>(*this)));
  }
  void settle(StageParameters& /*given*/) {}
};

template <class Self>
class TableStage<Self, ContainerStage> : public ContainerStage {
 public:
  [[nodiscard]] std::string_view name() const noexcept final { return Self::stage_name; }
  [[nodiscard]] std::string own_parameters_json() const final {
    return json_of(listed(static_cast<const Self&>(*this)));
  }
  void settle(StageParameters& /*given*/) {}
};

/// The stages of StageCatalog::standard(), with their tables.
class StandardStages {
 public:
  /// `Table` is the stage itself, or has its table and makes it with `stage()`.
  template <class Table>
  void add() {
    catalog_.add(std::string(Table::stage_name), [](StageParameters& given) {
      auto made = std::make_shared<Table>();
      const ParameterReader reader(given);
      Table::rows(*made, reader);
      made->settle(given);
      if constexpr (std::derived_from<Table, Stage>) {
        return std::shared_ptr<const Stage>(std::move(made));
      } else {
        return std::shared_ptr<const Stage>(made->stage());
      }
    });
    parameters_.emplace(Table::stage_name, listed(Table()));
  }
  [[nodiscard]] const StageCatalog& catalog() const noexcept { return catalog_; }
  [[nodiscard]] const std::vector<ListedParameter>& parameters(std::string_view stage) const {
    return parameters_.find(stage)->second;
  }

 private:
  StageCatalog catalog_;
  std::map<std::string, std::vector<ListedParameter>, std::less<>> parameters_;
};

}  // namespace batchcast::inline v0_1::detail
