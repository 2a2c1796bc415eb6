// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "options/option.hpp"

#include <batchcast/core/axis_rows.hpp>
#include <batchcast/core/group.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/placement.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

// The options of a struct: what there is to know of each member, once.
namespace batchcast::inline v0_1::options {

/// How a member of that type becomes a value, and comes of one.
template <class T>
struct Member;

template <>
struct Member<bool> {
  static constexpr Kind kind = Kind::flag;
  static Value get(bool member) { return member; }
  static void set(bool& member, const Value& value) { member = std::get<bool>(value); }
};

template <std::unsigned_integral T>
struct Member<T> {
  static constexpr Kind kind = Kind::count;
  static Value get(T member) { return std::uint64_t{member}; }
  static void set(T& member, const Value& value) {
    member = static_cast<T>(std::get<std::uint64_t>(value));
  }
};

template <>
struct Member<double> {
  static constexpr Kind kind = Kind::seconds;
  static Value get(double member) { return member; }
  static void set(double& member, const Value& value) { member = std::get<double>(value); }
};

template <>
struct Member<std::string> {
  static constexpr Kind kind = Kind::text;
  static Value get(const std::string& member) { return member; }
  static void set(std::string& member, const Value& value) {
    member = std::get<std::string>(value);
  }
};

template <>
struct Member<Placement> {
  static constexpr Kind kind = Kind::text;
  static Value get(const Placement& member) { return member.text(); }
  static void set(Placement& member, const Value& value) {
    member = Placement(std::get<std::string>(value));
  }
};

template <>
struct Member<Group> {
  static constexpr Kind kind = Kind::group;
  static Value get(const Group& member) {
    return member == Group() ? Value() : Value(member.text());
  }
  static void set(Group& member, const Value& value) {
    member = Group(std::get<std::string>(value));
  }
};

/// What `AXIS=NUMBER` says. Throws Refused.
struct RowsText {
  std::string axis;
  double number = 0;

  [[nodiscard]] static RowsText in(const std::string& text);
  [[nodiscard]] std::uint64_t count() const;
};

/// What `AXIS=ROWSxRUNS` says. Throws Refused.
[[nodiscard]] Window window_in(const std::string& text);

template <>
struct Member<Budget> {
  static constexpr Kind kind = Kind::budget;
  static Value get(const Budget& member) {
    return member.is_set() ? Value(member.axis + "=" + std::to_string(member.rows)) : Value();
  }
  static void set(Budget& member, const Value& value) {
    const RowsText text = RowsText::in(std::get<std::string>(value));
    member = {text.axis, text.count()};
  }
};

template <>
struct Member<Window> {
  static constexpr Kind kind = Kind::window;
  static Value get(const Window& member) {
    if (member.axis.empty()) return {};
    return member.axis + "=" + std::to_string(member.rows) + "x" + std::to_string(member.runs);
  }
  static void set(Window& member, const Value& value) {
    const std::uint64_t extra = member.extra;  // an option beside it
    member = window_in(std::get<std::string>(value));
    member.extra = extra;
  }
};

template <>
struct Member<std::vector<AxisRowCount>> {
  static constexpr Kind kind = Kind::rows;
  static Value get(const std::vector<AxisRowCount>& member) {
    std::vector<std::string> texts;
    for (const AxisRowCount& one : member) {
      texts.push_back(one.axis + "=" + std::to_string(one.rows));
    }
    return texts;
  }
  static void set(std::vector<AxisRowCount>& member, const Value& value) {
    member.clear();
    for (const std::string& one : std::get<std::vector<std::string>>(value)) {
      const RowsText text = RowsText::in(one);
      member.push_back({text.axis, text.count()});
    }
  }
};

template <>
struct Member<std::vector<RowsPerSample>> {
  static constexpr Kind kind = Kind::rows;
  static Value get(const std::vector<RowsPerSample>& member) {
    std::vector<std::string> texts;
    for (const RowsPerSample& one : member) {
      texts.push_back(one.axis + "=" + std::to_string(one.rows));
    }
    return texts;
  }
  static void set(std::vector<RowsPerSample>& member, const Value& value) {
    member.clear();
    for (const std::string& one : std::get<std::vector<std::string>>(value)) {
      const RowsText text = RowsText::in(one);
      member.push_back({text.axis, text.number});
    }
  }
};

template <class T>
struct Member<std::vector<T>> {
  using Items =
      std::vector<std::conditional_t<std::unsigned_integral<T>, std::uint64_t, std::string>>;
  static constexpr Kind kind = std::unsigned_integral<T> ? Kind::counts : Kind::texts;
  static Value get(const std::vector<T>& member) {
    Items items;
    for (const T& one : member)
      items.push_back(std::get<typename Items::value_type>(Member<T>::get(one)));
    return items;
  }
  static void set(std::vector<T>& member, const Value& value) {
    member.clear();
    for (const auto& item : std::get<Items>(value)) Member<T>::set(member.emplace_back(), item);
  }
};

template <class T>
struct Member<std::optional<T>> {
  static constexpr Kind kind = Member<T>::kind;
  static Value get(const std::optional<T>& member) {
    return member ? Member<T>::get(*member) : Value();
  }
  static void set(std::optional<T>& member, const Value& value) {
    Member<T>::set(member.emplace(), value);
  }
};

/// Their names are those of `name_of`, from the first on.
template <class T>
requires std::is_enum_v<T>
struct Member<T> {
  static constexpr Kind kind = Kind::choice;
  static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (std::uint8_t i = 0; name_of(static_cast<T>(i)) != "?"; ++i) {
      all.emplace_back(name_of(static_cast<T>(i)));
    }
    return all;
  }
  static Value get(T member) { return std::string(name_of(member)); }
  static void set(T& member, const Value& value) {
    const std::vector<std::string> all = names();
    const auto found = std::find(all.begin(), all.end(), std::get<std::string>(value));
    member = static_cast<T>(found - all.begin());
  }
};

/// A time that the struct has in milliseconds.
template <class T>
struct Milliseconds {
  static constexpr Kind kind = Kind::seconds;
  static Value get(T member) {
    return std::cmp_less(member, 0) ? -1. : static_cast<double>(member) / 1'000;
  }
  static void set(T& member, const Value& value) {
    const double ms = std::ceil(std::get<double>(value) * 1'000);
    const bool is_forever = ms < 0 || std::isinf(ms);
    member = is_forever ? static_cast<T>(-1)
                        : static_cast<T>(std::min<double>(ms, std::numeric_limits<int>::max()));
  }
};

/// The largest number that such a member holds, or one item of it.
template <class T>
inline constexpr std::uint64_t most_of = std::numeric_limits<std::uint64_t>::max();
template <std::unsigned_integral T>
inline constexpr std::uint64_t most_of<T> = std::numeric_limits<T>::max();
template <class T>
inline constexpr std::uint64_t most_of<std::optional<T>> = most_of<T>;
template <class T>
inline constexpr std::uint64_t most_of<std::vector<T>> = most_of<T>;

template <class Struct>
class Table {
 public:
  /// Of the options that follow.
  Table& heading(std::string text) { return heading_ = std::move(text), *this; }

  /// The member's type says what the option takes.
  template <class T>
  Option& add(std::string name, T Struct::*member, std::string sentence) {
    Option& option = add_as<Member<T>>(std::move(name), member, std::move(sentence));
    option.most = most_of<T>;
    if constexpr (std::is_enum_v<T>) option.choices = Member<T>::names();
    return option;
  }
  template <class T>
  Option& milliseconds(std::string name, T Struct::*member, std::string sentence) {
    return add_as<Milliseconds<T>>(std::move(name), member, std::move(sentence));
  }
  template <class T>
  Option& bytes(std::string name, T Struct::*member, std::string sentence) {
    Option& option = add(std::move(name), member, std::move(sentence));
    option.kind = Kind::bytes;
    return option;
  }
  template <class T>
  Option& path(std::string name, T Struct::*member, std::string sentence) {
    Option& option = add(std::move(name), member, std::move(sentence));
    option.kind = Kind::path;
    return option;
  }
  /// One that Python takes by itself, None by default.
  Option& object(std::string name, std::string type, std::string sentence) {
    options_.push_back({std::move(name), Kind::object, std::move(sentence), heading_});
    options_.back().python_type = std::move(type);
    return options_.back().only_python();
  }
  /// The options of a member that has a table.
  template <class Inner>
  Table& include(Inner Struct::*member, const Table<Inner>& table) {
    return include(member, table.options());
  }
  /// Those of them that `some` has.
  template <class Inner>
  Table& include(Inner Struct::*member, const Options& some) {
    for (Option option : some) {
      option.set = [member, set = option.set](void* options, const Value& value) {
        set(&(static_cast<Struct*>(options)->*member), value);
      };
      option.get = [member, get = option.get](const void* options) {
        return get(&(static_cast<const Struct*>(options)->*member));
      };
      options_.push_back(std::move(option));
    }
    return *this;
  }

  [[nodiscard]] const Options& options() const noexcept { return options_; }

 private:
  template <class How, class T>
  Option& add_as(std::string name, T Struct::*member, std::string sentence) {
    options_.push_back({std::move(name), How::kind, std::move(sentence), heading_});
    Option& option = options_.back();
    option.set = [member](void* options, const Value& value) {
      How::set(static_cast<Struct*>(options)->*member, value);
    };
    option.get = [member](const void* options) {
      return How::get(static_cast<const Struct*>(options)->*member);
    };
    const Struct fresh{};
    option.initial = option.get(&fresh);
    return option;
  }

  std::string heading_;
  Options options_;
};

}  // namespace batchcast::inline v0_1::options
