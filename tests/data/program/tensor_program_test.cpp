// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/tensor_program.hpp"
#include "program_support.hpp"

#include "catch.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

// Fields that are no images.
using namespace batchcast;
using namespace batchcast::test;
using Catch::Contains;

namespace {

const PartSpec numbers = {"numbers", PartKind::tensor, DType::i32, {2}};
const PartSpec text_part = {"text", PartKind::bytes, DType::u8, {1 << 20}};

std::unique_ptr<detail::FieldProgram> compiled(const std::string& stages, const PartSpec& part,
                                               const std::string& more = "") {
  return detail::compile_tensor(resolved(field("x", stages, more)).fields[0], part);
}

/// The first four bytes of any number.
class FirstFour final : public TensorStage {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "first_four"; }
  [[nodiscard]] std::string parameters_json() const override { return "{}"; }
  [[nodiscard]] TensorSpec output(const TensorSpec& /*in*/) const override {
    return {DType::u8, {4}};
  }
  void run(std::span<const std::byte> in, std::span<std::byte> out,
           StageContext& /*context*/) const override {
    std::memcpy(out.data(), in.data(), 4);
  }
};

/// Of bytes of any length, as the field of a recipe that a program makes.
std::unique_ptr<detail::FieldProgram> of_text(std::vector<RecipeStage> stages) {
  Recipe recipe;
  recipe.fields.push_back({.name = "x", .stages = std::move(stages)});
  return detail::compile_tensor(detail::resolve(recipe).fields[0], text_part);
}

template <class To, class From>
std::vector<To> made(const detail::FieldProgram& program, const std::vector<From>& in) {
  std::vector<To> out(program.output().byte_count() / sizeof(To));
  std::array<detail::FieldTarget, 1> targets;
  targets[0].out = std::as_writable_bytes(std::span(out));
  program.runner({})->run({std::as_bytes(std::span(in)), {}}, targets);
  return out;
}

}  // namespace

TEST_CASE("a tensor without stages is copied byte for byte") {
  const auto program = compiled("", numbers);
  CHECK(program->copies());
  CHECK(program->output() == TensorSpec{DType::i32, {2}});
  CHECK(made<std::int32_t>(*program, std::vector<std::int32_t>{7, -9}) ==
        std::vector<std::int32_t>{7, -9});
}

TEST_CASE("`to` casts a tensor, from what the stages before it made of it") {
  const auto program =
      compiled(R"({ stage = "to", dtype = "i8" }, { stage = "to", dtype = "f32" })", numbers);
  CHECK_FALSE(program->copies());
  CHECK(program->output() == TensorSpec{DType::f32, {2}});
  CHECK(made<float>(*program, std::vector<std::int32_t>{93, 1000}) == std::vector{93.0F, 127.0F});
}

TEST_CASE("bytes of any length go through several stages") {
  const auto to_i64 = std::make_shared<ToStage>(ToStage::Parameters{.dtype = DType::i64});
  const auto to_i16 = std::make_shared<ToStage>(ToStage::Parameters{.dtype = DType::i16});
  const auto first = std::make_shared<FirstFour>();
  const std::vector<std::uint8_t> bytes(100'000, 2);
  CHECK(made<std::uint8_t>(*of_text({first}), bytes) == std::vector<std::uint8_t>(4, 2));
  for (const auto& program : {of_text({first, to_i64}), of_text({first, to_i64, to_i16, to_i64})}) {
    CHECK(made<std::int64_t>(*program, bytes) == std::vector<std::int64_t>(4, 2));
  }
  CHECK_THROWS_WITH(of_text({}), Contains("bytes of any length, and a field has one shape"));
}

TEST_CASE("what is for images is refused where the part is none") {
  CHECK_THROWS_WITH(compiled("", text_part, "views = 2"),
                    Contains("has views") && Contains("is no image"));
  CHECK_THROWS_WITH(compiled("", text_part, "kind = \"mask\""), Contains("is a mask"));
  CHECK_THROWS_WITH(compiled(R"({ stage = "resize", size = 3 })", numbers),
                    Contains("works on images"));
  const detail::ResolvedRecipe joint =
      resolved(field("x", "") +
               "[[joint]]\nfields = [\"x\"]\nstages = [{ stage = \"center_crop\", size = 8 }]");
  CHECK_THROWS_WITH(detail::compile_tensor(joint.fields[0], numbers),
                    Contains("`center_crop` works on images") && Contains("out of the joint"));
}
