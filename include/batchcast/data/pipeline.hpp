// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/data/cache_options.hpp>
#include <batchcast/data/maker.hpp>
#include <batchcast/data/recipe.hpp>
#include <batchcast/data/source.hpp>
#include <batchcast/data/token_account.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {
namespace detail {
struct PipelineCore;
}

/// What happens to a sample that cannot be made.
enum class OnBadSample : std::uint8_t {
  error,       ///< BadSample, with its name and the reason
  substitute,  ///< the sample of the next index replaces it
};

struct BadSampleReport {
  std::uint64_t sample_id = 0;
  std::string name;
  std::string reason;
};

/// The samples that were made in the place of bad ones so far.
struct StandIns {
  std::uint64_t samples = 0;  ///< different ones
  std::uint64_t times = 0;    ///< how often one of them was made for a bad one
};

struct PipelineOptions {
  std::shared_ptr<const Source> source = {};
  /// The source as the user named it, for messages and the board. The identity does not include it.
  std::string location = {};
  Recipe recipe = {};
  std::uint64_t seed = 0;
  Shard shard = {};
  /// Instead of a shard: what the ranks of one node get of a job on several. See `lay_out`.
  std::optional<Grid> grid = {};
  OnBadSample on_bad_sample = OnBadSample::error;
  /// With `substitute`: how many different samples may be bad before that is an error.
  std::uint64_t bad_samples_max = 1000;
  /// Called once for each bad sample, from the thread that met it, one at a time.
  std::function<void(const BadSampleReport&)> on_bad = {};
  /// Threads that read samples ahead of the workers, where reading takes long; 0: no such threads.
  unsigned read_ahead_threads = 64;
  /// Keeps coefficients of JPEGs from one epoch to the next.
  CacheOptions cache = {};
};

/// What was drawn for one sample.
struct SampleTrace {
  struct Field {
    std::string name;
    std::vector<std::vector<Note>> views;  ///< one list for each; a field without views has one
  };
  std::uint64_t sample_id = 0;
  std::string path;
  std::vector<Field> fields;
};

/// A source and a recipe: sample(position) with every stage compiled. The constructor throws
/// InvalidArgument where the recipe's stages do not fit together or not to the source.
class Pipeline final : public SampleMaker {
 public:
  explicit Pipeline(PipelineOptions options);
  ~Pipeline() override;

  [[nodiscard]] const Schema& schema() const noexcept override;
  /// Another grid instead of the present one. No worker may be there, and no other thread may use
  /// the pipeline meanwhile. Its cache stays. Throws InvalidArgument.
  void lay_out(const Grid& grid);
  /// Samples of an epoch of this shard, or of this node.
  [[nodiscard]] std::uint64_t samples_per_epoch() const noexcept override;
  [[nodiscard]] std::string recipe_json() const override;
  [[nodiscard]] std::unique_ptr<SampleWorker> worker() const override;
  [[nodiscard]] bool know_ids(std::uint64_t epoch, std::uint64_t index,
                              std::span<std::uint64_t> ids) const override;

  /// The stream's identity: recipe, seed, shard, N and the source's fingerprint. With a grid that
  /// is not whole, that as well. `identity` in the recipe's JSON is without it: cursors and
  /// checkpoints are those of any grid.
  [[nodiscard]] Fingerprint identity() const noexcept override;
  [[nodiscard]] const Source& source() const noexcept;
  [[nodiscard]] std::uint64_t sample_id_at(std::uint64_t epoch,
                                           std::uint64_t index) const noexcept override;
  [[nodiscard]] std::string name_at(std::uint64_t epoch, std::uint64_t index) const override;
  [[nodiscard]] std::function<std::uint64_t(std::uint64_t epoch, std::uint64_t index)> ids_apart()
      const override;
  /// As the source has them: null for the axes of images, and where samples may be substituted.
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override;
  /// Of fields that are their parts, unchanged, of a source in memory.
  [[nodiscard]] bool fills_in_place() const noexcept override;
  /// Nothing where the source has no axis `tokens`, or does not know the lengths on it.
  [[nodiscard]] const std::optional<TokenAccount>& token_account() const noexcept;
  /// Tokens of all samples that were made so far, of a source with an axis `tokens`. From any
  /// thread. All are trained where there is no field `loss_mask`.
  [[nodiscard]] MadeTokens made_tokens() const noexcept;
  /// How many different samples were bad so far.
  [[nodiscard]] std::uint64_t bad_samples() const noexcept;
  [[nodiscard]] StandIns stand_ins() const;
  [[nodiscard]] MakerCounts counts() const override;
  /// How the cache does, if there is one. From any thread.
  [[nodiscard]] CacheStats cache_stats() const;
  /// The cache, if there is one, keeps nothing more. From any thread.
  void stop_caching(const std::string& why) const;
  /// Makes one sample, and says what was drawn for it. It is slow, for looking at samples. Of a
  /// pipeline with axes the sample is made apart.
  [[nodiscard]] SampleTrace trace(const SampleSlots& one_sample) const;
  [[nodiscard]] SampleTrace trace(std::uint64_t epoch, std::uint64_t index_in_epoch,
                                  MadeSample& made) const;

 private:
  std::unique_ptr<detail::PipelineCore> core_;
};

}  // namespace batchcast::inline v0_1
