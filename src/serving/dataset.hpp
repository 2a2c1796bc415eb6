// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/data/maker.hpp>
#include <batchcast/data/pipeline.hpp>
#include <batchcast/data/source.hpp>
#include <batchcast/device_stage.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

// What all that makes samples asks for, and the maker that comes of it.
namespace batchcast::inline v0_1::serving {

struct DatasetOptions {
  std::string source;
  std::optional<std::string> recipe;
  std::optional<std::uint64_t> seed;
  std::optional<std::string> shard;
  std::optional<std::string> on_bad_sample;
  std::optional<std::uint64_t> bad_samples_max;
  std::optional<std::string> bad_list;
  bool finish_on_gpu = false;  ///< see Dataset::device_stage
  // Of `synthetic:` alone.
  std::optional<std::string> dtype;
  std::optional<std::uint64_t> samples;
  std::optional<std::string> order;
  std::optional<std::uint64_t> epochs;  ///< of the stream, which a synthetic recipe names
};

/// Puts the number of this node in the place of `--shard auto`, and says so on stderr. Throws
/// InvalidArgument where no launcher tells it.
void settle_shard(DatasetOptions& options);
/// Whether any of them was given, and is not its default.
[[nodiscard]] bool says_what_to_make(const DatasetOptions& options) noexcept;

/// What a source and its options amount to.
class Dataset {
 public:
  /// Opens the source and prints what it remarks on stderr. Bad samples that are substituted go to
  /// the file that was asked for, and to `log`. Where there is an `opened` source, the options'
  /// one is only its name. Throws InvalidArgument, BadDataset, SystemError.
  Dataset(const DatasetOptions& options, const LogCallback& log,
          std::shared_ptr<const Source> opened = nullptr);

  [[nodiscard]] const SampleMaker& maker() const noexcept { return *maker_; }
  /// What is left to GPUs of what was asked for; null if nothing is. The maker then makes u8 images
  /// for it.
  [[nodiscard]] const std::shared_ptr<const DeviceStage>& device_stage() const noexcept {
    return device_stage_;
  }
  /// Null for `synthetic:`.
  [[nodiscard]] const Pipeline* pipeline() const noexcept { return pipeline_; }
  [[nodiscard]] std::uint64_t bad_samples() const noexcept {
    return pipeline_ == nullptr ? 0 : pipeline_->bad_samples();
  }

 private:
  std::unique_ptr<SampleMaker> maker_;
  std::shared_ptr<const DeviceStage> device_stage_;
  const Pipeline* pipeline_ = nullptr;
};

[[nodiscard]] bool is_synthetic(const std::string& source) noexcept;
[[nodiscard]] bool is_preset(const std::string& name) noexcept;

}  // namespace batchcast::inline v0_1::serving
