// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "serving/console.hpp"
#include "serving/dataset.hpp"
#include "serving/grid_wish.hpp"

#include <batchcast/feeder.hpp>
#include <batchcast/producer.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace batchcast::inline v0_1::serving {

/// Why the stream is to be stopped, empty as long as it is not to be; waits for that at most
/// `timeout_ms`.
using AskedToEnd = std::function<std::string(int timeout_ms)>;

/// What `serve` does from the first sample until no consumer needs the producer any more.
class Service {
 public:
  struct Parts {
    AskedToEnd asked_to_end;
    Producer& producer;
    const Dataset& dataset;
    std::uint32_t wait_for = 0;  ///< consumers that hold back its first sample
    /// Ends the stream once no consumer was attached for this long.
    std::optional<double> idle_exit_s = {};
    bool talks = true;  ///< on stderr: a line of progress, and what it does on its own
    /// Of a dataset with a grid: once it is there, the producer makes way.
    const GridWish* wish = nullptr;
  };
  explicit Service(const Parts& parts);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Works until the last epoch is made, or the stream is stopped. Throws what fails the stream.
  /// False where a worker cannot be waited for: its sample takes too long, and it still uses the
  /// producer. Then `take_feeder` has it, and neither is to be destroyed before it is through.
  [[nodiscard]] bool produce(const FeederOptions& options);
  /// After `produce` returned false. Its destructor waits for the worker.
  /// Whether its workers were started.
  [[nodiscard]] bool has_feeder() const noexcept { return feeder_ != nullptr; }
  [[nodiscard]] std::unique_ptr<Feeder> take_feeder() noexcept { return std::move(feeder_); }
  /// How the feeder was lately. From any thread.
  [[nodiscard]] FeederStats feeder_stats() const;

  /// After the last epoch is made: stays for the consumers that still read it, `linger_s` at most
  /// (negative: for ever). The time counts once those of `wait_for` are there. True if all of them
  /// have read it.
  [[nodiscard]] bool linger(double linger_s);
  /// The producer made way for one with another grid.
  [[nodiscard]] bool made_way() const noexcept { return made_way_; }

 private:
  [[nodiscard]] std::unique_ptr<Feeder> started_feeder(const FeederOptions& options) const;
  [[nodiscard]] bool ended() const;
  [[nodiscard]] bool ended_in_vain(std::uint64_t& since_ns) const;
  void look();
  /// The job of the first trainer says by which grid the samples are wanted.
  void wait_for_a_job();
  [[nodiscard]] bool makes_way();
  /// That one trainer at least has to come soon, although more are waited for.
  void warn_of_idle_exit();
  void end_if_idle();
  void add_settings();
  [[nodiscard]] std::optional<double> idle_exit_s() const;
  void note(const FeederStats& stats);
  void show(const FeederStats& stats);
  void tell(const std::string& line);
  void watch_cache();

  const AskedToEnd asked_to_end_;
  Producer& producer_;
  const Dataset& dataset_;
  const std::uint32_t wait_for_;
  std::optional<double> idle_exit_s_;     ///< under `noting_`
  std::optional<ProgressLine> progress_;  ///< of one that talks
  const GridWish* const wish_;
  bool asked_ = false;
  bool made_way_ = false;
  bool told_of_cache_ = false;  ///< that it keeps nothing more
  std::uint64_t cache_seen_ns_ = 0;
  std::unique_ptr<Feeder> feeder_;
  mutable std::mutex noting_;
  FeederStats noted_;
};

/// What the line that `serve` shows is about.
struct Progress {
  ProducerStats stream;
  FeederStats feeder = {};
  std::uint64_t samples_per_epoch = 0;  ///< 0: not known
  std::uint64_t bad_samples = 0;
  std::uint32_t wait_for = 0;
  StandIns stand_ins = {};
  CacheStats cache = {};
};
[[nodiscard]] std::string progress_text(const Progress& progress);

}  // namespace batchcast::inline v0_1::serving
