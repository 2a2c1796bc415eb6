// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/recipe_text.hpp"
#include "data/source/fake_source.hpp"

#include <batchcast/data/pipeline.hpp>

#include <cstring>
#include <memory>
#include <vector>

// Pipelines over a source of numbers, and what they make.
namespace batchcast::test {

inline std::shared_ptr<FakeSource> numbers(std::uint64_t samples) {
  return std::make_shared<FakeSource>(
      samples,
      std::vector<PartSpec>{{"values", PartKind::tensor, DType::i32, {4}},
                            {"label", PartKind::tensor, DType::i64, {}}},
      [](std::uint64_t id, std::size_t part, std::span<std::byte> out) {
        if (part == 1) {
          std::memcpy(out.data(), &id, 8);
          return;
        }
        for (std::size_t i = 0; i < 4; ++i) {
          const auto value = static_cast<std::int32_t>(10 * id + i);
          std::memcpy(out.data() + 4 * i, &value, 4);
        }
      });
}

/// Samples made into memory of the test's own.
struct Made {
  std::vector<std::vector<std::byte>> fields;
  std::vector<std::uint64_t> ids;

  template <class T>
  [[nodiscard]] T at(std::size_t field, std::size_t element) const {
    T value;
    std::memcpy(&value, fields[field].data() + element * sizeof(T), sizeof value);
    return value;
  }
  friend bool operator==(const Made&, const Made&) = default;
};

struct Range {
  std::uint64_t epoch = 0;
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

inline Made make(const Pipeline& pipeline, SampleWorker& worker, const Range& range) {
  Made made;
  std::vector<FieldSlots> slots;
  made.fields.resize(pipeline.schema().size());
  for (std::size_t f = 0; f < made.fields.size(); ++f) {
    const std::size_t bytes = pipeline.schema()[f].byte_count();
    made.fields[f].resize(bytes * range.count);
    slots.push_back({made.fields[f].data(), bytes});
  }
  made.ids.resize(range.count);
  worker.make({range.epoch, range.begin, slots, made.ids});
  return made;
}

inline Made make(const Pipeline& pipeline, const Range& range) {
  return make(pipeline, *pipeline.worker(), range);
}

}  // namespace batchcast::test
