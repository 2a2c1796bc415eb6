// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/grid.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>
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
  bool finish_on_gpu = false;        ///< see Dataset::device_stage
  std::optional<std::string> cache;  ///< as CacheOptions::parse reads it
  // Of texts, which become tokens before they are served.
  std::optional<std::string> tokenizer;
  std::optional<std::string> chat_template;
  std::optional<std::string> train_on;
  bool no_eos = false;
  std::optional<std::string> corpus;  ///< the folder of what was made
  // Of `synthetic:` alone.
  std::optional<std::string> dtype;
  std::optional<std::uint64_t> samples;
  std::optional<std::string> order;
  Budget pack = {};  ///< of the order `packed`, as the next one
  std::optional<std::uint64_t> among;
  std::optional<std::uint64_t> max_tokens;
  std::optional<std::string> overlong;
  std::optional<std::uint64_t> epochs;  ///< of the stream, which a synthetic recipe names
};

/// Puts the number of this node in the place of `--shard auto`, and says so on stderr. Throws
/// InvalidArgument where no launcher tells it.
void settle_shard(DatasetOptions& options);
/// The cache that they ask for. A stream of one epoch has none in memory, where nothing would be
/// read from it again. Throws InvalidArgument.
[[nodiscard]] CacheOptions cache_of(const DatasetOptions& options);
/// Whether any of them was given, and is not its default.
[[nodiscard]] bool says_what_to_make(const DatasetOptions& options) noexcept;

/// How full batches of the order `packed` are, as a part of its budget. It is of the first samples
/// of epoch 0. `shuffled` is what they would be in the order `reshuffle`.
struct PackedFill {
  PackedOptions order;
  double packed = 0;
  double shuffled = 0;
};

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
  /// By which the stream is laid out for the job whose ranks it serves, with `--shard blocks`.
  [[nodiscard]] const std::optional<Grid>& grid() const noexcept { return grid_; }
  /// By another grid from now on. No producer may serve it meanwhile.
  void lay_out(const Grid& grid);
  /// Null for `synthetic:`.
  [[nodiscard]] const Pipeline* pipeline() const noexcept { return pipeline_; }
  /// Nothing in another order, and where there are too few samples for a batch.
  [[nodiscard]] const std::optional<PackedFill>& packed_fill() const noexcept { return fill_; }
  /// See Pipeline.
  [[nodiscard]] std::optional<TokenAccount> token_account() const {
    return pipeline_ == nullptr ? std::nullopt : pipeline_->token_account();
  }
  [[nodiscard]] MadeTokens made_tokens() const noexcept {
    return pipeline_ == nullptr ? MadeTokens() : pipeline_->made_tokens();
  }
  [[nodiscard]] std::uint64_t bad_samples() const noexcept {
    return pipeline_ == nullptr ? 0 : pipeline_->bad_samples();
  }
  [[nodiscard]] StandIns stand_ins() const {
    return pipeline_ == nullptr ? StandIns{} : pipeline_->stand_ins();
  }
  [[nodiscard]] CacheStats cache_stats() const {
    return pipeline_ == nullptr ? CacheStats() : pipeline_->cache_stats();
  }

 private:
  std::unique_ptr<SampleMaker> maker_;
  std::shared_ptr<const DeviceStage> device_stage_;
  Pipeline* pipeline_ = nullptr;
  std::optional<Grid> grid_;
  std::optional<PackedFill> fill_;
};

/// `11 bad samples, for which 1 other stood in 24 times`; empty where none is bad.
[[nodiscard]] std::string bad_samples_text(std::uint64_t bad, const StandIns& stand_ins);

[[nodiscard]] bool is_synthetic(const std::string& source) noexcept;
[[nodiscard]] bool is_preset(const std::string& name) noexcept;

}  // namespace batchcast::inline v0_1::serving
