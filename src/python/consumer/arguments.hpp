// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "python/consumer/bindings.hpp"

#include <batchcast/core/nearest_name.hpp>

#include <nanobind/nanobind.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

// What Python passes to calls with many options, with refusals that name the argument.
namespace batchcast::inline v0_1::python {

/// One argument.
struct Argument {
  const char* name;
  nanobind::handle value;

  [[nodiscard]] bool is_none() const noexcept { return value.is_none(); }
  [[nodiscard]] std::string text() const;
  /// A text, or what os.fspath makes one of.
  [[nodiscard]] std::string path() const;
  /// Throws InvalidArgument for one that is negative or above `most`.
  [[nodiscard]] std::uint64_t number(std::uint64_t most = ~std::uint64_t{0}) const;
  [[nodiscard]] double real() const;
  [[nodiscard]] bool flag() const;
  /// A sequence other than a text; its items are arguments of this name.
  [[nodiscard]] nanobind::tuple items() const;
  /// Bytes: a number, or a text as the command line takes it.
  [[nodiscard]] std::uint64_t memory() const;
  /// Seconds, as milliseconds: at least 1 of a time above 0. None and less than 0 are for ever: -1.
  [[nodiscard]] int timeout_ms() const;
  /// A choice by its name, as the command line writes it.
  template <class Enum>
  [[nodiscard]] Enum choice() const;

  [[noreturn]] void refuse_type(const char* wanted) const;
  [[noreturn]] void refuse(const std::string& why) const;
};

/// The arguments of one call by their names. The first ones may come without.
class Arguments {
 public:
  Arguments(const char* call, std::initializer_list<const char*> names, std::size_t by_place,
            const nanobind::args& args, const nanobind::kwargs& kwargs);

  /// Calls `use(Argument)` unless that argument was left out.
  template <class Use>
  void with(const char* name, Use&& use) const {
    const nanobind::handle value = find(name);
    if (value.is_valid()) use(Argument{name, value});
  }
  /// Throws TypeError where it was left out.
  [[nodiscard]] Argument needed(const char* name) const;

 private:
  [[nodiscard]] nanobind::handle find(std::string_view name) const noexcept;

  struct Given {
    std::string_view name;
    nanobind::handle value;
  };
  const char* call_;
  std::vector<Given> given_;
};

template <class Enum>
Enum Argument::choice() const {
  const std::string wanted = text();
  std::vector<std::string> names;
  for (std::uint8_t i = 0; name_of(static_cast<Enum>(i)) != "?"; ++i) {
    names.emplace_back(name_of(static_cast<Enum>(i)));
    if (names.back() == wanted) return static_cast<Enum>(i);
  }
  std::string why = "`" + wanted + "` is none of its choices, ";
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i != 0) why += i + 1 == names.size() ? " and " : ", ";
    why += "\"" + names[i] + "\"";
  }
  refuse(why + "." + detail::did_you_mean(wanted, names));
}

}  // namespace batchcast::inline v0_1::python
