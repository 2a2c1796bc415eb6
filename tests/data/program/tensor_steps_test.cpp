// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/program/tensor_steps.hpp"

#include "catch.hpp"

#include <batchcast/core/error.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

// Tensor stages, one after the other: where each of them reads and writes.
using namespace batchcast;
using Catch::Contains;

namespace {

/// Adds 1 to each byte, where it lies; `grows`: and says that more come out.
class AddOne final : public TensorStage {
 public:
  explicit AddOne(bool grows = false) : grows_(grows) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "add_one"; }
  [[nodiscard]] std::string parameters_json() const override { return "{}"; }
  [[nodiscard]] bool in_place() const noexcept override { return true; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override {
    return {in.dtype, {in.shape[0] + (grows_ ? 1 : 0)}};
  }
  void run(std::span<const std::byte> in, std::span<std::byte> out,
           StageContext& /*context*/) const override {
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = std::byte(std::to_integer<int>(in[i]) + 1);
  }

 private:
  bool grows_;
};

/// The bytes twice; `sized`: else it does not say how many that are.
class Twice final : public TensorStage {
 public:
  explicit Twice(bool sized = true) : sized_(sized) {}
  [[nodiscard]] std::string_view name() const noexcept override { return "twice"; }
  [[nodiscard]] std::string parameters_json() const override { return "{}"; }
  [[nodiscard]] TensorSpec output(const TensorSpec& in) const override {
    return {in.dtype, {sized_ ? 2 * in.shape[0] : -1}};
  }
  void run(std::span<const std::byte> in, std::span<std::byte> out,
           StageContext& /*context*/) const override {
    REQUIRE(in.data() != out.data());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[i % in.size()];
  }

 private:
  bool sized_;
};

detail::TensorSteps steps_of(const std::vector<std::shared_ptr<const Stage>>& stages) {
  std::vector<detail::NamedStage> named;
  for (const auto& stage : stages) named.push_back({stage, {}});
  return {"x", {DType::u8, {2}}, named};
}

}  // namespace

TEST_CASE("steps hand on what they make, in place or not, and leave the input as it is") {
  // Each bit of `kinds` is a step: one that moves bytes, or one that works in place.
  for (unsigned count = 0; count <= 5; ++count) {
    for (unsigned kinds = 0; kinds < (1U << count); ++kinds) {
      std::vector<std::shared_ptr<const Stage>> stages;
      std::vector<std::byte> expected = {std::byte{10}, std::byte{20}};
      const std::vector<std::byte> input = expected;
      for (unsigned step = 0; step < count; ++step) {
        if ((kinds >> step & 1U) != 0) {
          stages.push_back(std::make_shared<Twice>());
          expected.insert(expected.end(), expected.begin(), expected.end());
        } else {
          stages.push_back(std::make_shared<AddOne>());
          for (std::byte& byte : expected) byte = std::byte(std::to_integer<int>(byte) + 1);
        }
      }
      const detail::TensorSteps steps = steps_of(stages);
      INFO(count << " steps, " << kinds);
      REQUIRE(steps.output().byte_count() == expected.size());
      detail::TensorSteps::Run run(steps);
      const std::vector<std::byte> given = input;
      for (int time = 0; time < 2; ++time) {
        std::vector<std::byte> out(expected.size());
        run.finish_from(given, {}, out);
        CHECK(out == expected);
      }
      CHECK(given == input);
    }
  }
}

TEST_CASE("where every step works in place, the input is written where the sample goes") {
  std::vector<std::byte> out(4);
  const detail::TensorSteps in_place = steps_of({std::make_shared<AddOne>()});
  CHECK(detail::TensorSteps::Run(in_place).input_place(out).data() == out.data());
  const detail::TensorSteps moving =
      steps_of({std::make_shared<AddOne>(), std::make_shared<Twice>()});
  detail::TensorSteps::Run run(moving);
  CHECK(run.input_place(out).data() != out.data());
  CHECK(run.input_place(out).size() == 2);
}

TEST_CASE("a step whose output cannot be laid out is refused, with its field and name") {
  CHECK_THROWS_WITH(
      steps_of({std::make_shared<Twice>(false)}),
      Contains("`twice` of the field `x`") && Contains("what comes out of it has no known size"));
  CHECK_THROWS_WITH(steps_of({std::make_shared<AddOne>(true)}),
                    Contains("`add_one` of the field `x`") &&
                        Contains("works in place but gives another number of bytes"));
}
