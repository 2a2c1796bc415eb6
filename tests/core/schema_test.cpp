// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/core/utf8.hpp>

#include <limits>
#include <string>

using namespace batchcast;

namespace {

std::string refusal(const Schema& schema) {
  try {
    check_schema(schema);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a schema that can be served passes") {
  CHECK(refusal({{"image", DType::f32, {3, 224, 224}}, {"label", DType::i64, {}}}).empty());
  CHECK(refusal({{"Größe", DType::boolean, {1}}}).empty());
  CHECK(refusal({{std::string(limits::field_name_bytes_max, 'x'), DType::u8, {}}}).empty());
  CHECK(
      refusal({{"deep", DType::u8, std::vector<std::int64_t>(limits::dimensions_max, 2)}}).empty());
}

TEST_CASE("what is wrong with a schema is said of the field by its name") {
  CHECK(contains(refusal({}), "no field"));
  CHECK(contains(refusal({{"", DType::u8, {}}}), "without a name"));
  CHECK(contains(refusal({{"a", DType::u8, {}}, {"b", DType::u8, {}}, {"a", DType::f32, {}}}),
                 "two fields `a`"));
  CHECK(contains(refusal({{"sample_id", DType::u64, {}}}), "sample_id"));
  CHECK(contains(refusal({{"a b", DType::u8, {}}}), "`a b`"));
  CHECK(contains(refusal({{"a\n", DType::u8, {}}}), "unprintable"));
  CHECK(contains(refusal({{"caf\xe9", DType::u8, {}}}), "UTF-8"));
  CHECK(contains(refusal({{std::string(limits::field_name_bytes_max + 1, 'x'), DType::u8, {}}}),
                 std::to_string(limits::field_name_bytes_max)));
  CHECK(contains(refusal({{"image", static_cast<DType>(200), {}}}), "`image`"));
  CHECK(contains(refusal({{"image", DType::u8, {3, 0}}}), "extent of 0"));
  CHECK(contains(refusal({{"image", DType::u8, {-1}}}), "extent of -1"));
  CHECK(contains(
      refusal({{"deep", DType::u8, std::vector<std::int64_t>(limits::dimensions_max + 1, 1)}}),
      "dimensions"));
}

TEST_CASE("extents that overflow are refused, one by one and multiplied") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(contains(refusal({{"image", DType::u8, {most}}}), "larger than any memory"));
  CHECK(contains(refusal({{"image", DType::f64, {most / 2, 1}}}), "larger than any memory"));
  CHECK(contains(refusal({{"image", DType::u8, {most, most}}}), "larger than any memory"));
  CHECK(contains(refusal({{"image", DType::u8, {std::int64_t{1} << 32, std::int64_t{1} << 32}}}),
                 "larger than any memory"));
}

TEST_CASE("no more fields than the door can hand over, sample_id among them") {
  Schema schema;
  for (std::size_t i = 0; i + 1 < limits::fields_max; ++i) {
    schema.push_back({"f" + std::to_string(i), DType::u8, {}});
  }
  CHECK(refusal(schema).empty());
  schema.push_back({"one_more", DType::u8, {}});
  CHECK(contains(refusal(schema), std::to_string(limits::fields_max - 1)));
}

TEST_CASE("a schema as the JSON that checkpoints know it by") {
  CHECK(schema_to_json({{"x", DType::f16, {}}}) == R"([{"dtype":"f16","name":"x","shape":[]}])");
  CHECK(schema_to_json({{"\"a\\é", DType::u8, {3, 224}}, {"b", DType::boolean, {1}}}) ==
        R"([{"dtype":"u8","name":"\"a\\é","shape":[3,224]},)"
        R"({"dtype":"bool","name":"b","shape":[1]}])");
}

TEST_CASE("what is UTF-8, and where it can be cut") {
  using detail::is_utf8;
  CHECK(is_utf8("aé€😀"));
  CHECK(is_utf8("\xf4\x8f\xbf\xbf"));
  for (const char* bad : {"\x80", "\xc3", "\xc0\xaf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xe2\x82",
                          "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    CHECK_FALSE(is_utf8(bad));
  }
  for (const std::size_t bytes : {1U, 2U}) CHECK(detail::utf8_prefix("aé", bytes) == "a");
  CHECK(detail::utf8_prefix("aé", 3) == "aé");
  CHECK(detail::utf8_prefix("aé", 9) == "aé");
}

TEST_CASE("a field in words") {
  CHECK(to_text({"image", DType::f32, {3, 224, 224}}) == "image f32 [3,224,224]");
  CHECK(to_text({"label", DType::i64, {}}) == "label i64 []");
}

TEST_CASE("sizes of a field") {
  const FieldSpec image{"image", DType::f32, {3, 224, 224}};
  CHECK(image.element_count() == 150'528);
  CHECK(image.byte_count() == 602'112);
  CHECK(FieldSpec{"label", DType::i64, {}}.byte_count() == 8);
}

TEST_CASE("dtypes have a name and a size each, and are seen as the type that fits") {
  for (std::size_t i = 0; i < dtype_names.size(); ++i) {
    const auto dtype = static_cast<DType>(i);
    CHECK(parse_dtype(name_of(dtype)) == dtype);
    CHECK(is_viewed_as<std::byte>(dtype));
  }
  CHECK_FALSE(parse_dtype("float32"));
  CHECK(is_viewed_as<const float>(DType::f32));
  CHECK_FALSE(is_viewed_as<float>(DType::i32));
  CHECK(is_viewed_as<std::uint16_t>(DType::bf16));
  CHECK_FALSE(is_viewed_as<std::int16_t>(DType::bf16));
  CHECK(is_viewed_as<bool>(DType::boolean));
  CHECK_FALSE(is_viewed_as<std::uint8_t>(DType::boolean));
  CHECK(is_viewed_as<long long>(DType::i64));
}
