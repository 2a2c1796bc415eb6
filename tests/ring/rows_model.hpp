// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/options.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

// What a stream with one axis does, as simply as it can be said: lengths in a list, and loops over
// them. Randomised tests compare the ring with it.
namespace batchcast::testing::rows_model {

struct Run {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

inline std::uint64_t sum(const std::vector<std::uint64_t>& lengths, std::uint64_t begin,
                         std::uint64_t end) {
  std::uint64_t total = 0;
  for (std::uint64_t i = begin; i < end; ++i) total += lengths[i];
  return total;
}

/// The batches of one epoch that has these samples: of each its runs, one a rank.
inline std::vector<std::vector<Run>> batches(const std::vector<std::uint64_t>& lengths,
                                             std::uint64_t budget, std::uint64_t samples_max,
                                             std::uint64_t world, Oversize oversize) {
  std::vector<Run> runs;
  const std::uint64_t end = lengths.size();
  for (std::uint64_t at = 0; at < end;) {
    if (lengths[at] > budget) {
      if (oversize != Oversize::drop) runs.push_back({at, 1});
      ++at;
      continue;
    }
    const std::uint64_t start = at;
    std::uint64_t rows = 0;
    while (at < end && at - start < samples_max && rows + lengths[at] <= budget) {
      rows += lengths[at++];
      if (rows == budget) break;
    }
    runs.push_back({start, at - start});
  }
  std::vector<std::vector<Run>> all;
  while (!runs.empty()) {
    const auto count = std::min<std::size_t>(world, runs.size());
    std::vector<Run> batch(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(count));
    runs.erase(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(count));
    while (batch.size() < world) {
      std::optional<std::size_t> most;
      for (std::size_t i = 0; i < batch.size(); ++i) {
        const auto rows = [&](const Run& run) {
          return sum(lengths, run.start, run.start + run.size);
        };
        if (batch[i].size > 1 && (!most || rows(batch[i]) > rows(batch[*most]))) most = i;
      }
      if (!most) break;
      // The cut that is nearest to the middle; of two that are as near, the later one.
      const Run whole = batch[*most];
      const std::uint64_t half = (sum(lengths, whole.start, whole.start + whole.size) + 1) / 2;
      std::uint64_t best = 0;
      std::uint64_t best_distance = ~std::uint64_t{0};
      for (std::uint64_t left = 1; left < whole.size; ++left) {
        const std::uint64_t rows = sum(lengths, whole.start, whole.start + left);
        const std::uint64_t distance = rows > half ? rows - half : half - rows;
        // Samples without rows at the cut stay with the second half.
        const bool is_same = best != 0 && sum(lengths, whole.start, whole.start + best) == rows;
        if (distance <= best_distance && !is_same) best = left, best_distance = distance;
      }
      batch[*most] = {whole.start, best};
      batch.insert(batch.begin() + static_cast<std::ptrdiff_t>(*most) + 1,
                   {whole.start + best, whole.size - best});
    }
    if (batch.size() == world) all.push_back(batch);
  }
  return all;
}

/// A place among the rows of an epoch.
struct Place {
  std::uint64_t sample = 0;
  std::uint64_t row = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// A batch that a window cuts, of all ranks together.
struct WindowBatch {
  std::uint64_t runs = 0;  ///< of each rank
  bool padded = false;
  /// Of each rank: the rows that it shows, by their number in the epoch, then the `extra` ones.
  std::vector<std::vector<std::uint64_t>> rows;
  /// Of each rank: the samples that its receipt has.
  std::vector<std::vector<std::uint64_t>> counted;
  Place after;
};

struct Windows {
  std::vector<WindowBatch> batches;
  std::uint64_t dropped = 0;  ///< rows at the epoch's end
};

/// The batches of the rest of an epoch, from that place on.
inline Windows windows(const std::vector<std::uint64_t>& lengths, std::uint64_t rows,
                       std::uint64_t runs, std::uint64_t extra, std::uint64_t world, Tail tail,
                       Place from = {}) {
  Windows found;
  const std::uint64_t total = sum(lengths, 0, lengths.size());
  for (;;) {
    const std::uint64_t first = sum(lengths, 0, from.sample) + from.row;
    const std::uint64_t left = total - first;
    WindowBatch batch;
    batch.runs = runs;
    if (left < world * runs * rows + extra) {
      const std::uint64_t whole = left < extra ? 0 : (left - extra) / rows;
      if (tail == Tail::keep) batch.runs = whole / world;
      if (tail == Tail::drop || left <= extra) batch.runs = 0;
      batch.padded = tail == Tail::pad;
    }
    if (batch.runs == 0) {
      found.dropped = left;
      return found;
    }
    const std::uint64_t block = batch.runs * rows;  // of a rank
    batch.rows.resize(world);
    batch.counted.resize(world);
    for (std::uint64_t i = 0; i < world * block; ++i) {
      batch.rows[i / block].push_back(first + i % left);
    }
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      for (std::uint64_t i = 0; i < extra; ++i) {
        // Padding goes on behind the run that it follows.
        const std::uint64_t next = batch.rows[rank][block - 1] - first + 1 + i;
        batch.rows[rank].push_back(first + next % left);
      }
    }
    const std::uint64_t passed = std::min(world * block, left);
    const bool ends = batch.padded && passed == left;
    batch.after = from;
    for (std::uint64_t sample = from.sample; sample < lengths.size(); ++sample) {
      const std::uint64_t begin = sum(lengths, 0, sample);
      const std::uint64_t end = begin + lengths[sample];
      const bool is_behind = begin >= first + passed && !ends;
      if (is_behind || end > first + passed) {
        batch.after = {sample, is_behind ? 0 : first + passed - std::min(begin, first + passed)};
        break;
      }
      // Its last row says whose it is; without rows, the next row does.
      const std::uint64_t row =
          end - first - (lengths[sample] == 0 && end < first + passed ? 0 : 1);
      batch.counted[lengths[sample] == 0 && end == first ? 0 : row / block].push_back(sample);
      batch.after = {sample + 1, 0};
    }
    from = batch.after;
    found.batches.push_back(std::move(batch));
  }
}

}  // namespace batchcast::testing::rows_model
