// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/maker.hpp>
#include <batchcast/producer.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// A finished sample, and the loan of one sample that it is for.
struct Finished {
  Loan loan;
  std::unique_ptr<MadeSample> made;
};

/// Finished samples of a stream with axes whose turn to take rows has not come, in private memory.
/// Any thread may call any member. The stream's producer must outlive it.
class Stash {
 public:
  /// `arenas`: by axis, the rows that the ring has. `bytes_max`: of the samples in it; each worker
  /// may add one beyond that.
  Stash(Schema schema, std::vector<std::uint64_t> arenas, std::uint64_t bytes_max)
      : schema_(std::move(schema)), arenas_(std::move(arenas)), bytes_max_(bytes_max) {}

  /// An object to make a sample into.
  [[nodiscard]] std::unique_ptr<MadeSample> blank();
  void put(Finished sample);
  /// The sample that comes first, if it need not wait for others, or if its loan has no samples any
  /// more.
  [[nodiscard]] std::optional<Finished> take_ready();
  /// Keeps the object for `blank`, if the stash has room for it.
  void recycle(std::unique_ptr<MadeSample> made);

  /// Samples may have their turn now: those that wait look again.
  void call();
  [[nodiscard]] std::uint64_t calls() const;
  /// Waits until a sample is taken or `call` is called, at most that long. It does not wait if that
  /// was done since `calls` was `seen`.
  void wait(std::uint64_t seen, int timeout_ms);
  /// The stash is full, and has that position: the thread that put it in has to wait.
  [[nodiscard]] bool is_full_with(std::uint64_t position) const;
  [[nodiscard]] bool is_empty() const;
  /// Of all buffers that it keeps.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Drops all samples, and frees all buffers. The stream is over.
  void clear();

 private:
  const Schema schema_;
  const std::vector<std::uint64_t> arenas_;
  const std::uint64_t bytes_max_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t calls_ = 0;
  std::deque<Finished> samples_;  ///< by position
  std::uint64_t bytes_ = 0;       ///< of these
  std::vector<std::unique_ptr<MadeSample>> spares_;
  std::uint64_t spare_bytes_ = 0;
};

}  // namespace batchcast::inline v0_1::detail
