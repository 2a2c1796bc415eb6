// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// One option of an options struct, as its table has it, and the texts that are made of it: what the
// command line and Python call it, take for it, and say about it.
namespace batchcast::inline v0_1::options {

/// What an option takes. A number and a text each have one form in Python and one in a command.
enum class Kind : std::uint8_t {
  flag,
  count,    ///< a whole number from `least` to `most`
  seconds,  ///< in Python None, and in a command -1, is for ever
  share,    ///< of a whole: from 0 to below 1
  bytes,    ///< a number, or a text such as 256MiB
  text,
  path,    ///< a text in a command, a text or os.PathLike in Python
  choice,  ///< one of `choices`
  texts,   ///< any number of texts
  counts,  ///< any number of whole numbers
  group,   ///< a text, or in Python a tuple (name, rank, world)
  budget,  ///< a text AXIS=ROWS, or in Python a tuple (axis, rows)
  window,  ///< a text AXIS=ROWSxRUNS, or in Python a tuple (axis, rows, runs)
  rows,    ///< any number of such texts, or in Python a dict of numbers by axes
  object,  ///< Python's alone, which takes it by itself: `python_type`
};

/// A value on its way to or from a member. Without one it is not given; in Python, None.
using Value = std::variant<std::monostate, bool, std::uint64_t, double, std::string,
                           std::vector<std::string>, std::vector<std::uint64_t>>;

/// Why a value is refused: what follows the option's name.
class Refused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Option {
  std::string name;  ///< in Python; a command has hyphens for the underscores
  Kind kind = Kind::text;
  std::string sentence;  ///< names of options and choices stand in it between backticks
  std::string heading = {};
  std::vector<std::string> choices = {};
  std::uint64_t least = 0;
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::string word = {};  ///< that a count may be instead, for 0
  std::string python_type = {};
  std::string needs = {};         ///< the option without which this one means nothing
  std::string command_name = {};  ///< where it is another one, or several: `spin`; `-`: none
  bool is_needed = false;
  bool is_above_zero = false;  ///< seconds
  bool has_end = true;         ///< of seconds: false where -1 is for ever
  bool is_clamped = false;     ///< seconds: any number will do, and what is too long is for ever
  bool may_be_zero = false;    ///< bytes: 0 is a size as well
  bool takes_one = false;      ///< a list: in Python an item without a list, too
  bool is_for_python = true;
  bool is_settable = false;  ///< `batchcast set` changes it while a stream runs

  Value initial = {};  ///< the default
  std::function<void(void* options, const Value&)> set = {};
  std::function<Value(const void* options)> get = {};

  // ---- How a table says more about it.
  Option& from(std::uint64_t low, std::uint64_t high) { return least = low, most = high, *this; }
  Option& from(std::uint64_t low) { return from(low, most); }
  Option& above_zero() { return is_above_zero = true, *this; }
  Option& as_share() { return kind = Kind::share, *this; }
  Option& or_forever() { return has_end = false, *this; }
  Option& or_zero() { return may_be_zero = true, *this; }
  Option& clamped() { return is_clamped = true, *this; }
  Option& or_word(std::string other) { return word = std::move(other), *this; }
  Option& or_one() { return takes_one = true, *this; }
  Option& one_of(std::vector<std::string> names);
  Option& needed() { return is_needed = true, *this; }
  Option& with(std::string other) { return needs = std::move(other), *this; }
  Option& command(std::string names) { return command_name = std::move(names), *this; }
  Option& only_python() { return command("-"); }
  Option& settable() { return is_settable = true, *this; }
  Option& only_command() { return is_for_python = false, *this; }

  [[nodiscard]] bool is_for_commands() const noexcept { return command_name != "-"; }
  [[nodiscard]] bool is_list() const noexcept {
    return kind == Kind::texts || kind == Kind::counts || kind == Kind::rows;
  }
  /// Whether None, in Python, is its default.
  [[nodiscard]] bool may_be_none() const;
};

using Options = std::vector<Option>;

// ---- Values.

/// What a word of the command line says. Throws Refused.
[[nodiscard]] Value value_in(const Option& option, const std::string& text);
/// As value_in, of each word that was given for it: more than one for a list.
[[nodiscard]] Value value_in(const Option& option, const std::vector<std::string>& words);
/// Throws Refused for a number out of range, or a text that is none of the choices.
void check(const Option& option, const Value& value);
/// Checks it and puts it into the struct. Throws Refused, and what the member's type throws.
void assign(const Option& option, void* options, const Value& value);
/// Each word is `--name=value` or, of a flag, `--name`. Throws InvalidArgument for a name that is
/// not in the table, and for a value that is refused.
void assign_words(const Options& table, void* options, const std::vector<std::string>& words);
/// The names of those that have another value than at first.
[[nodiscard]] std::vector<std::string> changed(const Options& table, const void* options);
/// As the command line writes it; empty for nothing.
[[nodiscard]] std::string text_of(const Value& value);

// ---- Names.

/// Null where there is none.
[[nodiscard]] const Option* find(const Options& options, std::string_view name) noexcept;
[[nodiscard]] std::vector<std::string> names_of(const Options& options);
/// Those that Python has.
[[nodiscard]] Options python_options(const Options& options);
/// `--batch-size`, `--connect-timeout,--timeout`.
[[nodiscard]] std::string command_names(const Option& option);

// ---- Texts.

/// The sentence, in which options and choices are named as the command line has them.
[[nodiscard]] std::string command_sentence(const Option& option, const Options& all);
/// `{keep,drop,pad}`, `N`, …: what stands behind the option on a page of help.
[[nodiscard]] std::string command_value(const Option& option);
/// The default as a page of help has it; empty where there is none.
[[nodiscard]] std::string command_default(const Option& option);

[[nodiscard]] std::string python_type(const Option& option);
/// `batch_size: int = 64, *, name: str | None = None`: the first `by_place` may come without names.
[[nodiscard]] std::string python_parameters(const Options& options, std::size_t by_place);
/// A paragraph for each heading: `name: sentence`, in lines of a docstring's length.
[[nodiscard]] std::string python_doc(const Options& options);

}  // namespace batchcast::inline v0_1::options
