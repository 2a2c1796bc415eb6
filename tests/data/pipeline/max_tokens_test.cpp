// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/recipe_text.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/data/pipeline.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"

using namespace batchcast;
using Catch::Contains;

namespace {

/// Token j of document i is 1000 i + j, and is trained where that is odd. The label is i.
class Documents final : public Source {
 public:
  explicit Documents(std::vector<std::uint32_t> rows) : rows_(std::move(rows)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return rows_.size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return specs; }
  void read(std::uint64_t id, SampleParts& out) const override {
    out.resize(specs.size());
    const std::size_t rows = rows_[id] - (id == shorter ? 1 : 0);
    fill(id, 0, rows, out);
    const std::span<std::byte> label = out.make(2, sizeof id);
    std::memcpy(label.data(), &id, sizeof id);
    if (specs.size() > 3) static_cast<void>(out.make(3, 0));
  }
  [[nodiscard]] bool read_rows(std::uint64_t id, std::uint64_t first, std::uint64_t count,
                               SampleParts& out) const override {
    if (!reads_rows) return false;
    read(id, out);
    fill(id, first, count, out);
    return true;
  }
  [[nodiscard]] std::string name_of(std::uint64_t id) const override {
    return "documents[" + std::to_string(id) + "]";
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_of("documents"); }
  [[nodiscard]] bool in_memory() const noexcept override { return mapped; }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override {
    if (!knows_lengths || axis != "tokens") return nullptr;
    return std::make_shared<StoredLengths>(rows_);
  }

  static constexpr std::uint64_t none = 1 << 30;
  std::uint64_t shorter = none;  ///< than its length says
  bool reads_rows = false;
  bool knows_lengths = true;
  bool mapped = false;
  std::vector<PartSpec> specs = {{.name = "tokens", .dtype = DType::i32, .axis = "tokens"},
                                 {.name = "loss_mask", .axis = "tokens"},
                                 {.name = "label", .dtype = DType::i64}};

 private:
  static void fill(std::uint64_t id, std::uint64_t first, std::uint64_t count, SampleParts& out) {
    const std::span<std::byte> tokens = out.make(0, count * sizeof(std::int32_t));
    const std::span<std::byte> mask = out.make(1, count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto token = static_cast<std::int32_t>(1000 * id + first + i);
      std::memcpy(tokens.data() + i * sizeof token, &token, sizeof token);
      mask[i] = static_cast<std::byte>(token % 2);
    }
  }
  std::vector<std::uint32_t> rows_;
};

PipelineOptions limited(std::shared_ptr<const Source> source, std::uint64_t max_tokens,
                        Overlong overlong) {
  PipelineOptions options;
  options.source = std::move(source);
  options.recipe.max_tokens = max_tokens;
  options.recipe.overlong = overlong;
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

std::vector<std::int32_t> tokens_of(const MadeSample& made) {
  std::vector<std::int32_t> tokens(made.rows()[0]);
  if (!tokens.empty()) std::memcpy(tokens.data(), made.field(0).data(), made.field(0).size());
  return tokens;
}

/// The samples that a limit should make, as lists of tokens.
std::multiset<std::vector<std::int32_t>> expected(const std::vector<std::uint32_t>& lengths,
                                                  std::uint32_t most, Overlong overlong) {
  std::multiset<std::vector<std::int32_t>> samples;
  for (std::uint32_t id = 0; id < lengths.size(); ++id) {
    const auto piece = [&](std::uint32_t first, std::uint32_t end) {
      std::vector<std::int32_t> tokens;
      for (std::uint32_t j = first; j < end; ++j) {
        tokens.push_back(static_cast<std::int32_t>(1000 * id + j));
      }
      samples.insert(tokens);
    };
    if (lengths[id] <= most) {
      piece(0, lengths[id]);
    } else if (overlong == Overlong::truncate) {
      piece(0, most);
    } else if (overlong == Overlong::split) {
      for (std::uint32_t first = 0; first < lengths[id]; first += most) {
        piece(first, std::min(first + most, lengths[id]));
      }
    }
  }
  return samples;
}

constexpr Overlong cuts[] = {Overlong::truncate, Overlong::drop, Overlong::split};

}  // namespace

TEST_CASE("documents beyond max_tokens are truncated, dropped or split, and all tokens counted",
          "[max_tokens]") {
  const auto seed = std::random_device()();
  INFO("seed " << seed);
  std::mt19937 engine(seed);
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  for (int round = 0; round < 60; ++round) {
    std::vector<std::uint32_t> lengths(random() % 40 + 3);
    for (std::uint32_t& rows : lengths) rows = random() % 4 == 0 ? 0 : random() % 50;
    lengths[random() % lengths.size()] = 3;  // one at least is short
    const std::uint32_t most = random() % 20 + 3;
    const Overlong overlong = cuts[random() % 3];
    const std::uint64_t shards = random() % 2 + 1;
    const auto source = std::make_shared<Documents>(lengths);
    source->reads_rows = random() % 2 == 0;
    const auto all = expected(lengths, most, overlong);
    const auto packs = random() % 2 == 0;
    INFO("round " << round << ": max_tokens " << most << ", " << name_of(overlong));
    if (all.size() < shards) continue;

    constexpr std::uint64_t epochs = 3;
    std::vector<std::multiset<std::vector<std::int32_t>>> came(epochs);
    TokenAccount account;
    for (std::uint64_t shard = 0; shard < shards; ++shard) {
      PipelineOptions options = limited(source, most, overlong);
      options.shard = {shard, shards};
      if (packs) {
        options.recipe.order = OrderMode::packed;
        options.recipe.packed = {"tokens", 64, 16};
      }
      const Pipeline pipeline(std::move(options));
      account = *pipeline.token_account();
      REQUIRE(pipeline.samples_per_epoch() == all.size() / shards);
      REQUIRE(pipeline.source().size() == all.size());
      const auto worker = pipeline.worker();
      MadeSample made(pipeline.schema());
      std::uint64_t tokens = 0;
      std::uint64_t trained = 0;
      for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
        for (std::uint64_t i = 0; i < pipeline.samples_per_epoch(); ++i) {
          worker->make_apart(epoch, i, made);
          const std::vector<std::int32_t> rows = tokens_of(made);
          REQUIRE((*pipeline.lengths("tokens"))[made.sample_id] == rows.size());
          for (std::size_t j = 0; j < rows.size(); ++j) {
            REQUIRE(made.field(1)[j] == static_cast<std::byte>(rows[j] % 2));
            trained += static_cast<std::uint64_t>(rows[j] % 2);
          }
          std::int64_t label = 0;
          std::memcpy(&label, made.field(2).data(), sizeof label);
          REQUIRE((rows.empty() || rows.front() / 1000 == label));
          tokens += rows.size();
          came[epoch].insert(rows);
        }
      }
      CHECK(pipeline.made_tokens().tokens == tokens);
      CHECK(pipeline.made_tokens().trained == trained);
    }
    std::uint64_t delivered = 0;
    for (const auto& sample : all) delivered += sample.size();
    CHECK(account.documents == lengths.size());
    CHECK(account.delivered == delivered);
    CHECK(account.samples == all.size());
    CHECK(account.is_complete());
    for (const auto& epoch : came) {
      if (all.size() % shards == 0) {
        CHECK(epoch == all);
      } else {
        CHECK(std::includes(all.begin(), all.end(), epoch.begin(), epoch.end()));
      }
    }
  }
}

TEST_CASE("what is read of documents is delivered, truncated and dropped", "[max_tokens]") {
  const auto source = std::make_shared<Documents>(std::vector<std::uint32_t>{3, 10, 0, 4, 25});
  const auto account = [&](std::uint64_t max_tokens, Overlong overlong) {
    return *Pipeline(limited(source, max_tokens, overlong)).token_account();
  };
  CHECK(account(0, Overlong::error) == TokenAccount{5, 42, 5, 42});
  CHECK(account(25, Overlong::error) == TokenAccount{5, 42, 5, 42});
  CHECK(account(4, Overlong::truncate) == TokenAccount{5, 42, 5, 15, 2, 27});
  CHECK(account(4, Overlong::drop) == TokenAccount{5, 42, 3, 7, 0, 0, 2, 35});
  CHECK(account(4, Overlong::split) == TokenAccount{5, 42, 13, 42, 0, 0, 0, 0, 2});
  const Pipeline split(limited(source, 4, Overlong::split));
  CHECK(split.source().name_of(1) == "documents[1], tokens 0 to 3");
  CHECK(split.source().name_of(3) == "documents[1], tokens 8 to 9");
  CHECK(split.source().name_of(4) == "documents[2]");
  for (std::uint64_t id = 0; id < 13; ++id) {
    CHECK(split.source().plain_name_of(id) == split.source().name_of(id));
  }
}

TEST_CASE("max_tokens and overlong are part of a stream's identity", "[max_tokens]") {
  const auto source = std::make_shared<Documents>(std::vector<std::uint32_t>{3, 10, 4});
  std::set<std::string> identities;
  for (const Overlong overlong : cuts) {
    for (const std::uint64_t max_tokens : {std::uint64_t{4}, std::uint64_t{5}}) {
      const Pipeline pipeline(limited(source, max_tokens, overlong));
      identities.insert(pipeline.identity().to_hex());
      CHECK(pipeline.identity() == Pipeline(limited(source, max_tokens, overlong)).identity());
    }
  }
  identities.insert(Pipeline(limited(source, 0, Overlong::error)).identity().to_hex());
  CHECK(identities.size() == 7);
}

TEST_CASE("max_tokens is refused where it cannot be kept", "[max_tokens]") {
  const std::vector<std::uint32_t> lengths = {3, 10, 4, 11};
  const auto source = std::make_shared<Documents>(lengths);
  CHECK_THAT(refusal(limited(source, 4, Overlong::error)),
             Contains("2 of 4 samples have more than max_tokens = 4 tokens; the longest is "
                      "`documents[3]` with 11") &&
                 Contains("\"truncate\", \"drop\" or \"split\""));
  CHECK(refusal(limited(source, 11, Overlong::error)).empty());
  CHECK_THAT(refusal(limited(source, 2, Overlong::drop)),
             Contains("all 4 samples have more than max_tokens = 2"));
  const auto unknown = std::make_shared<Documents>(lengths);
  unknown->knows_lengths = false;
  CHECK_THAT(refusal(limited(unknown, 4, Overlong::truncate)),
             Contains("`max_tokens` needs the lengths of all samples on the axis `tokens`"));
  const auto two_axes = std::make_shared<Documents>(lengths);
  two_axes->specs.push_back({.name = "boxes", .axis = "boxes"});
  CHECK_THAT(refusal(limited(two_axes, 4, Overlong::split)),
             Contains("cuts samples on the axis `tokens`, and this source has `tokens`, `boxes`"));
  CHECK(refusal(limited(two_axes, 4, Overlong::truncate)).empty());
}

TEST_CASE("a document that is shorter than its length says is a bad sample", "[max_tokens]") {
  const auto source = std::make_shared<Documents>(std::vector<std::uint32_t>{3, 10, 4});
  source->shorter = 1;
  PipelineOptions options = limited(source, 4, Overlong::split);
  options.recipe.order = OrderMode::sequential;
  const Pipeline pipeline(std::move(options));
  MadeSample made(pipeline.schema());
  CHECK_THROWS_WITH(pipeline.worker()->make_apart(0, 1, made),
                    Contains("its `tokens` has 36 bytes, and the lengths of its source say 40"));
}

TEST_CASE("recipes say max_tokens and overlong", "[max_tokens]") {
  const Recipe recipe = Recipe::from_toml("max_tokens = 7\noverlong = \"split\"\n", "r.toml");
  CHECK(recipe.max_tokens == 7);
  CHECK(recipe.overlong == Overlong::split);
  CHECK(Recipe::from_json(recipe.to_json()).to_json() == recipe.to_json());
  CHECK(Recipe::from_toml("", "r.toml").to_json().find("max_tokens") == std::string::npos);
  const auto refused = [](const char* toml) {
    try {
      static_cast<void>(Recipe::from_toml(toml, "r.toml"));
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK_THAT(refused("overlong = \"drop\"\n"), Contains("r.toml:1") && Contains("`max_tokens`"));
  CHECK_THAT(refused("max_tokens = 0\n"), Contains("r.toml:1"));
  CHECK_THAT(refused("max_tokens = 5\noverlong = \"cut\"\n"), Contains("r.toml:2"));
}
