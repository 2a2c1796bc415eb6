// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/stage/policy_picture.hpp"
#include "data/stage/stage_support.hpp"
#include "data/stage/table_rows.hpp"
#include "data/stage/timm_space.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Augmentation policies: choices as often as torchvision makes them, magnitudes and pixels as
// torchvision's, of which tests/oracle/policy_table.py has made policy.jsonl.
using namespace batchcast;
using namespace batchcast::test;
using namespace batchcast::detail;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

constexpr ImageSize size = picture_size;
constexpr auto fill = policy_fill;

Pixels picture() { return policy_picture(); }

template <class Function>
void with_scratch(Pixels& pixels, const Function& function) {
  std::vector<std::byte> scratch(timm_scratch_bytes(size, 3) + 64);
  void* start = scratch.data();
  std::size_t space = scratch.size();
  std::align(64, scratch.size() - 64, start, space);
  function(ImageView{pixels.data(), size, 3}, std::span(static_cast<std::byte*>(start), space));
}

void apply(Pixels& pixels, Operation operation, double magnitude, const WarpOptions& options) {
  with_scratch(pixels, [&](const ImageView& image, std::span<std::byte> scratch) {
    apply_operation(image, operation, magnitude, options, scratch);
  });
}

/// Runs a stage over the picture.
struct Run {
  Pixels pixels = picture();
  std::vector<Note> notes;

  Run(const PixelStage& stage, std::uint64_t sample_id) {
    std::vector<std::byte> scratch(stage.scratch_bytes(size, 3) + 64);
    void* start = scratch.data();
    std::size_t space = scratch.size();
    std::align(64, scratch.size() - 64, start, space);
    StageContext context({.seed = 8, .epoch = 0, .sample_id = sample_id}, DrawName{1},
                         {static_cast<std::byte*>(start), space}, &notes);
    stage.run({pixels.data(), size, 3}, context);
  }

  struct Applied {
    Operation operation;
    double magnitude;
  };
  [[nodiscard]] std::vector<Applied> applied() const {
    std::vector<Applied> all;
    for (const Note& note : notes) {
      if (note.key == "operation") {
        all.push_back({operation_named(note.text), 0});
      } else if (note.key == "magnitude") {
        all.back().magnitude = note.value;
      }
    }
    return all;
  }
};

/// Within five standard deviations of what a share of the runs is.
void check_share(std::size_t count, std::size_t runs, double share) {
  const double expected = share * static_cast<double>(runs);
  const double deviation = std::sqrt(expected * (1 - share));
  CHECK(std::abs(static_cast<double>(count) - expected) < 5 * deviation);
}

}  // namespace

TEST_CASE("policies make operations as strong as torchvision does, to the last bit") {
  const std::map<std::string, const PolicySpace*> spaces = {
      {"auto_augment", &auto_augment_space},
      {"rand_augment", &rand_augment_space},
      {"trivial_augment", &trivial_augment_space},
      {"aug_mix", &aug_mix_space}};
  std::map<std::string, std::size_t> operations;
  for (const Json& row : table_rows("policy.jsonl", "space")) {
    const auto magnitudes = row["magnitudes"].get<std::vector<double>>();
    const auto bins = static_cast<int>(magnitudes.size());
    const std::string space = row["space"];
    const Operation operation = operation_named(row["operation"].get<std::string>());
    ++operations[space + " of " + std::to_string(bins)];
    INFO(name_of(operation) << " of " << space << " of " << bins << " bins");
    for (int bin = 0; bin < bins; ++bin) {
      CHECK(magnitude_of(*spaces.at(space), operation, bins, bin, {224, 96}) ==
            magnitudes[static_cast<std::size_t>(bin)]);
    }
  }
  CHECK(operations == std::map<std::string, std::size_t>{{"auto_augment of 10", 11},
                                                         {"rand_augment of 31", 11},
                                                         {"rand_augment of 11", 11},
                                                         {"trivial_augment of 31", 11},
                                                         {"aug_mix of 10", 11}});
}

TEST_CASE("the operations of policies make torchvision's pixels") {
  std::size_t compared = 0;
  for (const Json& row : table_rows("policy.jsonl", "interpolation")) {
    const Operation operation = operation_named(row["operation"].get<std::string>());
    const std::string interpolation = row["interpolation"];
    const bool has_fill = row["fill"];
    const WarpOptions options = {interpolation == "nearest"    ? Interpolation::nearest
                                 : interpolation == "bilinear" ? Interpolation::bilinear
                                                               : Interpolation::bicubic,
                                 has_fill ? fill : std::array<std::uint8_t, 3>{}};
    for (const Json& made : row["digests"]) {
      Pixels pixels = picture();
      apply(pixels, operation, made[0], options);
      INFO(name_of(operation) << " by " << made[0] << ", " << interpolation << ", fill "
                              << has_fill);
      CHECK(digest(pixels) == made[1]);
      ++compared;
    }
  }
  CHECK(compared == 344);
}

TEST_CASE("the operations of timm's policy make timm's pixels") {
  const auto rows = table_rows("policy.jsonl", "timm");
  CHECK(rows.size() == 15);
  for (const Json& row : rows) {
    const Operation operation = operation_named(row["timm"].get<std::string>());
    for (const Json& made : row["digests"]) {
      const TimmOperation what{operation, made[0], made[1]};
      Pixels pixels = picture();
      with_scratch(pixels, [&](const ImageView& image, std::span<std::byte> scratch) {
        apply_timm_operation(image, what, {Interpolation::bicubic, fill}, scratch);
      });
      INFO(name_of(operation) << " at " << made[0] << ", negated " << made[1]);
      CHECK(digest(pixels) == made[2]);
    }
  }
}

TEST_CASE("auto_augment's pairs make torchvision's pixels") {
  const auto rows = table_rows("policy.jsonl", "policy");
  REQUIRE(rows.size() == auto_augment_policy_names.size());
  for (std::size_t policy = 0; policy < rows.size(); ++policy) {
    CHECK(rows[policy]["policy"] == auto_augment_policy_names[policy]);
    const Json& digests = rows[policy]["digests"];
    REQUIRE(digests.size() == 25);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      Pixels pixels = picture();
      for (const AutoAugmentStep& step :
           auto_augment_pairs(static_cast<AutoAugmentPolicy>(policy))[i]) {
        if (step.tenths / 10.0 < 0.25) continue;
        const double magnitude =
            magnitude_of(auto_augment_space, step.operation, 10, step.bin, size).value_or(0);
        apply(pixels, step.operation, is_signed(step.operation) ? -magnitude : magnitude,
              {Interpolation::nearest, fill});
      }
      INFO("pair " << i << " of " << auto_augment_policy_names[policy]);
      CHECK(digest(pixels) == digests[i]);
    }
  }
}

TEST_CASE("policies choose as often as torchvision, and do what they say", "[statistics]") {
  constexpr std::size_t runs = 3000;
  const auto count = [&](const std::string& stage_text, std::size_t each) {
    const auto stage = stage_as<PixelStage>(stage_text);
    std::map<Operation, std::size_t> chosen;
    std::size_t back = 0;
    std::size_t with_sign = 0;
    for (std::uint64_t id = 0; id < runs; ++id) {
      const Run run(*stage, id);
      const auto applied = run.applied();
      REQUIRE(applied.size() == each);
      Pixels expected = picture();
      for (const auto& [operation, magnitude] : applied) {
        ++chosen[operation];
        with_sign += magnitude != 0 && is_signed(operation) ? 1U : 0U;
        back += magnitude < 0 ? 1U : 0U;
        if (id < 100) apply(expected, operation, magnitude, {});
      }
      if (id < 100) REQUIRE(run.pixels == expected);
    }
    REQUIRE(chosen.size() == 14);
    for (const auto& [operation, times] : chosen) check_share(times, each * runs, 1.0 / 14);
    check_share(back, with_sign, 0.5);
  };
  count(R"(stage = "rand_augment")", 2);
  count(R"(stage = "rand_augment", num_ops = 1, magnitude = 3, num_magnitude_bins = 7)", 1);
  count(R"(stage = "trivial_augment_wide")", 1);

  const auto timm = stage_as<PixelStage>(R"(stage = "timm_rand_augment", fill = [10, 200, 90])");
  std::map<Operation, std::size_t> of_timm;
  double level_sum = 0;
  std::size_t done = 0;
  for (std::uint64_t id = 0; id < runs; ++id) {
    const Run run(*timm, id);
    Pixels expected = picture();
    for (const auto& [operation, magnitude] : run.applied()) {
      ++of_timm[operation];
      ++done;
      level_sum += std::abs(magnitude);
      const TimmOperation what{operation, std::abs(magnitude), magnitude < 0};
      if (id >= 100) continue;
      with_scratch(expected, [&what = what](const ImageView& image, std::span<std::byte> scratch) {
        apply_timm_operation(image, what, {Interpolation::bicubic, fill}, scratch);
      });
    }
    if (id < 100) REQUIRE(run.pixels == expected);
  }
  check_share(done, 2 * runs, 0.5);
  REQUIRE(of_timm.size() == 15);
  for (const auto& [operation, times] : of_timm) check_share(times, 2 * runs, 1.0 / 30);
  // Normal about 9 with 0.5, and cut off at 10, which takes 0.0085 × 0.5 off the mean.
  CHECK(std::abs(level_sum / static_cast<double>(done) - 8.996) < 5 * 0.5 / std::sqrt(3000.0));

  const auto stage = stage_as<PixelStage>(R"(stage = "auto_augment", policy = "cifar10")");
  std::array<std::size_t, 25> pairs{};
  std::size_t rotated = 0;
  for (std::uint64_t id = 0; id < runs; ++id) {
    const Run run(*stage, id);
    ++pairs.at(static_cast<std::size_t>(note_of(run.notes, "auto_augment")));
    for (const auto& [operation, magnitude] : run.applied()) {
      rotated += operation == Operation::rotate ? 1U : 0U;
    }
  }
  for (const std::size_t times : pairs) check_share(times, runs, 1.0 / 25);
  check_share(rotated, pairs[1], 0.7);
}

TEST_CASE("aug_mix mixes chains of operations with the image by shares of one whole") {
  const auto stage = stage_as<PixelStage>(R"(stage = "aug_mix", alpha = 0.7)");
  double original_sum = 0;
  std::map<std::size_t, std::size_t> depths;
  for (std::uint64_t id = 0; id < 600; ++id) {
    const Run run(*stage, id);
    const Pixels before = picture();
    std::vector<float> mix;
    const auto original = static_cast<float>(note_of(run.notes, "original"));
    for (const std::uint8_t level : before) mix.push_back(original * static_cast<float>(level));
    double sum = static_cast<double>(original);
    original_sum += sum;
    Pixels chain = before;
    std::size_t depth = 0;
    const std::vector<Run::Applied> applied = run.applied();
    std::size_t next = 0;
    for (const Note& note : run.notes) {
      if (note.key == "operation") {
        const auto& [operation, magnitude] = applied[next++];
        apply(chain, operation, magnitude, {Interpolation::bilinear, {}});
        ++depth;
      } else if (note.key == "share") {
        const auto share = static_cast<float>(note.value);
        sum += note.value;
        for (std::size_t i = 0; i < mix.size(); ++i) {
          mix[i] += share * static_cast<float>(chain[i]);
        }
        ++depths[std::exchange(depth, 0)];
        chain = before;
      }
    }
    REQUIRE(std::abs(sum - 1) < 1e-5);
    bool same = true;
    for (std::size_t i = 0; i < mix.size(); ++i) {
      same = same && run.pixels[i] == static_cast<std::uint8_t>(std::min(mix[i], 255.0F));
    }
    REQUIRE(same);
  }
  // Beta(0.7, 0.7) has the mean 1/2 and the variance 1 / (4 × 2.4).
  CHECK(std::abs(original_sum / 600 - 0.5) < 5 * std::sqrt(1 / 9.6 / 600));
  REQUIRE(depths.size() == 3);
  for (const auto& [depth, times] : depths) check_share(times, 1800, 1.0 / 3);
}

TEST_CASE("policies take torchvision's parameters, and refuse what cannot be") {
  CHECK(stage_of(R"(stage = "rand_augment")")->parameters_json() ==
        R"({"fill":[0],"interpolation":"nearest","magnitude":9,"num_magnitude_bins":31,)"
        R"("num_ops":2})");
  CHECK(stage_of(R"(stage = "auto_augment")")->parameters_json() ==
        R"({"fill":[0],"interpolation":"nearest","policy":"imagenet"})");
  CHECK(stage_of(R"(stage = "aug_mix")")->parameters_json() ==
        R"({"all_ops":true,"alpha":1.0,"chain_depth":-1,"fill":[0],"interpolation":"bilinear",)"
        R"("mixture_width":3,"severity":3})");
  CHECK_THAT(refusal_of(R"(stage = "auto_augment", policy = "imagnet")"),
             Contains("Did you mean `imagenet`?"));
  CHECK_THAT(refusal_of(R"(stage = "rand_augment", magnitude = 31)"),
             Contains("must be below `num_magnitude_bins`, which is 31"));
  CHECK(refusal_of(R"(stage = "rand_augment", num_ops = 33)") != "");
  // It would do nothing without a word.
  for (const std::string name : {"rand_augment", "timm_rand_augment"}) {
    CHECK_THAT(refusal_of("stage = \"" + name + "\", num_ops = 0"),
               Contains("`num_ops` must be from 1 to 32, not 0"));
  }
  CHECK(refusal_of(R"(stage = "trivial_augment_wide", num_magnitude_bins = 1)") != "");
  CHECK_THAT(refusal_of(R"(stage = "trivial_augment_wide", interpolation = "lanczos")"),
             Contains("must be one of nearest, bilinear, bicubic"));
  CHECK(refusal_of(R"(stage = "aug_mix", severity = 11)") != "");
  CHECK(refusal_of(R"(stage = "aug_mix", alpha = 0)") != "");
  CHECK(refusal_of(R"(stage = "aug_mix", fill = [1, 2])") != "");
  CHECK_THROWS_WITH(
      stage_as<PixelStage>(R"(stage = "rand_augment", fill = [1, 2, 3])")->output_channels(1),
      Contains("rand_augment has a `fill` of 3 numbers, and the image 1 channel."));
}
