// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/ring/window.hpp>
#include "ring/ring_plan.hpp"

#include <rapidcheck.h>

#include <bit>
#include <limits>
#include <numeric>
#include <string>

using namespace batchcast;

namespace {

constexpr std::uint64_t KiB = 1024;
constexpr std::uint64_t MiB = 1024 * KiB;

FieldSpec bytes_field(const std::string& name, std::uint64_t bytes) {
  return {name, DType::u8, {static_cast<std::int64_t>(bytes)}};
}

Schema with_ids(Schema schema) {
  schema.push_back({std::string(sample_id_name), DType::u64, {}});
  return schema;
}

std::uint64_t any_granularity() {
  return *rc::gen::element<std::uint64_t>(4 * KiB, 16 * KiB, 64 * KiB, 2 * MiB);
}

/// Evenly over the orders of magnitude.
std::uint64_t any_up_to_bits(int bits) {
  const int shift = *rc::gen::inRange(0, bits);
  return *rc::gen::inRange<std::uint64_t>(std::uint64_t{1} << shift, std::uint64_t{2} << shift);
}

Schema any_schema() {
  Schema schema;
  const int fields = *rc::gen::inRange(1, 5);
  for (int i = 0; i < fields; ++i) {
    std::uint64_t bytes = any_up_to_bits(22);
    if (*rc::gen::inRange(0, 3) == 0) bytes = (bytes + 4095) / 4096 * 4096;
    schema.push_back(bytes_field("f" + std::to_string(i), bytes));
  }
  return with_ids(schema);
}

std::uint64_t unit_of(const FieldPlan& field, std::uint64_t granularity) {
  return granularity / std::gcd(granularity, field.stride_bytes);
}

/// What a ring with these strides and C samples takes: the definition, not the implementation.
std::uint64_t takes(const RingPlan& plan, std::uint64_t capacity) {
  std::uint64_t total = 0;
  for (const FieldPlan& field : plan.fields) {
    const std::uint64_t unit = unit_of(field, plan.granularity);
    total += (capacity + unit - 1) / unit * unit * field.stride_bytes;
  }
  return total;
}

std::uint64_t sample_bytes(const RingPlan& plan) {
  std::uint64_t total = 0;
  for (const FieldPlan& field : plan.fields) total += field.sample_bytes;
  return total;
}

std::uint64_t unpadded_capacity(RingPlan plan, std::uint64_t memory) {
  for (FieldPlan& field : plan.fields) field.stride_bytes = field.sample_bytes;
  std::uint64_t low = 0;
  std::uint64_t high = memory + 1;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (takes(plan, middle) <= memory ? low : high) = middle;
  }
  return low;
}

bool padded(const RingPlan& plan) {
  for (const FieldPlan& field : plan.fields) {
    if (field.padded()) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("a plan is the largest ring of whole granules that the memory holds") {
  CHECK(rc::check("plan_ring", [] {
    const Schema schema = any_schema();
    const std::uint64_t granularity = any_granularity();
    const std::uint64_t memory = memory_for(schema, 1, granularity) + any_up_to_bits(36) - 1;
    const RingPlan plan = plan_ring(schema, memory, granularity);

    RC_ASSERT(plan.capacity >= 1u);
    RC_ASSERT(plan.granularity == granularity);
    RC_ASSERT(plan.fields.size() == schema.size());
    RC_ASSERT(plan.total_bytes() <= memory);
    RC_ASSERT(plan.total_bytes() == takes(plan, plan.capacity));
    RC_ASSERT(takes(plan, plan.capacity + 1) > memory);
    for (std::size_t i = 0; i < schema.size(); ++i) {
      const FieldPlan& field = plan.fields[i];
      RC_ASSERT(field.sample_bytes == schema[i].byte_count());
      RC_ASSERT(field.stride_bytes >= field.sample_bytes);
      RC_ASSERT(field.segment_bytes() % granularity == 0u);
      RC_ASSERT(field.capacity >= plan.capacity);
      RC_ASSERT(field.capacity - unit_of(field, granularity) < plan.capacity);
    }
  }));
}

TEST_CASE(
    "strides are padded where rounding loses more than a tenth, and by no more than it takes") {
  CHECK(rc::check("padding", [] {
    const Schema schema = any_schema();
    const std::uint64_t granularity = any_granularity();
    const std::uint64_t memory = memory_for(schema, 1, granularity) + any_up_to_bits(38) - 1;
    const RingPlan plan = plan_ring(schema, memory, granularity);

    const std::uint64_t bytes = sample_bytes(plan);
    const std::uint64_t tight = unpadded_capacity(plan, memory);
    if (memory - tight * bytes <= memory / 10) {
      RC_ASSERT(!padded(plan));
      RC_ASSERT(plan.capacity == tight);
      RC_TAG("tight");
      return;
    }
    RC_ASSERT(plan.capacity >= tight);
    RC_TAG(padded(plan) ? "padded" : "padding does not help");
    // One step less of any padding loses more than what was allowed.
    const std::uint64_t lost = memory - plan.capacity * bytes;
    for (std::size_t i = 0; i < plan.fields.size(); ++i) {
      if (!plan.fields[i].padded()) continue;
      RingPlan less = plan;
      FieldPlan& field = less.fields[i];
      const std::uint64_t power = std::uint64_t{1} << std::countr_zero(field.stride_bytes);
      field.stride_bytes = (field.sample_bytes + power / 2 - 1) / (power / 2) * (power / 2);
      if (field.stride_bytes == plan.fields[i].stride_bytes) continue;
      std::uint64_t capacity = plan.capacity;
      while (capacity > 0 && takes(less, capacity) > memory) --capacity;
      RC_ASSERT(memory - capacity * bytes > std::min(lost, memory / 10));
    }
  }));
}

TEST_CASE("memory_for gives room for the samples asked for, with any more memory too") {
  CHECK(rc::check("memory_for", [] {
    const Schema schema = any_schema();
    const std::uint64_t granularity = any_granularity();
    const std::uint64_t samples = any_up_to_bits(20);
    const std::uint64_t lost = *rc::gen::element(lost_part, lost_part_on_device);
    const std::uint64_t enough = memory_for(schema, samples, granularity, lost);
    const std::uint64_t more = *rc::gen::inRange<std::uint64_t>(0, enough);
    RC_ASSERT(plan_ring(schema, enough, granularity, lost).capacity >= samples);
    RC_ASSERT(plan_ring(schema, enough + more, granularity, lost).capacity >= samples);
  }));
}

TEST_CASE("a window is contiguous at every position, in whichever half it begins") {
  CHECK(rc::check("windows", [] {
    const RingPlan plan = [] {
      const Schema schema = any_schema();
      const std::uint64_t granularity = any_granularity();
      return plan_ring(schema, memory_for(schema, any_up_to_bits(10), granularity), granularity);
    }();
    const std::uint64_t around = *rc::gen::elementOf(std::vector<std::uint64_t>{
        plan.capacity, std::uint64_t{1} << 32, limits::position_max - 2 * plan.capacity - 1});
    const std::uint64_t position =
        around - plan.capacity + *rc::gen::inRange<std::uint64_t>(0, 2 * plan.capacity);
    const std::uint64_t samples = *rc::gen::inRange<std::uint64_t>(1, plan.capacity + 1);
    for (const FieldPlan& field : plan.fields) {
      const std::uint64_t begin = field.offset_of(position);
      RC_ASSERT(begin < field.segment_bytes());
      RC_ASSERT(begin + samples * field.stride_bytes <= 2 * field.segment_bytes());
      for (const std::uint64_t i : {std::uint64_t{0}, samples / 2, samples - 1}) {
        RC_ASSERT((begin + i * field.stride_bytes) % field.segment_bytes() ==
                  field.offset_of(position + i));
      }
      // No two of the C samples that the ring holds share a place.
      RC_ASSERT(field.offset_of(position) != field.offset_of(position + samples) ||
                samples % field.capacity == 0u);
      std::byte base{};
      const FieldWindow window{&base, field.capacity, field.stride_bytes, field.sample_bytes};
      RC_ASSERT(reinterpret_cast<std::uintptr_t>(window.at(position)) -
                    reinterpret_cast<std::uintptr_t>(&base) ==
                begin);
    }
  }));
}

TEST_CASE("a small field only gets a larger capacity") {
  const RingPlan plan = plan_ring(
      with_ids({{"image", DType::f32, {3, 224, 224}}, {"label", DType::i64, {}}}), 256 * MiB, 4096);
  CHECK(plan.capacity == 445);  // 445 images of 602,112 bytes; not rounded to a power of two
  CHECK(plan.fields[0].capacity == 445);
  CHECK(plan.fields[1].capacity == 512);
  CHECK(plan.fields[2].capacity == 512);
  CHECK_FALSE(padded(plan));
}

TEST_CASE("an odd size is padded where the memory is small, and is not where it is large") {
  const Schema schema = with_ids({bytes_field("jpeg", 150'529)});
  const RingPlan small = plan_ring(schema, 64 * MiB, 4096);
  CHECK(small.fields[0].padded());
  CHECK(small.capacity * 150'529 >= 64 * MiB / 10 * 9);
  const RingPlan large = plan_ring(schema, 100'000 * MiB, 4096);
  CHECK_FALSE(padded(large));
  CHECK(large.fields[0].capacity % 4096 == 0);
}

TEST_CASE("a label beside an aligned image is padded too, if its rounding costs an image") {
  const Schema schema = with_ids({bytes_field("image", 602'112), bytes_field("label", 7)});
  const RingPlan plan = plan_ring(schema, 2 * 602'112 + 2 * 4096, 4096);
  CHECK(plan.capacity == 2);
  CHECK(plan.fields[1].stride_bytes == 8);
}

TEST_CASE("padding one field does not leave another padded for nothing") {
  const RingPlan plan =
      plan_ring(with_ids({bytes_field("a", 67), bytes_field("b", 1093)}), 1'891'467, 4096);
  CHECK(plan.capacity == 1536);
  CHECK(plan.fields[0].stride_bytes == 68);
  CHECK(plan.fields[1].stride_bytes == 1096);  // on the way, 1,120 was tried
}

TEST_CASE("memory for not even one sample is refused with what one takes") {
  CHECK(rc::check("too little", [] {
    const Schema schema = any_schema();
    const std::uint64_t granularity = any_granularity();
    std::string text;
    try {
      static_cast<void>(plan_ring(schema, 1, granularity));
    } catch (const InvalidArgument& error) {
      text = error.what();
    }
    const std::string before = "--memory ";
    const auto at = text.find(before);
    RC_ASSERT(at != std::string::npos);
    std::size_t digits = 0;
    const std::string amount = text.substr(at + before.size());
    const std::uint64_t units = std::stoull(amount, &digits);
    const std::uint64_t unit = amount.substr(digits).starts_with("KiB") ? KiB : MiB;
    RC_ASSERT(plan_ring(schema, units * unit, granularity).capacity >= 1u);
    RC_ASSERT_THROWS_AS(plan_ring(schema, (units - 1) * unit, granularity), InvalidArgument);
  }));
}

TEST_CASE("sizes beyond any memory are refused, not overflowed") {
  constexpr std::uint64_t everything = std::numeric_limits<std::uint64_t>::max();
  const Schema giant = with_ids({bytes_field("giant", (std::uint64_t{1} << 61) - 1)});
  CHECK_THROWS_AS(plan_ring(giant, std::uint64_t{1} << 40, 4096), InvalidArgument);
  CHECK(memory_for(giant, 1'000'000, 2 * MiB) >= limits::position_max);
  const Schema tiny = with_ids({bytes_field("tiny", 1)});
  for (const std::uint64_t memory : {everything, limits::position_max, limits::position_max - 1}) {
    const RingPlan plan = plan_ring(tiny, memory, 4096);
    CHECK(plan.total_bytes() <= memory);
    CHECK(plan.capacity <= memory / sample_bytes(plan));
    CHECK(plan.total_bytes() > limits::position_max / 10 * 9);
    CHECK(plan_ring(giant, memory, 4096).capacity >= 1);
  }
  CHECK(memory_for(tiny, everything, 4096) >= limits::position_max);
}
