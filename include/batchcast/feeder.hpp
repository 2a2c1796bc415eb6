// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/axis_rows.hpp>
#include <batchcast/data/maker.hpp>
#include <batchcast/data/row_lengths.hpp>
#include <batchcast/producer.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {

/// How many rows samples have on an axis.
struct RowsOnAxis {
  std::string axis;
  RowSummary rows;
  bool are_all = false;  ///< of all samples; else of those that were looked at
};

/// Of each axis of the maker's schema. Where the lengths are known, of all samples; else of 256
/// samples, spread over the first epoch, which it makes.
[[nodiscard]] std::vector<RowsOnAxis> rows_of(const SampleMaker& maker);
/// Their means: what divides a ring's memory.
[[nodiscard]] std::vector<RowsPerSample> rows_per_sample(const SampleMaker& maker);

/// What a maker knows of its samples' lengths before it makes them. The maker must outlive it.
[[nodiscard]] inline std::function<RowsOf(std::string_view axis)> lengths_of(
    const SampleMaker& maker) {
  return [&maker](std::string_view axis) -> RowsOf {
    std::shared_ptr<const RowLengths> lengths = maker.lengths(axis);
    if (lengths == nullptr) return {};
    return [ids = maker.ids_apart(), lengths = std::move(lengths)](
               std::uint64_t epoch, std::uint64_t index) { return (*lengths)[ids(epoch, index)]; };
  };
}

/// Options for a producer that serves what `maker` makes. The maker must outlive it. With axes they
/// have the means of `rows_per_sample`, unless `divided` says that these are known otherwise.
[[nodiscard]] inline ProducerOptions producer_options(const SampleMaker& maker, std::string stream,
                                                      bool divided = false) {
  ProducerOptions options;
  options.stream = std::move(stream);
  options.schema = maker.schema();
  options.samples_per_epoch = maker.samples_per_epoch();
  options.recipe_json = maker.recipe_json();
  options.identity = maker.identity().to_hex();
  options.pure = true;
  options.known_ids = [&maker](std::uint64_t epoch, std::uint64_t index,
                               std::span<std::uint64_t> ids) {
    return maker.know_ids(epoch, index, ids);
  };
  options.known_names = [&maker](std::uint64_t epoch, std::uint64_t index) {
    return maker.name_at(epoch, index);
  };
  if (!divided) options.rows_per_sample = rows_per_sample(maker);
  if (!axes_of(options.schema).empty()) options.lengths = lengths_of(maker);
  return options;
}

struct FeederOptions {
  /// Threads that make samples. 0, the default: the feeder adds threads until the pipeline no
  /// longer limits the stream. It takes at most one for each processor that this process may use,
  /// and up to four while they mostly wait for the source.
  unsigned workers = 0;
  /// For a maker with axes whose samples are not made in place: private memory, in bytes. Finished
  /// samples whose turn to take rows has not come wait there. Their workers go on meanwhile, until
  /// it is full. Nothing, the default: an eighth of the ring's memory. The feeder throws
  /// OutOfMemory where the machine has not that much left.
  std::optional<std::uint64_t> stash = {};
};

/// What limits a stream's speed at present.
enum class Bottleneck : std::uint8_t { none, reading, making, consumers };

[[nodiscard]] constexpr std::string_view name_of(Bottleneck bottleneck) noexcept {
  constexpr std::array<std::string_view, 4> names = {"none", "reading", "making", "consumers"};
  const auto index = static_cast<std::size_t>(bottleneck);
  return index < names.size() ? names[index] : "?";
}

struct FeederStats {
  unsigned workers = 0;
  Bottleneck bottleneck = Bottleneck::none;
  /// Shares of the workers' recent time, from 0 to 1.
  double reading = 0;
  double making = 0;
  double waiting = 0;  ///< for space in the ring, and for earlier samples where the stash is full
  /// The same in seconds, of all workers, since the feeder began. Updated five times a second.
  double reading_seconds = 0;
  double making_seconds = 0;
  double waiting_seconds = 0;
  /// Bytes of the stash's buffers now.
  std::uint64_t stash_bytes = 0;
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
  /// The number of threads from now on; 0: as many as it takes. From any thread; it happens within
  /// a second.
  void set_workers(unsigned workers) noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace batchcast::inline v0_1
