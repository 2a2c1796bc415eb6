// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/limiter.hpp"
#include "observe/stream_model.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What `top` shows, in words and numbers, before it has a size.
namespace batchcast::inline v0_1::observe {

/// A stream between two looks. Where its producer did not answer, `state` says why, and there is
/// nothing else.
struct SeenStream {
  std::string name = {};
  std::string directory = {};
  std::string owner = {};  ///< another user's name; empty: this user's
  std::string state = {};  ///< `dead`, `silent` or `foreign`, or that of `now`
  std::uint64_t pid = 0;
  bool answers = false;
  Stream before = {};
  Stream now = {};
  Limit limit = {};
  std::vector<double> history = {};  ///< samples a second, the newest last
};

/// All streams at one moment.
struct Overview {
  std::string clock = {};  ///< the time of day
  std::vector<SeenStream> streams = {};
  double idle_processors = -1;  ///< negative: not known
  double pressure = -1;         ///< of processors, as the kernel says; negative: not known
  unsigned processors = 0;
};

/// What a trainer does between two looks.
struct TrainerRow {
  const Trainer* trainer = nullptr;
  std::optional<double> rate = {};  ///< samples a second
  double lag_share = 0;             ///< of the ring, from 0 to 1
  double wait_share = 0;            ///< of the time, from 0 to 1
  double waited_for_share = 0;
  bool limits = false;
};

enum class SortKey : std::uint8_t { name, rate, lag, waits, waited_for };
inline constexpr std::size_t sort_keys = 5;
[[nodiscard]] std::string name_of(SortKey key);
[[nodiscard]] std::optional<SortKey> sort_key_of(const std::string& name);

/// The trainers of a stream whose names contain `filter`, in that order. Rows point into `seen`.
[[nodiscard]] std::vector<TrainerRow> trainer_rows(const SeenStream& seen, SortKey key,
                                                   bool reversed, const std::string& filter);

/// Samples a second that the stream published between the looks.
[[nodiscard]] double stream_rate(const SeenStream& seen);
/// `1,234`
[[nodiscard]] std::string grouped(std::uint64_t count);
/// `12.3k`: at most six columns.
[[nodiscard]] std::string short_count(double count);
/// `2 h 07`, `14 min`, `3.2 s`
[[nodiscard]] std::string time_text(double seconds);
/// `37%`
[[nodiscard]] std::string percent_text(double share);
/// `read 2%  make 95%  wait 3%`: where workers spent the time between the looks. Empty where no
/// workers make the samples.
[[nodiscard]] std::string work_text(const SeenStream& seen);
/// `cpu 3.9  saved 2 h 07 of cpu`, and bad samples and the cache, where there are such.
[[nodiscard]] std::string sums_text(const SeenStream& seen);

/// For a pipe or a dumb terminal: a few lines for each stream.
[[nodiscard]] std::string plain_text(const Overview& overview, SortKey key, bool reversed,
                                     const std::string& filter);

}  // namespace batchcast::inline v0_1::observe
