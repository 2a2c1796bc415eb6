// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>
#include <batchcast/checkpoint.hpp>
#include <batchcast/core/identity.hpp>
#include <batchcast/data/synthetic.hpp>

#include "catch.hpp"
#include "temporary_folder.hpp"

#include <string>
#include <vector>

using namespace batchcast;
using Catch::Contains;

namespace {

const std::string a(32, 'a');
const std::string b(32, 'b');

/// As a version that kept no identity saved it: in the recipe, with what people read there.
Checkpoint of_earlier_version(const std::string& identity, const std::string& directory) {
  Checkpoint checkpoint;
  checkpoint.stream = "then";
  checkpoint.recipe_json = R"({"identity":")" + identity + R"(","on_bad_sample":"error",)" +
                           R"("source":{"directory":")" + directory + R"(","samples":10}})";
  return checkpoint;
}

Checkpoint with_identity(const std::string& identity, const std::string& recipe = "{}") {
  Checkpoint checkpoint;
  checkpoint.stream = "now";
  checkpoint.recipe_json = recipe;
  checkpoint.identity = identity;
  return checkpoint;
}

std::string refusal(const Checkpoint& saved, const Checkpoint& served) {
  try {
    check_same_samples(saved, served);
  } catch (const RecipeMismatch& error) {
    return error.what();
  }
  return "";
}

/// Of a consumer that has just attached to a producer of its own.
Checkpoint checkpoint_beside(ProducerOptions options) {
  const testing::TemporaryFolder folder;
  options.schema = {{"x", DType::u8, {}}};
  options.memory = 64 << 10;
  options.linger_ms = 0;
  options.directory = folder.path();
  options.log = [](LogLevel, std::string_view) {};
  const Producer producer(std::move(options));
  const Consumer consumer({.stream = "s", .directory = folder.path()});
  Checkpoint checkpoint = checkpoint_of(consumer, "s");
  CHECK(checkpoint.identity == consumer.identity());
  return checkpoint;
}

std::string identity_of(ProducerOptions options) {
  return checkpoint_beside(std::move(options)).identity;
}

}  // namespace

TEST_CASE("checkpoints are compared by identity, whatever else their recipes say") {
  CHECK(refusal(with_identity(a, "{}"), with_identity(a, R"({"x":1})")).empty());
  CHECK_THAT(refusal(with_identity(a), with_identity(b)),
             Contains("its identity is " + b) && Contains("the checkpoint's is " + a) &&
                 !Contains("They differ in"));
}

TEST_CASE("a checkpoint of another recipe is refused with the members that differ") {
  const auto told = [](const std::string& saved, const std::string& served) {
    return refusal(with_identity(a, saved), with_identity(b, served));
  };
  CHECK_THAT(
      told(R"({"identity":"x","same":[1],"seed":1})", R"({"identity":"y","same":[1],"seed":2})"),
      Contains(". They differ in `seed` (1 then, 2 now).\nServe the stream as it was"));
  CHECK_THAT(
      told(R"({"epochs":1,"shard":{"count":2}})", R"({"epochs":2,"order":"linear"})"),
      Contains(R"(in `shard` ({"count":2} then, none now), `order` (none then, "linear" now))"));
  // Where the files lie is no part of what the samples are.
  const std::string there = R"({"seed":1,"source":{"directory":"/there","samples":10}})";
  CHECK_THAT(told(there, R"({"seed":2,"source":{"directory":"/here","samples":10}})"),
             Contains("`seed`") && !Contains("`source`"));
  const std::string large = R"({"recipe":{"fields":[")" + std::string(80, 'x') + R"("]}})";
  CHECK_THAT(
      told(large, R"({"recipe":{}})"),
      Contains("They differ in `recipe.fields`; the checkpoint has its own as recipe_json."));
  // A long member is opened, so that what was changed has a name.
  const auto limited = [](const std::string& tokens) {
    return R"({"recipe":{"fields":[")" + std::string(80, 'x') + R"("],"max_tokens":)" + tokens +
           R"(},"tokens":{"read":)" + tokens + "}}";
  };
  CHECK_THAT(told(limited("4096"), limited("2048")),
             Contains(". They differ in `recipe.max_tokens` (4096 then, 2048 now).\nServe"));
  std::string deep_then = "1", deep_now = "2";
  for (int depth = 0; depth < 2000; ++depth) {
    deep_then = R"({"a":)" + deep_then + "}";
    deep_now = R"({"a":)" + deep_now + "}";
  }
  CHECK_THAT(told(deep_then, deep_now), Contains("They differ in `a.a.a.a.a`; the checkpoint"));
  // A checkpoint may come from another user: its text is made printable, and need not be JSON.
  CHECK_THAT(told("{\"a\x1b\":1}", R"({})"), Contains("`a\\x1b`") && !Contains("\x1b"));
  for (const char* text :
       {"{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":\"", "{", ",", "{\"a\":1,\""}) {
    CHECK_THAT(told(text, R"({"z":1})"), Contains("`z` (none then, 1 now)"));
  }
}

TEST_CASE("a cursor without join = at is refused, and not ignored") {
  using Catch::Matchers::Message;
  ConsumerOptions options = {.stream = "s", .connect_timeout_ms = 0};
  options.cursor = 5;
  CHECK_THROWS_MATCHES(Consumer(options), InvalidArgument,
                       Message("batchcast: cursor is 5, which says where join `at` begins; with "
                               "join `rewind` it has no meaning."));
  options.join = Join::at;
  CHECK_THROWS_AS(Consumer(options), StreamNotFound);
}

TEST_CASE("a cursor that no stream has is refused before anything is asked") {
  using Catch::Matchers::Message;
  ConsumerOptions options = {.stream = "s", .connect_timeout_ms = 0};
  options.join = Join::at;
  options.cursor = std::uint64_t{1} << 63;
  CHECK_THROWS_MATCHES(Consumer(options), InvalidArgument,
                       Message("batchcast: cursor is 9223372036854775808, and the positions of a "
                               "stream stay below 2^63. Give a cursor that a consumer or a "
                               "checkpoint had."));
  --options.cursor;
  CHECK_THROWS_AS(Consumer(options), StreamNotFound);
}

TEST_CASE("a checkpoint of an earlier version is known by the identity in its recipe") {
  CHECK(refusal(of_earlier_version(a, "/there"), with_identity(a)).empty());
  CHECK_THAT(refusal(of_earlier_version(a, "/there"), with_identity(b)),
             Contains(a) && Contains(b));
  // What it is compared with may say nothing of it, or be of that version too.
  CHECK(refusal(of_earlier_version(a, "/x"), of_earlier_version(a, "/x")).empty());
  CHECK_THAT(refusal(of_earlier_version(a, "/x"), of_earlier_version(b, "/x")),
             Contains("another recipe"));
}

TEST_CASE("where a recipe has no identity, its text decides, but for how many epochs there are") {
  const SyntheticRecipe endless = SyntheticRecipe::parse("synthetic:3x4");
  SyntheticRecipe short_one = endless;
  short_one.epochs = 3;
  SyntheticRecipe other = endless;
  other.seed = 1;
  CHECK(endless.identity() == short_one.identity());
  CHECK(endless.identity() != other.identity());
  const auto then = [](const SyntheticRecipe& recipe) {
    return with_identity("", recipe.to_json());
  };
  const auto now = [](const SyntheticRecipe& recipe) {
    return with_identity(recipe.identity().to_hex(), recipe.to_json());
  };
  CHECK(refusal(then(short_one), now(endless)).empty());
  CHECK(refusal(then(endless), now(short_one)).empty());
  CHECK_THAT(refusal(then(endless), now(other)), Contains("another recipe"));
}

TEST_CASE("an identity is found as text, and only where it is one") {
  CHECK(detail::identity_in(R"({"x":1,"identity":")" + a + R"("})") == a);
  for (const std::string& text :
       {std::string(), std::string(R"({"identity":")"), R"({"identity":")" + a,
        R"({"identity":")" + a.substr(1) + "\"}", R"({"identity":")" + a + "a\"}",
        R"({"identity":"x)" + a.substr(1) + "\"}",
        R"({"identity":")" + std::string(32, '0') + "\"}", R"({\"identity\":\")" + a + R"(\"})"}) {
    CHECK(detail::identity_in(text).empty());
  }
}

TEST_CASE("a member is the object's own, not one of what is in it") {
  CHECK(detail::identity_in(R"({"base":{"identity":")" + a + R"("},"augment":2})").empty());
  CHECK(detail::identity_in(R"({"base":[{"x":"}\"]"}],"text":"\"identity\":","identity":")" + b +
                            "\"}") == b);
  const auto accepted = [](const std::string& saved, const std::string& served) {
    return refusal(with_identity("", saved), with_identity("", served)).empty();
  };
  CHECK(accepted(R"({"a":1,"epochs":3})", R"({"a":1})"));
  CHECK(accepted(R"({"epochs":3,"a":1})", R"({"epochs":12,"a":1})"));
  CHECK(accepted(R"({"epochs":3})", R"({})"));
  CHECK_FALSE(accepted(R"({"a":{"epochs":3}})", R"({"a":{"epochs":4}})"));
}

TEST_CASE("the identity that a producer was given stands on the board") {
  CHECK(identity_of({.stream = "s", .recipe_json = "{}", .pure = true, .identity = a}) == a);
  CHECK(identity_of({.stream = "s", .recipe_json = R"({"identity":")" + b + "\"}", .pure = true}) ==
        b);
  CHECK(identity_of({.stream = "s", .recipe_json = "{}", .pure = true}) ==
        fingerprint_of("{}").to_hex());
  CHECK(identity_of({.stream = "s", .recipe_json = "{}"}).empty());
  CHECK_THROWS_AS(identity_of({.stream = "s", .recipe_json = "{}", .identity = a}),
                  InvalidArgument);
  CHECK_THROWS_AS(identity_of({.stream = "s", .recipe_json = "{}", .pure = true, .identity = "x"}),
                  InvalidArgument);
}

TEST_CASE("of a stream that is not pure another producer is told by a warning") {
  std::vector<std::string> lines;
  const LogCallback log = [&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) lines.emplace_back(text);
  };
  const auto checkpoint_at = [](bool pure) {
    return checkpoint_beside({.stream = "s", .recipe_json = pure ? "{}" : "", .pure = pure});
  };
  const Checkpoint saved = checkpoint_at(false);
  CHECK(saved.incarnation.size() == 32);
  check_same_samples(saved, saved, log);
  CHECK(lines.empty());
  check_same_samples(saved, checkpoint_at(false), log);
  REQUIRE(lines.size() == 1);
  CHECK_THAT(lines[0], Contains("stream `s`, position 0, of another producer"));

  lines.clear();
  check_same_samples(checkpoint_at(true), checkpoint_at(true), log);
  Checkpoint earlier = saved;  // of a version that did not keep it
  earlier.incarnation.clear();
  check_same_samples(earlier, saved, log);
  CHECK(lines.empty());
}
