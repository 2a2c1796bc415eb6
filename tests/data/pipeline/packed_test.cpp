// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/data/pipeline.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using Catch::Contains;

namespace {

/// Texts of `id % 9` tokens, whose lengths it may know.
class Texts final : public Source {
 public:
  explicit Texts(bool knows) : knows_(knows) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return 100; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    parts.resize(2);
    const auto fill = [&](std::size_t part, std::size_t bytes) {
      const std::span<std::byte> made = parts.make(part, bytes);
      std::fill(made.begin(), made.end(), static_cast<std::byte>(sample_id));
    };
    fill(0, static_cast<std::size_t>(sample_id % 9));
    fill(1, 1);
  }
  [[nodiscard]] std::string name_of(std::uint64_t id) const override { return std::to_string(id); }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_of("texts"); }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override {
    if (!knows_ || axis != "tokens") return nullptr;
    std::vector<std::uint32_t> rows(100);
    for (std::uint32_t i = 0; i < 100; ++i) rows[i] = i % 9;
    return std::make_shared<StoredLengths>(std::move(rows));
  }

 private:
  bool knows_;
  std::vector<PartSpec> parts_ = {{.name = "tokens", .axis = "tokens"}, {.name = "label"}};
};

PipelineOptions options(bool knows, const std::string& axis = "tokens") {
  PipelineOptions options;
  options.source = std::make_shared<Texts>(knows);
  options.recipe.order = OrderMode::packed;
  options.recipe.packed = {axis, 24, 32};
  return options;
}

std::string refusal(PipelineOptions options) {
  try {
    static_cast<void>(Pipeline(std::move(options)));
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

class Numbers final : public Source {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept override { return 4; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t, SampleParts&) const override {}
  [[nodiscard]] std::string name_of(std::uint64_t id) const override { return std::to_string(id); }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_of("numbers"); }

 private:
  std::vector<PartSpec> parts_ = {{.name = "tokens", .shape = {3}}};
};

}  // namespace

TEST_CASE("a pipeline makes samples in the packed order of its source's lengths", "[packed]") {
  const Pipeline pipeline(options(true));
  OrderOptions order{.samples_per_epoch = 100, .mode = OrderMode::packed};
  order.packed = {"tokens", 24, 32};
  order.lengths = Texts(true).lengths("tokens");
  const auto worker = pipeline.worker();
  MadeSample made(pipeline.schema());
  const auto ids = pipeline.ids_apart();
  for (std::uint64_t i = 0; i < 100; ++i) {
    worker->make_apart(3, i, made);
    REQUIRE(ids(3, i) == made.sample_id);
    REQUIRE(made.sample_id == Order(order).sample_id_at(3, i));
    REQUIRE(made.rows()[0] == made.sample_id % 9);
    REQUIRE(pipeline.sample_id_at(3, i) == made.sample_id);
  }
}

TEST_CASE("axis, budget and neighbours of a packed order are part of a stream's identity",
          "[packed]") {
  const Fingerprint same = Pipeline(options(true)).identity();
  CHECK(Pipeline(options(true)).identity() == same);
  for (const PackedOptions& other :
       {PackedOptions{"tokens", 25, 32}, PackedOptions{"tokens", 24, 33}}) {
    PipelineOptions changed = options(true);
    changed.recipe.packed = other;
    CHECK(Pipeline(std::move(changed)).identity() != same);
  }
  // In another order they mean nothing.
  PipelineOptions shuffled = options(true);
  shuffled.recipe.order = OrderMode::reshuffle;
  PipelineOptions plain = options(true);
  plain.recipe = {};
  CHECK(Pipeline(std::move(shuffled)).identity() == Pipeline(std::move(plain)).identity());
}

TEST_CASE("a packed order of a source that does not say lengths is refused", "[packed]") {
  CHECK_THAT(refusal(options(false)), Contains("needs the lengths of all samples on the axis "
                                               "`tokens`") &&
                                          Contains("only when it is read. Take `reshuffle`"));
  CHECK_THAT(refusal(options(true, "words")),
             Contains("counts rows of the axis `words`, and this source has `tokens`."));
  CHECK_THAT(refusal(options(true, "token")), Contains("Did you mean `tokens`?"));
  PipelineOptions one_shape = options(true);
  one_shape.source = std::make_shared<Numbers>();
  CHECK_THAT(refusal(std::move(one_shape)), Contains("those of this source have one shape"));
}
