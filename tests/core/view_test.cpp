// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/field_table.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/view.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace batchcast;

namespace {

const std::vector<std::int64_t> shape = {2, 3};

FieldTable table() {
  return FieldTable({{{"image", DType::f32, {2, 3}}, 6, 24, 24},
                     {{"mask", DType::u8, {5}}, 5, 5, 8},
                     {{"sample_id", DType::u64, {}}, 1, 8, 8}});
}

}  // namespace

TEST_CASE("a view of tight samples is one span") {
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.0F);
  const FieldView<const float> view(values.data(), 4, shape, 6, 24);
  CHECK_FALSE(view.padded());
  CHECK(view.size() == 4);
  CHECK(view.sample_shape().size() == 2);
  CHECK(view.span().size() == 24);
  CHECK(view[3][0] == 18.0F);
  CHECK(std::accumulate(view.begin(), view.end(), 0.0F) == 276.0F);
}

TEST_CASE("a view of padded samples goes sample by sample, and says so") {
  std::vector<std::uint8_t> bytes(24, 255);
  const FieldView<std::uint8_t> view(bytes.data(), 3, shape, 5, 8);
  CHECK(view.padded());
  for (std::size_t i = 0; i < view.size(); ++i) {
    for (std::uint8_t& value : view[i]) value = static_cast<std::uint8_t>(i);
  }
  CHECK(bytes[8] == 1);
  CHECK(bytes[12] == 1);
  CHECK(bytes[13] == 255);
  CHECK(bytes[20] == 2);
  std::string text;
  try {
    static_cast<void>(view.span());
  } catch (const InvalidArgument& error) {
    text = error.what();
  }
  CHECK(text.find("8 bytes apart") != std::string::npos);
  CHECK(text.find("view[i]") != std::string::npos);
  CHECK_THROWS_AS(view.begin(), InvalidArgument);
  // One sample is contiguous whatever its stride.
  CHECK(FieldView<std::uint8_t>(bytes.data(), 1, shape, 5, 8).span().size() == 5);
}

TEST_CASE("fields are found by name and seen as the type that they have") {
  const FieldTable fields = table();
  CHECK(fields.index_of("mask") == 1);
  CHECK(fields.sample_id_index() == 2);
  std::string text;
  try {
    static_cast<void>(fields.index_of("labels"));
  } catch (const InvalidArgument& error) {
    text = error.what();
  }
  CHECK(text.find("`labels`") != std::string::npos);
  CHECK(text.find("image f32 [2,3]") != std::string::npos);
  CHECK(text.find("sample_id") != std::string::npos);

  std::array<std::byte, 48> bytes{};
  CHECK(fields.view<float>(0, bytes.data(), 2, 24).span().size() == 12);
  CHECK(fields.view<std::byte>(0, bytes.data(), 2, 24).span().size() == 48);
  CHECK(fields.view<std::uint8_t>(1, bytes.data(), 2, 8).padded());
  CHECK_THROWS_AS(fields.view<std::int32_t>(0, bytes.data(), 2, 24), InvalidArgument);
}

TEST_CASE("choices have names, and are read back by them") {
  for (const Pace pace : {Pace::lockstep, Pace::free}) CHECK(parse_pace(name_of(pace)) == pace);
  for (const Join join : {Join::rewind, Join::next_epoch, Join::now, Join::at}) {
    CHECK(parse_join(name_of(join)) == join);
  }
  for (const BetweenEpochs between : {BetweenEpochs::hold, BetweenEpochs::let_go}) {
    CHECK(parse_between_epochs(name_of(between)) == between);
  }
  CHECK_FALSE(parse_pace("fast"));
  CHECK_FALSE(parse_join(""));
  CHECK_FALSE(parse_between_epochs("HOLD"));
}
