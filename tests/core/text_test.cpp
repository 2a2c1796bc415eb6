// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/text.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

using batchcast::text;
using batchcast::TextFormat;
using batchcast::detail::places_in;
using batchcast::detail::TextShown;

namespace {

struct Named {
  operator std::string_view() const { return "a name"; }
};
enum Plain { plain };
enum class Scoped { scoped };

// Whether the compiler takes a pattern with two places where there are that many values.
template <std::size_t Values>
concept TwoPlacesFor = requires {
  typename std::integral_constant<std::size_t, TextFormat<Values>("{} of {}").pattern().size()>;
};

}  // namespace

TEST_CASE("a text has each value at its place") {
  CHECK(text("{} of {}", "one", "two") == "one of two");
  CHECK(text("field `{}` is gone.", std::string("image")) == "field `image` is gone.");
  CHECK(text("{}{}{}", "", "a", "") == "a");
  CHECK(text("{}", std::string_view("\0{}", 3)) == std::string_view("\0{}", 3));
  CHECK(text("nothing to fill in") == "nothing to fill in");
}

TEST_CASE("a text shows words of every kind, one char, and numbers of every width") {
  const char* const words = "words";
  CHECK(text("{} {} {}", words, Named{}, std::string_view("view")) == "words a name view");
  CHECK(text("`{}`", '=') == "`=`");
  CHECK(text("{} {}", std::int8_t{-7}, std::uint8_t{65}) == "-7 65");
  CHECK(text("{} {} {}", -1, 0U, 2L) == "-1 0 2");
  CHECK(text("{}", std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(text("{}", std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
}

TEST_CASE("only a pair of braces is a place: all others of a text stand for themselves") {
  CHECK(text("{{}} is no {000..099}", "a-b") == "{a-b} is no {000..099}");
  CHECK(text("}{ { }{}", 1) == "}{ { }1");
}

TEST_CASE("a value that holds a pair of braces is not filled in") {
  CHECK(text("{} and {}", "{}", "b") == "{} and b");
}

TEST_CASE("the compiler refuses a text that has not as many places as values") {
  STATIC_REQUIRE(TwoPlacesFor<2>);
  STATIC_REQUIRE_FALSE(TwoPlacesFor<1>);
  STATIC_REQUIRE_FALSE(TwoPlacesFor<3>);
  STATIC_REQUIRE(places_in("") == 0);
  STATIC_REQUIRE(places_in("{} {}") == 2);
  STATIC_REQUIRE(places_in("{{}}") == 1);
  STATIC_REQUIRE(places_in("{ } }{") == 0);
}

TEST_CASE("a text takes nothing that has more than one spelling") {
  STATIC_REQUIRE(TextShown<char> && TextShown<std::string> && TextShown<unsigned char>);
  STATIC_REQUIRE_FALSE(TextShown<bool>);
  STATIC_REQUIRE_FALSE(TextShown<double>);
  STATIC_REQUIRE_FALSE(TextShown<Plain>);
  STATIC_REQUIRE_FALSE(TextShown<Scoped>);
  STATIC_REQUIRE_FALSE(TextShown<const void*>);
}
