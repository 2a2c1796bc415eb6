// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/core/group.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/placement.hpp>
#include <batchcast/start_options.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1 {

struct ConsumerOptions {
  // ---- The stream. Every consumer says these.

  /// Name of the stream to attach to.
  std::string stream;
  /// Samples of a batch, at most as many as the ring holds. With a budget: the most samples of one;
  /// the default, 64, is no limit then.
  std::uint64_t batch_size = 64;
  /// For a stream with axes: a batch is as many whole consecutive samples as have no more rows than
  /// this, `{"tokens", 16384}`. In a group each rank gets that much. It has to fit the axis's rows
  /// in the ring, times the ranks of a group, and `tail` has to be keep. Without rows, the default,
  /// batches have `batch_size` samples.
  Budget budget = Budget();
  /// With a budget: what becomes of a sample that has more rows by itself. Each is counted
  /// (ConsumerStats::oversized).
  Oversize oversize = Oversize::error;
  /// For a stream with axes: a batch is 8 runs of 2048 consecutive rows, cut through samples,
  /// `{"tokens", 2048, 8}`. It has the fields of that axis alone, as views [8, 2048] of the ring.
  /// With `extra` 1 they are [8, 2049]: each run ends with the row after it. In a group rank r has
  /// the r-th 8 runs. The rows of all ranks have to fit the axis's rows in the ring. At an
  /// epoch's end `tail` keep gives the whole runs that are left, as many to each rank. Drop gives
  /// none, and pad repeats rows. `batch_size` stays at its default, and a budget is not set.
  Window window = Window();
  /// Shown in all lists of consumers. A second consumer of that name gets `-2`. Empty, the default:
  /// the program's name; for a rank, its group's with the rank (`resnet:1`).
  std::string name = {};

  // ---- Its course: where it begins, and what an epoch's end means.

  Pace pace = Pace::lockstep;
  Join join = Join::rewind;
  /// With join = at: the position to begin at, from an earlier `cursor()`. The producer refuses one
  /// that the ring has lost, that lies beyond the stream's end, or that is 2^62 or more. With any
  /// other join it has to be 0.
  std::uint64_t cursor = 0;
  /// With join = at and a window: the row inside that sample, from an earlier `cursor_row()`.
  /// Without a window the batches begin at the next sample then.
  std::uint64_t cursor_row = 0;
  BetweenEpochs between_epochs = BetweenEpochs::hold;
  Tail tail = Tail::keep;
  /// The ranks of one job, which share each batch (world 0, the default: no group). Attaching waits
  /// until the last rank has come. All ranks begin at one position, and get the same number of
  /// batches of the same sizes. They have to agree in `batch_size` (each rank's own part), `join`,
  /// `cursor` and `tail`. `pace` has to be lockstep, and `between_epochs` hold. A rank that leaves
  /// a loop early ends that epoch for all ranks, each after the batch that it has then. So ranks
  /// that wait for each other after each batch have to leave at the same one. A rank that leaves
  /// the stream, dies, or lets an exception end its consumer within a loop ends the group for all
  /// (GroupBroken).
  Group group = {};

  // ---- Memory: where its batches are.

  Access access = Access::shared;
  /// "host", or a GPU that the producer serves the stream on. "cuda:0" is by this process's
  /// numbering. "cuda" is the one that is current on this thread, else LOCAL_RANK's;
  /// `Consumer::placement` says which. There, no batch is overwritten before the streams that
  /// read it (`set_cuda_stream`, `Batch::use`) have passed the point at which its last handle was
  /// dropped. Private copies are made on the GPU. With pace = free the copy has finished when you
  /// get the batch. With access = private only work that you queue on the batch's streams
  /// afterwards sees it finished. gpu.hpp brings GPUs.
  Placement placement = {};
  /// For a host consumer that copies its batches to a GPU itself: they lie in page-locked memory.
  /// So copies are asynchronous and run at the bus's speed. Streams keep batches as they keep those
  /// on a GPU. Where the driver can lock memory that is mapped for reading only, that memory is the
  /// ring itself (`batchcast doctor` says so). Elsewhere, and where batches are copies anyway, each
  /// is a writable copy in page-locked memory of this process. Throws GpuUnavailable, GpuError.
  /// gpu.hpp brings it.
  bool pin = false;
  /// For `pin`: the GPU that batches are copied to. Copies to others work as well. But the default
  /// streams are those of this GPU, and drops wait for streams of others.
  unsigned pin_device = 0;

  // ---- Waiting. Most users leave these alone.

  /// What happens to samples that the ring has lost, with pace = free.
  OnMiss on_miss = OnMiss::skip;
  /// How long to wait until a producer of that name comes up. Default: 30 s. Negative: for ever.
  int connect_timeout_ms = 30'000;
  /// How long to look for samples before sleeping, at most; more than 100 ms counts as that. The
  /// consumer learns to look for less long where samples take longer. 0: it never looks.
  std::uint64_t spin_us = 50;

  /// What happens when the producer's process dies. A pure stream whose epochs have one length can
  /// be made again. Its consumers drain what is published, and then wait for the next producer of
  /// that stream, in the call that needs a batch. They go on with exactly the next sample, and no
  /// batch is shorter for it.
  OnProducerGone on_producer_gone = OnProducerGone::wait;
  /// How many seconds a call waits for the next producer, before it throws ProducerGone. The next
  /// call waits again. The time stands still while a producer of that name opens its dataset.
  /// Negative: for ever. None, the default: 300 with `start` or a keeper (`serve --keep-alive`),
  /// else 30.
  std::optional<double> gone_timeout_s = std::nullopt;

  // ---- Surroundings. Most users leave these alone.

  /// Where to look for the stream. Empty, the default: the usual places (join/directory.hpp).
  std::string directory = {};
  /// Users besides this one and root whose producers are trusted.
  std::vector<std::uint32_t> allow_uids = {};
  /// Only look at what the stream holds, with `newest`. An observer asks for no samples, holds no
  /// producer back, and does not count for `wait_for`.
  bool observes = false;
  /// Handle the faults of writes into batches with a SIGSEGV handler, which passes on all other
  /// faults. Such a write then stays private to this process (see Consumer); where that cannot be,
  /// a message explains it. Without, a write ends the process, or copies first where libtorch can
  /// do that.
  bool explain_faults = true;
  /// Takes the consumer's messages. Empty, the default: warnings and errors go to stderr.
  LogCallback log = {};
  /// Called at least every 100 ms on the thread that waits, while any call waits, attaching and
  /// `start` included. What it throws ends that call and comes out of it. So a wait can be given up
  /// at a signal, or when another thread says so. A call for a batch then leaves the consumer as
  /// after a time-out: nothing is lost. It may look at the consumer's cursor, epoch and stats.
  std::function<void()> while_waiting = {};

  // ---- Starting the producer, which start.hpp brings.

  /// With a source: starts `batchcast serve` where no producer serves the stream, and refuses a
  /// stream of another recipe. The connect time-out then holds for opening the dataset too.
  StartOptions start = {};
};

}  // namespace batchcast::inline v0_1
