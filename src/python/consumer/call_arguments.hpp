// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "options/option.hpp"
#include "python/consumer/consumer_bindings.hpp"

#include <nanobind/nanobind.h>

#include <cstdint>
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
  /// Throws InvalidArgument for one that is negative or above `most`; `least` is for its text.
  [[nodiscard]] std::uint64_t number(std::uint64_t most = ~std::uint64_t{0},
                                     std::uint64_t least = 0) const;
  [[nodiscard]] double real() const;
  [[nodiscard]] bool flag() const;
  /// A sequence other than a text; its items are arguments of this name.
  [[nodiscard]] nanobind::tuple items() const;
  /// Bytes: a number, or a text as the command line takes it.
  [[nodiscard]] std::uint64_t memory() const;
  /// Seconds, as milliseconds: at least 1 of a time above 0. None and less than 0 are for ever: -1.
  [[nodiscard]] int timeout_ms() const;
  /// What the option takes. Raises WrongType for another type.
  [[nodiscard]] options::Value value_of(const options::Option& option) const;

  [[nodiscard]] std::vector<std::string> texts() const;
  [[nodiscard]] std::vector<std::uint64_t> counts() const;
  /// A tuple (name, rank, world) as the command line has it.
  [[nodiscard]] std::string group_text() const;
  [[nodiscard]] std::string budget_text() const;
  [[nodiscard]] std::string window_text() const;
  [[nodiscard]] std::vector<std::string> row_texts() const;

  /// Raises WrongType.
  [[noreturn]] void refuse_type(const char* wanted) const;
  [[noreturn]] void refuse(const std::string& why) const;
};

/// What Python shows of an option: None for nothing.
[[nodiscard]] nanobind::object object_of(const options::Value& value);
/// The type of that.
[[nodiscard]] std::string object_type(const options::Option& option);

/// The arguments of one call by their names. The first ones may come without.
class Arguments {
 public:
  Arguments(const char* call, const options::Options& known, std::size_t by_place,
            const nanobind::args& args, const nanobind::kwargs& kwargs);

  /// Puts all but objects into the struct that the table is of. Throws TypeError for what is
  /// missing, raises WrongType for another type, throws InvalidArgument for values.
  void take(void* options) const;

  /// Calls `use(Argument)` unless that argument was left out.
  template <class Use>
  void with(const char* name, Use&& use) const {
    const nanobind::handle value = find(name);
    if (value.is_valid()) use(Argument{name, value});
  }

 private:
  [[nodiscard]] nanobind::handle find(std::string_view name) const noexcept;

  struct Given {
    std::string_view name;
    nanobind::handle value;
  };
  const char* call_;
  const options::Options& known_;
  std::vector<Given> given_;
};

}  // namespace batchcast::inline v0_1::python
