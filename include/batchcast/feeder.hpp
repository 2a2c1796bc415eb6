// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/data/maker.hpp>
#include <batchcast/producer.hpp>

#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>

namespace batchcast::inline v0_1 {

/// Options for a producer that serves what `maker` makes.
[[nodiscard]] inline ProducerOptions producer_options(const SampleMaker& maker,
                                                      std::string stream) {
  ProducerOptions options;
  options.stream = std::move(stream);
  options.schema = maker.schema();
  options.samples_per_epoch = maker.samples_per_epoch();
  options.recipe_json = maker.recipe_json();
  options.identity = maker.identity().to_hex();
  options.pure = true;
  return options;
}

struct FeederOptions {
  /// Threads that make samples. 0, the default: the feeder adds threads until the pipeline no
  /// longer limits the stream. It takes at most one for each processor that this process may use,
  /// and up to four while they mostly wait for the source.
  unsigned workers = 0;
};

/// What limits a stream's speed at present.
enum class Bottleneck : std::uint8_t { none, reading, making, consumers };

struct FeederStats {
  unsigned workers = 0;
  Bottleneck bottleneck = Bottleneck::none;
  /// Shares of the workers' recent time, from 0 to 1.
  double reading = 0;
  double making = 0;
  double waiting = 0;  ///< for space in the ring
  /// The same in seconds, of all workers, since the feeder began. Updated five times a second.
  double reading_seconds = 0;
  double making_seconds = 0;
  double waiting_seconds = 0;
};

/// Threads that fill a producer's ring from a maker until its epochs are made or it is stopped. The
/// first exception among them fails the stream with its text and is kept for `wait`.
class Feeder {
 public:
  /// Both must outlive the feeder. Throws InvalidArgument unless the producer's schema and
  /// samples_per_epoch are the maker's.
  Feeder(Producer& producer, const SampleMaker& maker, const FeederOptions& options = {});
  /// Stops the stream if it still runs, and waits for the threads.
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  [[nodiscard]] bool running() const noexcept;
  /// Waits until no worker runs, but at most that long (negative: for ever). True if none runs.
  /// Throws the exception that failed the stream.
  bool wait(int timeout_ms = -1);
  /// The exception that failed the stream; null as long as none did.
  [[nodiscard]] std::exception_ptr failure() const;
  /// The text of `failure`; empty as long as there is none.
  [[nodiscard]] std::string failure_text() const;
  [[nodiscard]] FeederStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace batchcast::inline v0_1
