// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/pixels/level_rows.hpp"
#include "data/stage/policy_picture.hpp"
#include "data/stage/stage_support.hpp"
#include "data/stage/table_rows.hpp"
#include "data/stage/timm_space.hpp"

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

// timm's policies: choices as often as timm makes them, and the pixels that timm makes with PIL, of
// which tests/oracle/policy_table.py has made policy.jsonl.
using namespace batchcast;
using namespace batchcast::test;
using namespace batchcast::detail;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

constexpr WarpOptions bicubic{Interpolation::bicubic, policy_fill};

void apply_timm(Pixels& pixels, const TimmOperation& what, const WarpOptions& options) {
  StageScratch scratch(timm_scratch_bytes(picture_size, 3));
  apply_timm_operation({pixels.data(), picture_size, 3}, what, options, scratch.span());
}

/// One sample through a stage.
struct Run {
  Pixels pixels = policy_picture();
  std::vector<Note> notes;

  Run(const PixelStage& stage, std::uint64_t sample_id) {
    pixels = run_pixels(stage, pixels, picture_size, 3, sample_id, &notes);
  }

  /// What the notes say was done, in order; a blur's radius too.
  [[nodiscard]] std::vector<TimmOperation> applied(TimmScale scale) const {
    std::vector<TimmOperation> all;
    for (const Note& note : notes) {
      if (note.key == "operation") {
        all.push_back({operation_named(note.text), 0, false, scale});
      } else if (note.key == "magnitude") {
        all.back().level = std::abs(note.value);
        all.back().negates = std::signbit(note.value);
      } else if (note.key == "blur_radius") {
        all.back().radius = note.value;
      }
    }
    return all;
  }
};

void check_share(std::size_t count, std::size_t runs, double share) {
  const double expected = share * static_cast<double>(runs);
  const double deviation = std::sqrt(expected * (1 - share));
  CHECK(std::abs(static_cast<double>(count) - expected) < 5 * deviation + 1e-9);
}

TimmScale scale_named(const std::string& name) {
  if (name == "plain") return TimmScale::plain;
  return name == "original" ? TimmScale::original : TimmScale::increasing;
}

}  // namespace

TEST_CASE("timm's operations in all their forms make timm's pixels") {
  const auto rows = table_rows("policy.jsonl", "timm_form");
  CHECK(rows.size() == 17);
  for (const Json& row : rows) {
    const Operation operation = operation_named(row["timm_form"].get<std::string>());
    const TimmScale scale = scale_named(row["scale"]);
    for (const Json& made : row["digests"]) {
      const TimmOperation what{operation, made[0], made[1], scale, 0.3};
      Pixels pixels = policy_picture();
      apply_timm(pixels, {operation, made[0], is_signed(what) && what.negates, scale, 0.3},
                 bicubic);
      INFO(name_of(operation) << " " << row["scale"] << " at " << made[0] << ", negated "
                              << made[1]);
      CHECK(digest(pixels) == made[2]);
    }
  }
}

TEST_CASE("entries of timm's AutoAugment make timm's pixels") {
  const auto rows = table_rows("policy.jsonl", "timm_policy");
  REQUIRE(rows.size() == timm_policy_names.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto policy = static_cast<TimmPolicy>(i);
    CHECK(rows[i]["timm_policy"] == timm_policy_names[i]);
    const Json& digests = rows[i]["digests"];
    REQUIRE(digests.size() == timm_policy_size(policy));
    for (std::size_t entry = 0; entry < digests.size(); ++entry) {
      if (digests[entry] == "refused by Pillow 13") continue;
      Pixels pixels = policy_picture();
      for (std::size_t step = 0; step < timm_steps(policy); ++step) {
        auto [what, p] = timm_step(policy, entry, step);
        if (p < 0.25) continue;
        if (what.operation == Operation::gaussian_blur) what.radius = (0.1 + 2) / 2;
        apply_timm(pixels, what, bicubic);
      }
      INFO("entry " << entry << " of " << timm_policy_names[i]);
      CHECK(digest(pixels) == digests[entry]);
    }
  }
}

TEST_CASE("timm_rand_augment chooses from timm's lists with timm's weights") {
  const auto rows = table_rows("policy.jsonl", "timm_choices");
  REQUIRE(rows.size() == timm_choice_names.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(rows[i]["timm_choices"] == timm_choice_names[i]);
    const auto choices = timm_choices(static_cast<TimmChoices>(i));
    REQUIRE(rows[i]["operations"].size() == choices.size());
    for (std::size_t k = 0; k < choices.size(); ++k) {
      CHECK(rows[i]["operations"][k] == std::string(name_of(choices[k].operation)));
      CHECK(rows[i]["weights"][k] == choices[k].weight);
    }
  }
}

TEST_CASE("timm_rand_augment does what it notes, as often and as strongly as timm",
          "[statistics]") {
  constexpr std::size_t runs = 3000;
  struct Drawn {
    std::map<Operation, std::size_t> counts;
    std::vector<double> levels;
    std::size_t negated = 0;
    std::size_t with_sign = 0;
  };
  const auto draw = [&](const std::string& parameters, TimmScale scale) {
    const auto stage = stage_as<PixelStage>("stage = \"timm_rand_augment\", " + parameters);
    Drawn drawn;
    for (std::uint64_t id = 0; id < runs; ++id) {
      const Run run(*stage, id);
      Pixels expected = policy_picture();
      for (const TimmOperation& what : run.applied(scale)) {
        ++drawn.counts[what.operation];
        drawn.levels.push_back(what.level);
        drawn.with_sign += is_signed(what) ? 1U : 0U;
        drawn.negated += what.negates ? 1U : 0U;
        if (id < 60) apply_timm(expected, what, {Interpolation::bicubic, {}});
      }
      if (id < 60) REQUIRE(run.pixels == expected);
    }
    return drawn;
  };
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  };

  // Without increasing, enhancements and the like have no sign.
  const Drawn plain = draw("increasing = false, p = 1, num_ops = 3", TimmScale::plain);
  REQUIRE(plain.counts.size() == 15);
  for (const auto& [operation, count] : plain.counts) check_share(count, 3 * runs, 1.0 / 15);
  check_share(plain.with_sign, 3 * runs, 5.0 / 15);
  check_share(plain.negated, plain.with_sign, 0.5);

  // A deviation above 100 draws levels uniformly; above 10 they may lie with magnitude_max.
  const Drawn uniform =
      draw("magnitude = 15, magnitude_max = 20, magnitude_std = 101, p = 1", TimmScale::increasing);
  CHECK(std::abs(mean(uniform.levels) - 7.5) < 5 * 15 / std::sqrt(12.0 * 2 * runs));
  CHECK(*std::max_element(uniform.levels.begin(), uniform.levels.end()) > 14.9);
  CHECK(*std::max_element(uniform.levels.begin(), uniform.levels.end()) <= 15);
  const Drawn far =
      draw("magnitude = 15, magnitude_max = 20, magnitude_std = 3, p = 1", TimmScale::increasing);
  CHECK(*std::max_element(far.levels.begin(), far.levels.end()) == 20);

  const Drawn three = draw("operations = \"3a\", p = 1, num_ops = 1", TimmScale::increasing);
  REQUIRE(three.counts.size() == 3);
  for (const auto& [operation, count] : three.counts) check_share(count, runs, 1.0 / 3);

  // The first of those with weights has its share, and none comes twice.
  const Drawn first = draw("operations = \"weights\", p = 1, num_ops = 1", TimmScale::increasing);
  const auto share_of = [](TimmChoices which, Operation operation) {
    double sum = 0;
    double own = 0;
    for (const TimmChoice& choice : timm_choices(which)) {
      sum += choice.weight;
      if (choice.operation == operation) own = choice.weight;
    }
    return own / sum;
  };
  for (const auto& [operation, count] : first.counts) {
    check_share(count, runs, share_of(TimmChoices::weights, operation));
  }
  const auto all = stage_as<PixelStage>(
      R"(stage = "timm_rand_augment", operations = "3aw", p = 1, num_ops = 14)");
  std::map<Operation, std::size_t> last;
  for (std::uint64_t id = 0; id < 200; ++id) {
    auto operations = Run(*all, id).applied(TimmScale::increasing);
    std::ranges::sort(operations, {}, &TimmOperation::operation);
    REQUIRE(operations.size() == 14);
    for (std::size_t i = 1; i < operations.size(); ++i) {
      REQUIRE(operations[i].operation != operations[i - 1].operation);
    }
  }
}

TEST_CASE("timm_auto_augment does the steps of one entry, each with its probability",
          "[statistics]") {
  constexpr std::size_t runs = 3000;
  for (const char* name : {"original", "v0r"}) {
    const auto stage =
        stage_as<PixelStage>(std::string(R"(stage = "timm_auto_augment", policy = ")") + name +
                             "\", magnitude_std = 0.5");
    const auto policy = static_cast<TimmPolicy>(std::ranges::find(timm_policy_names, name) -
                                                timm_policy_names.begin());
    std::vector<std::size_t> entries(25);
    std::size_t turned = 0;  // of entry 5 of original, 2 of v0r: rotate
    double level_sum = 0;
    const std::size_t watched = policy == TimmPolicy::original ? 5 : 2;
    const auto [rotation, p] = timm_step(policy, watched, 1);
    for (std::uint64_t id = 0; id < runs; ++id) {
      const Run run(*stage, id);
      const auto entry = static_cast<std::size_t>(note_of(run.notes, "auto_augment"));
      ++entries.at(entry);
      for (const TimmOperation& what : run.applied(TimmScale::plain)) {
        if (entry != watched || what.operation != Operation::rotate) continue;
        ++turned;
        level_sum += what.level;
      }
    }
    for (const std::size_t count : entries) check_share(count, runs, 1.0 / 25);
    check_share(turned, entries[watched], p);
    CHECK(std::abs(level_sum / static_cast<double>(turned) - rotation.level) <
          5 * 0.5 / std::sqrt(static_cast<double>(turned)));
  }
  // Of 3a each entry is one operation.
  const auto three = stage_as<PixelStage>(R"(stage = "timm_auto_augment", policy = "3a")");
  double radius_sum = 0;
  std::size_t blurred = 0;
  for (std::uint64_t id = 0; id < runs; ++id) {
    const Run run(*three, id);
    const auto applied = run.applied(TimmScale::plain);
    REQUIRE(applied.size() == 1);
    Pixels expected = policy_picture();
    apply_timm(expected, applied[0], {Interpolation::bicubic, {}});
    REQUIRE(run.pixels == expected);
    if (!applied[0].radius) continue;
    ++blurred;
    radius_sum += *applied[0].radius;
  }
  check_share(blurred, runs, 1.0 / 3);
  CHECK(std::abs(radius_sum / static_cast<double>(blurred) - 1.05) <
        5 * 1.9 / std::sqrt(12.0 * static_cast<double>(blurred)));
}

TEST_CASE("timm_aug_mix mixes chains as timm does, and blends them with the image") {
  for (const bool blended : {false, true}) {
    const auto stage = stage_as<PixelStage>(
        std::string("stage = \"timm_aug_mix\", magnitude = 5, mixture_width = 4, alpha = 0.7, "
                    "fill = [10, 200, 90]") +
        (blended ? ", blended = true" : ""));
    double blend_sum = 0;
    double level_sum = 0;
    std::size_t levels = 0;
    std::map<double, std::size_t> depths;
    for (std::uint64_t id = 0; id < 300; ++id) {
      const Run run(*stage, id);
      std::vector<float> shares;
      std::vector<std::size_t> depth;
      for (const Note& note : run.notes) {
        if (note.key == "share") shares.push_back(static_cast<float>(note.value));
        if (note.key == "depth") depth.push_back(static_cast<std::size_t>(note.value));
      }
      REQUIRE(shares.size() == 4);
      REQUIRE(depth.size() == 4);
      const auto blend = static_cast<float>(note_of(run.notes, "blend"));
      blend_sum += static_cast<double>(blend);
      auto applied = run.applied(TimmScale::increasing);
      std::size_t next = 0;
      std::vector<Pixels> chains;
      for (const std::size_t count : depth) {
        ++depths[static_cast<double>(count)];
        chains.push_back(policy_picture());
        for (std::size_t i = 0; i < count; ++i) {
          TimmOperation what = applied.at(next++);
          level_sum += what.level;
          ++levels;
          what.translation = 0.3;
          apply_timm(chains.back(), what, bicubic);
        }
      }
      REQUIRE(next == applied.size());
      Pixels expected = policy_picture();
      const auto mix_in = [&](const Pixels& other, float weight) {
        blend_rows(expected.data(), other.data(), other.size(), weight, expected.data());
      };
      if (blended) {
        std::vector<float> weights(4);
        float left = 1;
        for (std::size_t i = 4; i-- > 0;) {
          weights[i] = shares[i] * blend / left;
          left *= 1 - weights[i];
        }
        for (std::size_t i = 0; i < 4; ++i) mix_in(chains[i], weights[i]);
      } else {
        Pixels mixed(expected.size());
        for (std::size_t i = 0; i < mixed.size(); ++i) {
          float sum = 0;
          for (std::size_t c = 0; c < 4; ++c) sum += shares[c] * static_cast<float>(chains[c][i]);
          mixed[i] = static_cast<std::uint8_t>(std::min(sum, 255.0F));
        }
        mix_in(mixed, blend);
      }
      REQUIRE(run.pixels == expected);
    }
    CHECK(std::abs(blend_sum / 300 - 0.5) < 5 * std::sqrt(1 / 9.6 / 300));
    // Without magnitude_std levels are uniform from 0 to the magnitude.
    CHECK(std::abs(level_sum / static_cast<double>(levels) - 2.5) <
          5 * 5 / std::sqrt(12.0 * static_cast<double>(levels)));
    REQUIRE(depths.size() == 3);
    for (const auto& [depth, count] : depths) check_share(count, 1200, 1.0 / 3);
  }
}

TEST_CASE("timm's policies refuse what timm cannot do") {
  CHECK_THAT(refusal_of(R"(stage = "timm_rand_augment", magnitude = 11)"),
             Contains("must be at most `magnitude_max`, which is 10, not 11"));
  CHECK(refusal_of(R"(stage = "timm_rand_augment", magnitude = 11, magnitude_max = 12)").empty());
  CHECK_THAT(
      refusal_of(R"(stage = "timm_rand_augment", operations = "weights", num_ops = 16)"),
      Contains("must be at most 15, since operations with weights are chosen once each, not 16"));
  CHECK_THAT(refusal_of(R"(stage = "timm_rand_augment", operations = "3a", increasing = false)"),
             Contains("must be true where `operations` is not \"all\""));
  CHECK_THAT(refusal_of(R"(stage = "timm_rand_augment", operations = "3b")"), Contains("3aw"));
  CHECK_THAT(refusal_of(R"(stage = "timm_auto_augment", policy = "v1")"), Contains("originalr"));
  CHECK_THAT(refusal_of(R"(stage = "timm_aug_mix", magnitude = 11)"), Contains("from 0 to 10"));
  CHECK(stage_as<PixelStage>(R"(stage = "timm_auto_augment")")->moves_pixels());
}
