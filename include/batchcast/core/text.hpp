// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <concepts>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

namespace detail {

template <class Value>
concept TextWords = std::convertible_to<const Value&, std::string_view>;

template <class Value>
concept TextNumber = std::integral<Value> && !std::same_as<Value, bool> &&
                     !std::same_as<Value, char> && sizeof(Value) <= sizeof(long long);

/// What `text` takes: words, one `char`, or a whole number of any width. A `bool` and a fraction
/// have no one spelling, so the caller gives their words.
template <class Value>
concept TextShown = TextWords<Value> || TextNumber<Value> || std::same_as<Value, char>;

/// One value of a text, while `text` runs. Words stay where they are.
class TextValue {
 public:
  template <TextShown Value>
  explicit TextValue(const Value& value) noexcept {
    if constexpr (TextWords<Value>) {
      words_ = value;
    } else if constexpr (std::same_as<Value, char>) {
      kind_ = Kind::sign;
      sign_ = value;
    } else {
      kind_ = value < 0 ? Kind::negative : Kind::number;
      number_ = static_cast<unsigned long long>(value);
    }
  }

  void append_to(std::string& filled) const;

 private:
  enum class Kind : unsigned char { words, sign, number, negative };

  std::string_view words_;
  unsigned long long number_ = 0;
  Kind kind_ = Kind::words;
  char sign_ = 0;
};

/// How many values a pattern has places for.
[[nodiscard]] constexpr std::size_t places_in(std::string_view pattern) noexcept {
  std::size_t places = 0;
  for (auto at = pattern.find("{}"); at != pattern.npos; at = pattern.find("{}", at + 2)) ++places;
  return places;
}

// Not constexpr: the compiler names it where a pattern is refused.
inline void a_text_needs_one_value_for_each_place() {}

[[nodiscard]] std::string fill_text(std::string_view pattern,
                                    std::initializer_list<TextValue> values);

}  // namespace detail

/// The pattern of a text, checked by the compiler: a literal with as many `{}` as there are values.
template <std::size_t Values>
class TextFormat {
 public:
  consteval TextFormat(const char* literal) : pattern_(literal) {  // NOLINT: made of a literal
    if (detail::places_in(pattern_) != Values) detail::a_text_needs_one_value_for_each_place();
  }
  [[nodiscard]] constexpr std::string_view pattern() const noexcept { return pattern_; }

 private:
  std::string_view pattern_;
};

/// The pattern with each `{}` replaced by the value of its turn: `text("{} of {}", 1, name)`. No
/// other brace means anything. All errors and messages are made with it; it allocates.
template <detail::TextShown... Values>
[[nodiscard]] std::string text(TextFormat<sizeof...(Values)> format, const Values&... values) {
  return detail::fill_text(format.pattern(), {detail::TextValue(values)...});
}

}  // namespace batchcast::inline v0_1
