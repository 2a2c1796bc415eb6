// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/axis_rows.hpp>
#include <batchcast/core/grid.hpp>
#include <batchcast/core/group.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/device_stage.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1 {

/// The rows of a sample on one axis, by its epoch and its index there.
using RowsOf = std::function<std::uint64_t(std::uint64_t epoch, std::uint64_t index_in_epoch)>;

inline constexpr std::uint32_t heads_max = 64;

struct ProducerOptions {
  // ---- The stream. Every producer says these.

  /// Name of the stream. Only one producer at a time can serve a name.
  std::string stream;
  /// Fields of a sample. The producer adds `sample_id` itself.
  Schema schema = {};
  /// Upper limit for the samples in host memory, in bytes. Default: 256 MiB.
  std::uint64_t memory = std::uint64_t{256} << 20;
  /// For a schema with axes, `{{"tokens", 400}}`: the mean number of rows of a sample. It divides
  /// the memory between samples and rows.
  std::vector<RowsPerSample> rows_per_sample = {};
  /// For a schema with axes: how many rows of an axis the ring has, instead of the mean. A sample
  /// has no more than these. The memory has to have them.
  std::vector<AxisRowCount> rows = {};
  /// Samples of an epoch. 0, the default: each epoch ends with a call of `end_epoch`.
  std::uint64_t samples_per_epoch = 0;
  /// Epochs to make. 0, the default: endless.
  std::uint64_t epochs = 0;
  /// The first publication waits for this many consumers, of which a group of ranks is one.
  /// Default: 0, it waits for none.
  std::uint32_t wait_for = 0;

  // ---- GPUs. Without `places` the stream is served in host memory only.

  /// GPUs that the stream is served on as well. Each gets its ring, which one copy from the host
  /// ring fills for all trainers there. Throws GpuUnavailable, GpuError, OutOfMemory.
  std::vector<Placement> places = {};
  /// Upper limit for the samples on each GPU, in bytes. 0, the default: as in host memory.
  std::uint64_t device_memory = 0;
  /// Fields that stay in host memory for consumers on GPUs too. `sample_id` always does.
  std::vector<std::string> host_fields = {};
  /// Work on the samples on each GPU before trainers there get them. Null, the default: none.
  std::shared_ptr<const DeviceStage> device_stage = nullptr;

  // ---- Other places, for trainers that the ring has no sample for any more.

  /// At how many places a pure stream is served at most, if its epochs have one length and its
  /// samples one shape. The others are *heads*: rings for trainers whose cursors the leading ring
  /// no longer has. Default: 1, that ring only.
  std::uint32_t heads = 1;
  /// Upper limit for the samples of a head, in bytes, while it is open. 0, the default: a quarter
  /// of `memory`. A head has room for two batches of its first trainer at least.
  std::uint64_t head_memory = 0;
  /// The hindmost head gets up to this share of the work, and the others the rest by turns. What
  /// one does not want goes to those that do.
  double catch_up = 0.7;

  // ---- Pace. Most users leave these alone.

  /// Consumers that can be attached at a time. At most limits::consumers_max, 1,024.
  std::uint32_t max_consumers = 64;
  /// Epochs to make ahead of the fastest consumer; while none is attached, ahead of the place where
  /// the next consumer would begin. Never more than the ring holds. 0: as many as the ring holds.
  std::uint64_t ahead = 2;
  /// Make samples although no consumer asks for them, and without the limit of `ahead`.
  bool free_running = false;
  /// A consumer that has kept the producer from writing for this long is reported, or evicted.
  /// Default: one minute.
  std::uint64_t stall_timeout_ms = 60'000;
  /// `own_place` is for streams that have heads. It looks at times of half `stall_timeout_ms`, 30
  /// s. A trainer in the leading ring for which the others waited half of such a time, on average,
  /// goes on in a head. It stays there for as long at least.
  OnStall on_stall = OnStall::report;
  /// How long the end of the stream waits for consumers to read the rest. It counts from the last
  /// sample, or from when the consumers of `wait_for` are there if that is later. The destructor
  /// counts from its call. Negative, the default: as long as it takes.
  int linger_ms = -1;
  HugePages huge_pages = HugePages::automatic;

  // ---- What determines the samples. `producer_options` (feeder.hpp) fills these in.

  /// JSON text of the recipe, for the board.
  std::string recipe_json = {};
  /// The recipe determines every byte of the stream.
  bool pure = false;
  /// For a schema with axes: how many rows each sample has on that axis. An empty function where
  /// that is not known before samples are made. Trainers with a budget ask for the number of
  /// batches of an epoch. The producer calls both from one of its threads, as long as it lives.
  std::function<RowsOf(std::string_view axis)> lengths = {};
  /// For a pure stream: 32 hexadecimal digits. Two streams have the same digits only if they have
  /// the same sample at each position. Empty, the default: the digits in the recipe, else a
  /// fingerprint of its text.
  std::string identity = {};

  /// How the samples of a pure stream are laid out for the ranks of a job on several nodes, of
  /// which this node has some. `samples_per_epoch` is the grid's, and consumers name cursors of the
  /// whole job. Nothing, the default: positions are cursors.
  std::optional<Grid> grid = {};
  /// With a grid: a trainer whose job needs another one said hello, and no other is attached. It
  /// says hello again until the stream is served by that grid, as by another Producer after
  /// `make_way`. From the door's thread; it returns at once.
  std::function<void(const Grid&)> want_grid = {};

  /// As SampleMaker::know_ids, of the maker that the feeder has; it outlives the producer. So the
  /// receipt of an epoch is known although an earlier producer made its beginning. Empty, the
  /// default: it is unknown then.
  std::function<bool(std::uint64_t epoch, std::uint64_t index, std::span<std::uint64_t> ids)>
      known_ids = {};
  /// As SampleMaker::name_at, of the same maker. So a stream whose producers die again and again is
  /// given up with the names of the files that may be the cause. Empty, the default: with none.
  std::function<std::string(std::uint64_t epoch, std::uint64_t index)> known_names = {};

  // ---- Surroundings. Most users leave these alone.

  /// The command line with which this process may be started again, and with its working directory
  /// and environment; `serve` fills it in. Empty, the default: it cannot be started again.
  std::vector<std::string> started_with = {};

  /// User ids, besides this process's own, whose consumers may attach.
  std::vector<std::uint32_t> allow_uids = {};
  /// Directory for the stream's files. Empty, the default: the usual place (join/directory.hpp).
  std::string directory = {};
  /// Takes the producer's messages. Empty, the default: warnings and errors go to stderr.
  LogCallback log = {};
  /// Gives a JSON object that its statistics have as `cache`, for `batchcast inspect`. It is called
  /// by a thread of the producer's, as long as the producer is there. Empty, the default: none.
  std::function<std::string()> cache_statistics = {};
};

}  // namespace batchcast::inline v0_1
