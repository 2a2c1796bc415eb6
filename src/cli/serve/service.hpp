// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "cli/console.hpp"
#include "cli/interrupts.hpp"
#include "cli/serve/dataset_options.hpp"

#include <batchcast/feeder.hpp>
#include <batchcast/producer.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace batchcast::cli {

/// What `serve` does from the first sample until no consumer needs the producer any more.
class Service {
 public:
  struct Parts {
    Interrupts& interrupts;
    Producer& producer;
    const Dataset& dataset;
    std::uint32_t wait_for = 0;  ///< consumers that hold back its first sample
    double idle_exit_s = -1;     ///< ends the stream when no consumer is attached for so long
  };
  explicit Service(const Parts& parts);

  /// Works until the last epoch is made, or the stream is stopped. Throws what fails the stream.
  /// False where a worker cannot be waited for: its sample takes too long, and it still uses the
  /// producer. Then what failed the stream, if anything did, is printed, and the process is to end
  /// without destroying anything.
  [[nodiscard]] bool produce(const FeederOptions& options);
  /// After `produce` returned false: whether the stream failed.
  [[nodiscard]] bool failed() const noexcept { return failed_; }

  /// After the last epoch is made: stays for the consumers that still read it, so many seconds at
  /// most (negative: for ever). True if all of them have read it.
  [[nodiscard]] bool linger(double linger_s);

 private:
  [[nodiscard]] std::unique_ptr<Feeder> started_feeder(const FeederOptions& options) const;
  [[nodiscard]] bool ended(Feeder& feeder) const;
  [[nodiscard]] bool ended_in_vain(std::uint64_t& since_ns) const;
  void look();
  void end_if_idle();
  void show(const FeederStats& stats);

  Interrupts& interrupts_;
  Producer& producer_;
  const Dataset& dataset_;
  const std::uint32_t wait_for_;
  const double idle_exit_s_;
  ProgressLine progress_;
  int signal_ = 0;
  bool failed_ = false;
};

/// The line that `serve` shows.
[[nodiscard]] std::string progress_text(const ProducerStats& stream, const FeederStats& feeder,
                                        const Dataset& dataset, std::uint32_t wait_for);

/// Removes what a producer that cannot be destroyed would leave of its stream's directory; the log
/// of a trainer's start stays where the stream failed.
void remove_stream_files(const Producer& producer, bool failed) noexcept;

}  // namespace batchcast::cli
