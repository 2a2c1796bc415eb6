// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "catch.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/feeder.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;

namespace {

/// Sample i has i % 5 words, and those of the first half of the epoch ten more.
class Words final : public SampleMaker {
 public:
  explicit Words(bool knows) : knows_(knows) {}
  [[nodiscard]] const Schema& schema() const noexcept override { return schema_; }
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept override { return 1'000; }
  [[nodiscard]] std::string recipe_json() const override { return "{}"; }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view) const override {
    if (!knows_) return nullptr;
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < 1'000; ++i) rows.push_back(rows_at(i));
    return std::make_shared<StoredLengths>(std::move(rows));
  }
  [[nodiscard]] std::unique_ptr<SampleWorker> worker() const override;

  static std::uint32_t rows_at(std::uint64_t index) {
    return static_cast<std::uint32_t>(index % 5 + (index < 500 ? 10 : 0));
  }
  std::uint64_t bad = 1'000;
  mutable std::uint64_t made = 0;

 private:
  Schema schema_ = {{"words", DType::i32, Axis{"words"}}, {"label", DType::i64}};
  bool knows_;
};

class WordsWorker final : public SampleWorker {
 public:
  explicit WordsWorker(const Words& words) : words_(words) {}
  void make(const SampleSlots&) override { FAIL("samples with axes are made apart"); }
  void make_apart(std::uint64_t epoch, std::uint64_t index, MadeSample& made) override {
    CHECK(epoch == 0);
    if (index >= words_.bad) throw BadSample("batchcast: it is bad.");
    ++words_.made;
    made.set_rows(0, Words::rows_at(index));
  }
  [[nodiscard]] MakerTimes times() const noexcept override { return {}; }

 private:
  const Words& words_;
};

std::unique_ptr<SampleWorker> Words::worker() const { return std::make_unique<WordsWorker>(*this); }

}  // namespace

TEST_CASE("known lengths say the mean, and no sample is made for it") {
  const Words words(true);
  const auto rows = rows_of(words);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].axis == "words");
  CHECK(rows[0].are_all);
  CHECK(rows[0].rows.samples == 1'000);
  CHECK(rows[0].rows.min == 0);
  CHECK(rows[0].rows.max == 14);
  CHECK(rows[0].rows.total == 7'000);
  CHECK(rows_per_sample(words) == std::vector<RowsPerSample>{{"words", 7}});
  CHECK(words.made == 0);
}

TEST_CASE("else 256 samples that are spread over the first epoch say it") {
  const Words words(false);
  const auto rows = rows_of(words);
  REQUIRE(rows.size() == 1);
  CHECK_FALSE(rows[0].are_all);
  CHECK(rows[0].rows.samples == 256);
  CHECK(words.made == 256);
  CHECK(rows[0].rows.mean() > 6.7);  // the second half of the epoch counts as the first
  CHECK(rows[0].rows.mean() < 7.3);
  CHECK(producer_options(words, "s").rows_per_sample.size() == 1);
  CHECK(producer_options(words, "s", true).rows_per_sample.empty());
}

TEST_CASE("bad samples have no say, and a ring can be divided where all are bad") {
  Words words(false);
  words.bad = 500;
  CHECK(rows_of(words)[0].rows.min >= 10);
  words.bad = 0;
  REQUIRE(rows_per_sample(words).size() == 1);
  CHECK(rows_per_sample(words)[0].rows > 0);
}
