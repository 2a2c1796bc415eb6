// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/program/field_program.hpp"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Memory that grows to what was asked for, aligned to 64 and uninitialised.
class Scratch {
 public:
  [[nodiscard]] std::span<std::byte> of(std::size_t byte_count);

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t capacity_ = 0;
};

/// One view of one sample.
struct ViewInput {
  SampleKey key;
  std::uint32_t view = 0;
  std::vector<Note>* notes = nullptr;  ///< null: the caller wants none
};

/// The tensor stages at a field's end.
class TensorSteps {
 public:
  /// Throws InvalidArgument, naming the field, where a stage refuses its input.
  TensorSteps(const std::string& field, TensorSpec input, std::span<const NamedStage> stages);

  [[nodiscard]] const TensorSpec& output() const noexcept { return output_; }
  [[nodiscard]] const TensorSpec& input() const noexcept { return input_; }

  /// A thread's run through the steps.
  class Run {
   public:
    explicit Run(const TensorSteps& steps) : steps_(steps) {}
    /// Where to write the input so that `finish` can start from it: `out` itself where every step
    /// works in place.
    [[nodiscard]] std::span<std::byte> input_place(std::span<std::byte> out);
    /// Runs all steps over the input there; the last step's output is in `out`.
    void finish(const ViewInput& sample, std::span<std::byte> out);
    /// The same from bytes that the caller owns, which stay as they are.
    void finish_from(std::span<const std::byte> input, const ViewInput& sample,
                     std::span<std::byte> out);

   private:
    /// Runs the steps from `first` on, over `current`.
    void go_on(std::size_t first, std::span<std::byte> current, const ViewInput& sample,
               std::span<std::byte> out);
    /// Where a step that is not in place writes.
    [[nodiscard]] std::span<std::byte> place_of(std::size_t step, std::span<std::byte> out);
    void run(std::size_t step, std::span<const std::byte> in, std::span<std::byte> out,
             const ViewInput& sample);

    const TensorSteps& steps_;
    Scratch buffers_[2];
    Scratch scratch_;
  };

 private:
  struct Step {
    std::shared_ptr<const Stage> owner;
    const TensorStage* stage = nullptr;
    DrawName draws;
    TensorSpec in;
    TensorSpec out;
    std::size_t scratch_bytes = 0;
    bool in_place = false;
    std::size_t buffer = 0;  ///< of the result, where that is not the slot
    std::string path;
  };
  TensorSpec input_;
  TensorSpec output_;
  std::vector<Step> steps_;
  std::size_t last_moving_ = 0;  ///< the last step that is not in place, counted from 1; 0: none
};

}  // namespace batchcast::inline v0_1::detail
