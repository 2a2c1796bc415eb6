// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/synthetic.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"

namespace bc = batchcast;

namespace {

constexpr std::size_t dtype_count = bc::dtype_names.size();

std::vector<std::byte> filled(const bc::SyntheticKey& key, bc::DType dtype, std::size_t bytes) {
  std::vector<std::byte> out(bytes);
  bc::fill_synthetic(key, dtype, out);
  return out;
}

double half_to_double(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  return exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
}

template <class T>
std::vector<double> decoded(const std::vector<std::byte>& bytes, double (*to_double)(T)) {
  std::vector<double> values;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
    T element;
    std::memcpy(&element, bytes.data() + at, sizeof element);
    values.push_back(to_double(element));
  }
  return values;
}

std::vector<double> as_doubles(bc::DType dtype, const std::vector<std::byte>& bytes) {
  switch (dtype) {
    case bc::DType::f16:
      return decoded<std::uint16_t>(bytes, half_to_double);
    case bc::DType::bf16:
      return decoded<std::uint16_t>(bytes, [](std::uint16_t bits) -> double {
        return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
      });
    case bc::DType::f32:
      return decoded<float>(bytes, [](float value) -> double { return value; });
    default:
      return decoded<double>(bytes, [](double value) { return value; });
  }
}

std::uint64_t fnv(const std::vector<std::byte>& bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : bytes) {
    hash = (hash ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

std::string error_of(std::string_view source) {
  try {
    static_cast<void>(bc::SyntheticRecipe::parse(source));
  } catch (const bc::InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

bc::SyntheticRecipe small_recipe() {
  bc::SyntheticRecipe recipe = bc::SyntheticRecipe::parse("synthetic:3x5x7");
  recipe.samples_per_epoch = 100;
  recipe.seed = 0xffff'ffff'ffff'fff1;
  return recipe;
}

}  // namespace

TEST_CASE("synthetic bytes are pinned: the same on every machine and at every optimisation level") {
  const std::vector<std::uint64_t> expected = {
      0x86318116eb1725d0, 0x86318116eb1725d0, 0x86318116eb1725d0, 0x86318116eb1725d0,
      0x86318116eb1725d0, 0x86318116eb1725d0, 0x86318116eb1725d0, 0x86318116eb1725d0,
      0x673789eb2bbee0f,  0xe7715f3965bae47e, 0x13ca0699850007bf, 0xf3f5e078218dc484,
      0x521438087467a554};
  REQUIRE(expected.size() == dtype_count);
  for (std::size_t i = 0; i < dtype_count; ++i) {
    INFO("dtype " << bc::dtype_names[i]);
    CHECK(fnv(filled({1, 2, 3}, static_cast<bc::DType>(i), 4104)) == expected[i]);
  }
}

TEST_CASE("a shorter or unaligned place gets a prefix of the same bytes") {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<bc::DType>(i);
    const auto whole = filled({7, 0, 1}, dtype, 5000);
    for (const std::size_t bytes : {0U, 1U, 8U, 63U, 64U, 65U, 2047U, 2048U, 2049U, 4999U}) {
      std::vector<std::byte> place(bytes + 2, std::byte{0xee});
      bc::fill_synthetic({7, 0, 1}, dtype, std::span(place).subspan(1, bytes));
      REQUIRE(std::equal(place.begin() + 1, place.end() - 1, whole.begin()));
      REQUIRE(place.front() == std::byte{0xee});
      REQUIRE(place.back() == std::byte{0xee});
      REQUIRE(bc::check_synthetic({7, 0, 1}, dtype, std::span(place).subspan(1, bytes)));
    }
  }
}

TEST_CASE("one flipped bit anywhere, or another key, is seen") {
  const bc::SyntheticKey key{4, 5, 6};
  for (const auto dtype : {bc::DType::u8, bc::DType::f32, bc::DType::bf16, bc::DType::boolean}) {
    auto bytes = filled(key, dtype, 4100);
    REQUIRE(bc::check_synthetic(key, dtype, bytes));
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      bytes[at] ^= std::byte{1};
      REQUIRE_FALSE(bc::check_synthetic(key, dtype, bytes));
      bytes[at] ^= std::byte{1};
    }
    REQUIRE_FALSE(bc::check_synthetic({4, 5, 7}, dtype, bytes));
    REQUIRE_FALSE(bc::check_synthetic({4, 6, 6}, dtype, bytes));
    REQUIRE_FALSE(bc::check_synthetic({5, 5, 6}, dtype, bytes));
  }
}

TEST_CASE("synthetic floats are uniform from 0 to below 1, and bools are 0 or 1") {
  for (const auto dtype : {bc::DType::f16, bc::DType::bf16, bc::DType::f32, bc::DType::f64}) {
    const auto values = as_doubles(dtype, filled({1, 0, 0}, dtype, 800'000));
    constexpr int bins = 256;
    std::vector<double> counts(bins);
    for (const double value : values) {
      REQUIRE((value >= 0 && value < 1));
      ++counts[static_cast<std::size_t>(value * bins)];
    }
    const double expected = static_cast<double>(values.size()) / bins;
    double chi_square = 0;
    for (const double count : counts)
      chi_square += (count - expected) * (count - expected) / expected;
    INFO("dtype " << bc::name_of(dtype));
    CHECK((chi_square - (bins - 1)) / std::sqrt(2.0 * (bins - 1)) < 4);
  }
  int ones = 0;
  for (const std::byte byte : filled({1, 0, 0}, bc::DType::boolean, 100'000)) {
    REQUIRE(std::to_integer<int>(byte) <= 1);
    ones += std::to_integer<int>(byte);
  }
  CHECK(std::abs(ones - 50'000) < 1000);
}

TEST_CASE("synthetic labels cover all classes and depend on seed and sample only") {
  std::vector<int> counts(bc::synthetic_classes);
  for (std::uint64_t id = 0; id < 100'000; ++id) {
    const std::int64_t label = bc::synthetic_label(5, id);
    REQUIRE((label >= 0 && label < bc::synthetic_classes));
    ++counts[static_cast<std::size_t>(label)];
  }
  for (const int count : counts) REQUIRE((count > 40 && count < 170));
  CHECK(bc::synthetic_label(5, 1) == 195);
  CHECK(bc::synthetic_label(6, 1) == 783);

  const bc::SyntheticRecipe recipe = small_recipe();
  for (const std::uint64_t id : {0U, 1U, 99U}) {
    std::set<std::uint64_t> labels;
    std::set<std::uint64_t> images;
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      const std::uint64_t position = recipe.position_of(epoch, id).value();
      std::vector<std::byte> label(8);
      std::vector<std::byte> image(recipe.byte_count(bc::SyntheticRecipe::image_field));
      recipe.fill(position, bc::SyntheticRecipe::label_field, label);
      recipe.fill(position, bc::SyntheticRecipe::image_field, image);
      labels.insert(fnv(label));
      images.insert(fnv(image));
    }
    CHECK(labels.size() == 1);
    CHECK(images.size() == 4);
  }
}

TEST_CASE("a synthetic source's text gives its shape") {
  CHECK(bc::SyntheticRecipe::parse("synthetic:3x224x224").shape ==
        std::vector<std::int64_t>{3, 224, 224});
  CHECK(bc::SyntheticRecipe::parse("synthetic:1").shape == std::vector<std::int64_t>{1});
}

TEST_CASE("a bad synthetic source is refused with what to write") {
  using Catch::Contains;
  for (const char* source :
       {"", "synthetic", "synthetic:", "imagefolder:/data", "synthetic:3x", "synthetic:x3",
        "synthetic:3xx4", "synthetic:3 x4", "synthetic:3x224x224?dtype=u8", "synthetic:3X4",
        "synthetic:+3", "synthetic:99999999999999999999"}) {
    INFO(source);
    CHECK_THAT(error_of(source), Contains("synthetic:3x224x224"));
  }
  CHECK_THAT(error_of("synthetic:3x0x4"), Contains("extent 0") && Contains("1 or more"));
  CHECK_THAT(error_of("synthetic:-3"), Contains("extent -3"));
  CHECK_THAT(error_of("synthetic:1x1x1x1x1x1x1x1x1"), Contains("at most 8"));
  CHECK_THAT(error_of("synthetic:4294967296x4294967296"), Contains("2^63 bytes"));

  // Cut between characters, not within one.
  std::string long_source = "imagefolder:";
  for (int i = 0; i < 60; ++i) long_source += "\u00e9";
  for (const char* shift : {"", "a"}) {
    const std::string error = error_of(shift + long_source);
    CHECK_THAT(error, Contains("\u00e9\u2026`"));
  }
}

TEST_CASE("a synthetic recipe survives its JSON") {
  bc::SyntheticRecipe recipe = small_recipe();
  CHECK(bc::SyntheticRecipe::from_json(recipe.to_json()) == recipe);
  CHECK(recipe.to_json() ==
        R"({"dtype":"f32","order":"reshuffle","samples_per_epoch":100,"seed":18446744073709551601,)"
        R"("shape":[3,5,7],"source":"synthetic","version":1})");
  recipe.epochs = 9;
  recipe.order = bc::OrderMode::fixed;
  for (std::size_t i = 0; i < dtype_count; ++i) {
    recipe.dtype = static_cast<bc::DType>(i);
    CHECK(bc::SyntheticRecipe::from_json(recipe.to_json()) == recipe);
  }
}

TEST_CASE("a recipe that is not ours or not possible is refused") {
  using Catch::Contains;
  const std::string good = small_recipe().to_json();
  const auto changed = [&good](const std::string& from, const std::string& to) {
    std::string text = good;
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
  };
  const auto error_of_json = [](const std::string& json) -> std::string {
    try {
      static_cast<void>(bc::SyntheticRecipe::from_json(json));
    } catch (const bc::InvalidArgument& error) {
      return error.what();
    }
    return "no error";
  };
  CHECK_THAT(error_of_json(""), Contains("not JSON"));
  CHECK_THAT(error_of_json("[]"), Contains("not a synthetic one"));
  CHECK_THAT(error_of_json(R"({"source":"idx"})"), Contains("not a synthetic one"));
  CHECK_THAT(error_of_json(std::string(100'000, '[')), Contains("not JSON"));
  CHECK_THAT(error_of_json(changed(R"("version":1)", R"("version":2)")), Contains("version 2"));
  CHECK_THAT(error_of_json(changed(R"("seed":)", R"("sead":)")), Contains("sead"));
  CHECK_THAT(error_of_json(changed(R"("seed":)", R"("seed":-)")), Contains("`seed`"));
  CHECK_THAT(error_of_json(changed("\"f32\"", "\"f31\"")), Contains("unknown dtype `f31`"));
  CHECK_THAT(error_of_json(changed("\"f32\"", "7")), Contains("`dtype`"));
  CHECK_THAT(error_of_json(changed("reshuffle", "random")), Contains("unknown order `random`"));
  CHECK_THAT(error_of_json(changed("[3,5,7]", "[3,0]")), Contains("extent 0"));
  CHECK_THAT(error_of_json(changed("[3,5,7]", "[]")), Contains("needs a shape"));
  CHECK_THAT(error_of_json(changed("[3,5,7]", "[1.5]")), Contains("`shape`"));
  // Deep enough to overflow the stack of whoever writes it out.
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  CHECK_THAT(error_of_json(changed("[3,5,7]", "[" + deep + "]")), Contains("not a list"));
  CHECK_THAT(error_of_json(changed("\"f32\"", deep)), Contains("not a list"));
  CHECK_THAT(error_of_json(changed("\"f32\"", "{}")), Contains("not an object"));
  CHECK_THAT(error_of_json(changed(":100,", ":0,")), Contains("epoch of 0 samples"));
  CHECK_THAT(error_of_json(changed(R"("version")", R"("epochs":0,"version")")),
             Contains("0 epochs"));
  CHECK_THAT(error_of_json(changed(R"("dtype":"f32",)", "")), Contains("lacks `dtype`"));
}

TEST_CASE("a recipe computes every field of every position") {
  for (const auto mode :
       {bc::OrderMode::reshuffle, bc::OrderMode::fixed, bc::OrderMode::sequential}) {
    bc::SyntheticRecipe recipe = small_recipe();
    recipe.order = mode;
    const bc::Schema schema = recipe.schema();
    REQUIRE(schema.size() == 2);
    for (const std::uint64_t position : {0U, 1U, 99U, 100U, 12'345U}) {
      const std::uint64_t id = recipe.sample_id_at(position);
      REQUIRE(id < 100);
      REQUIRE(recipe.position_of(position / 100, id) == position);
      for (std::size_t field = 0; field < 3; ++field) {
        std::vector<std::byte> bytes(recipe.byte_count(field));
        if (field < schema.size()) REQUIRE(bytes.size() == schema[field].byte_count());
        recipe.fill(position, field, bytes);
        REQUIRE(recipe.check(position, field, bytes));
        bytes.back() ^= std::byte{0x80};
        REQUIRE_FALSE(recipe.check(position, field, bytes));
        bytes.pop_back();
        REQUIRE_FALSE(recipe.check(position, field, bytes));
        CHECK_THROWS_AS(recipe.fill(position, field, bytes), bc::InvalidArgument);
      }
    }
    CHECK_FALSE(recipe.position_of(0, 100));
    CHECK_THROWS_AS(recipe.byte_count(3), bc::InvalidArgument);
  }
}

// Not run by default: batchcast_tests "[.speed]"
TEST_CASE("speed of synthetic bytes", "[.speed]") {
  std::vector<std::byte> out(3 * 224 * 224 * 4);
  for (std::size_t i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<bc::DType>(i);
    const auto rate = [&out](auto&& work) {
      constexpr int count = 500;
      const std::clock_t start = std::clock();
      for (std::uint64_t id = 0; id < count; ++id) work(id);
      const double taken = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      return count * static_cast<double>(out.size()) / taken / 1e9;
    };
    const double fill = rate([&](std::uint64_t id) { bc::fill_synthetic({0, 0, id}, dtype, out); });
    bc::fill_synthetic({0, 0, 1}, dtype, out);
    bool good = true;
    const double check = rate([&](std::uint64_t) {
      good = good && bc::check_synthetic({0, 0, 1}, dtype, out);
    });
    WARN(bc::name_of(dtype) << ": fill " << fill << " GB/s, check " << check << " GB/s");
    REQUIRE(good);
  }
}
