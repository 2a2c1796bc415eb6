// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// What is known of a stream that is served. `ls`, `top`, Python's `stats` and the answer to the
// command `stats` have these names; docs/operating.md says what each means. Seconds and counts only
// grow while the stream lives: a rate is the difference of two looks, divided by that of
// `uptime_seconds`.
namespace batchcast::inline v0_1::observe {

/// One attached trainer, or one that only looks.
struct Trainer {
  std::uint64_t id = 0;  ///< unique in the stream's life
  std::string name = {};
  std::string placement = {};  ///< host, cuda:0, head-1
  std::uint64_t pid = 0;
  std::uint64_t batch_size = 0;
  std::string pace = {};
  std::string state = {};
  std::uint64_t position = 0;
  std::uint64_t lag = 0;  ///< published samples that it has not released
  std::uint64_t samples = 0;
  double wait_seconds = 0;        ///< it waited for samples
  double waited_for_seconds = 0;  ///< the full ring waited for this trainer
  std::string group = {};         ///< of ranks; empty: none
  std::uint64_t rank = 0;
  std::uint64_t world = 0;
};

/// How many rows of one axis a ring holds for trainers.
struct Axis {
  std::string name = {};
  std::uint64_t rows = 0;  ///< that there is room for
  std::uint64_t used = 0;
};

struct Ring {
  std::string placement = {};
  std::string id = {};
  std::uint64_t capacity = 0;
  std::uint64_t memory = 0;  ///< bytes
  std::uint64_t published = 0;
  std::uint64_t used = 0;  ///< samples that the slowest trainer has not released
  std::string state = {};
  std::vector<Axis> axes = {};
  std::uint64_t trainers = 0;
  /// Of the workers' time, what this ring got in the last second; negative: the stream has no
  /// heads.
  double work_share = -1;
};

/// Where the time of one worker went.
struct Worker {
  double reading_seconds = 0;
  double making_seconds = 0;
  double waiting_seconds = 0;
  double cpu_seconds = 0;
};

/// Those who make the stream's samples in this process. A stream of batches has none.
struct Making {
  std::uint64_t workers = 0;
  bool workers_auto = false;  ///< the producer chooses their number
  std::string bottleneck = {};
  double reading_seconds = 0;  ///< of all workers, those too that have left
  double making_seconds = 0;
  double waiting_seconds = 0;  ///< for room
  double cpu_seconds = 0;      ///< of the threads that read and make
  /// Of making, the part that was decoding: an estimate, from 1 sample in 64. Nothing where the
  /// samples are not decoded.
  std::optional<double> decoding_seconds = {};
  std::vector<Worker> each = {};
  std::uint64_t bad_samples = 0;
  std::uint64_t stand_ins = 0;
  std::uint64_t stand_in_times = 0;
  bool has_cache = false;
  std::uint64_t cache_hits = 0;
  std::uint64_t cache_misses = 0;
  std::uint64_t cache_bytes = 0;
};

/// A group of ranks that waits for some of them.
struct Forming {
  std::string group = {};
  std::uint64_t world = 0;
  std::vector<std::uint32_t> missing = {};
};

struct Stream {
  std::string name = {};
  std::uint64_t pid = 0;
  std::string state = {};
  double uptime_seconds = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< of the slowest trainer
  std::uint64_t published = 0;
  std::uint64_t samples = 0;    ///< made and published, without those that were jumped over
  std::uint64_t delivered = 0;  ///< that trainers had, those too that have left
  double samples_per_second = 0;
  std::uint64_t samples_per_epoch = 0;  ///< 0: not known
  std::uint64_t capacity = 0;
  std::uint64_t memory = 0;
  std::uint64_t late_wakeups = 0;
  double space_wait_seconds = 0;
  std::string waits_for = {};
  std::uint64_t consumers_to_come = 0;
  double process_cpu_seconds = 0;
  std::uint64_t processors = 0;  ///< that the process may use
  std::vector<Ring> rings = {};  ///< the one in host memory first
  std::vector<Trainer> trainers = {};
  std::uint64_t trainers_left_out = 0;
  std::vector<Forming> forming = {};
  std::uint64_t forming_left_out = 0;
  std::optional<Making> making = {};
  std::string cache_json =
      {};  ///< all that is known of its cache; empty: no more than `making` has
  std::map<std::string, std::string> settings = {};  ///< that `batchcast set` changes
};

}  // namespace batchcast::inline v0_1::observe
