// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serving/serve_options.hpp"

#include "serving/cache_report.hpp"
#include "serving/longest_sample.hpp"

#include "serving/console.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/feeder.hpp>
#include <batchcast/ring/cursor.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/memory_left.hpp>
#include "data/cache/cache_directory.hpp"
#include "feeder/stash_bytes.hpp"
#include "ring/ring_plan.hpp"

#include <fmt/format.h>

#include <malloc.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::serving {
namespace {

// Of the producer, its ZeroMQ and its feeder, and the one that fills in the ring's pages meanwhile.
constexpr unsigned threads_besides_workers = 7;
constexpr std::uint64_t address_space_besides = 32 << 20;  // beside the ring

/// Where address space is limited, every thread allocates from the one heap. A thread's heap would
/// reserve 64 MiB if it found them. In each run other threads do, so what a rehearsal had would be
/// missing later.
void share_one_heap() noexcept {
  if (address_space_is_limited()) ::mallopt(M_ARENA_MAX, 1);
}

/// What a cache may still take of the memory; one on a disk takes none.
std::uint64_t memory_of(const CacheOptions& cache) {
  if (cache.directory.empty()) return cache.bytes;
  return std::min(cache.bytes, detail::memory_to_come(cache));
}

/// Throws OutOfMemory where there is no room for the ring, a full cache and a full stash.
void require_memory(std::uint64_t ring_bytes, std::uint64_t cache_bytes,
                    std::uint64_t stash_bytes) {
  if (cache_bytes == 0 && stash_bytes == 0) return;
  const MemoryLeft left = memory_left();
  const std::uint64_t all = saturating_add(saturating_add(ring_bytes, cache_bytes), stash_bytes);
  if (all <= left.bytes()) return;
  const bool is_machine = left.machine_bytes <= left.cgroup_bytes;
  std::string takes = text("the ring takes {}", bytes_text(ring_bytes));
  std::string cure;
  if (cache_bytes != 0) {
    takes +=
        text("{} the cache up to {}", stash_bytes == 0 ? " and" : ",", bytes_text(cache_bytes));
    cure = "the cache less (--cache), ";
  }
  if (stash_bytes != 0) {
    takes += text(" and the stash of finished samples up to {}", bytes_text(stash_bytes));
    cure += "the stash less (--stash), ";
  }
  throw OutOfMemory(text("batchcast: {}, and {} has {} left ({}). Give {}or the ring (--memory).",
                         takes, is_machine ? "the machine" : "this container or job",
                         bytes_text(left.bytes()), is_machine ? "MemAvailable" : left.cgroup_file,
                         cure));
}

/// Axes of which the options say neither a mean nor a number are looked at.
void divide_by_means(ProducerOptions& options, const SampleMaker& maker) {
  const auto names = [](const auto& list, const std::string& axis) {
    return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.axis == axis; });
  };
  const std::vector<std::string> axes = axes_of(maker.schema());
  const auto is_said = [&](const std::string& axis) {
    return names(options.rows_per_sample, axis) || names(options.rows, axis);
  };
  if (std::all_of(axes.begin(), axes.end(), is_said)) return;
  for (const RowsPerSample& mean : rows_per_sample(maker)) {
    if (!is_said(mean.axis)) options.rows_per_sample.push_back(mean);
  }
}

}  // namespace

FeederOptions feeding_options(const ServeOptions& options) {
  return {.workers = options.workers.value_or(0), .stash = options.stash};
}

DatasetOptions served_dataset(const ServeOptions& options) {
  DatasetOptions dataset = options.dataset;
  if (options.epochs.value_or(0) != 0) dataset.epochs = options.epochs;
  return dataset;
}

ProducerOptions serving_options(const ServeOptions& options, const Dataset& dataset) {
  ProducerOptions serving = options.producer;
  ProducerOptions made = producer_options(dataset.maker(), serving.stream, true);
  divide_by_means(serving, dataset.maker());
  serving.schema = std::move(made.schema);
  serving.samples_per_epoch = made.samples_per_epoch;
  serving.recipe_json = std::move(made.recipe_json);
  serving.identity = std::move(made.identity);
  serving.pure = made.pure;
  serving.known_ids = std::move(made.known_ids);
  serving.known_names = std::move(made.known_names);
  serving.lengths = std::move(made.lengths);
  serving.device_stage = dataset.device_stage();
  serving.grid = dataset.grid();
  serving.epochs = options.epochs.value_or(0);
  serving.log = console_log(options.verbose);
  if (options.dataset.cache) {
    serving.cache_statistics = [&dataset] { return cache_json(dataset.cache_stats()); };
  }
  return serving;
}

void rehearse_serving(const ServeOptions& options, const ProducerOptions& serving,
                      const Dataset& dataset) {
  check_longest_sample(serving, dataset.maker(), !options.dataset.shard);
  Schema fields = serving.schema;
  fields.push_back({std::string(sample_id_name), DType::u64, {}});
  // It is mapped twice. Rows take what is left of the memory.
  const std::uint64_t ring_bytes =
      2 * (axes_of(fields).empty() ? plan_ring(fields, serving.memory, page_bytes()).total_bytes()
                                   : serving.memory);
  const CacheOptions cache = cache_of(served_dataset(options));
  require_memory(ring_bytes / 2, memory_of(cache),
                 detail::stash_bytes(dataset.maker(), ring_bytes / 2, options.stash));
  const unsigned threads = std::max(1U, options.workers.value_or(0)) + threads_besides_workers;
  const std::string what = "`batchcast serve`";
  share_one_heap();
  try {
    rehearse_threads(threads, ring_bytes + address_space_besides, what);
  } catch (const SystemError& error) {
    rehearse_threads(threads, address_space_besides, what);  // throws where it is not the ring
    throw SystemError(
        text("batchcast: the ring of --memory {} takes {} of address space, more than this process "
             "may have. Give the stream less (--memory), or the process more (`ulimit -v`)",
             memory_argument(serving.memory), bytes_text(ring_bytes)),
        error.code());
  }
}

void say_what_is_served(const Producer& producer) {
  constexpr std::uint64_t usual_batch = 256;
  const Placement host;
  const std::vector<RingInfo> rings = producer.stats().rings;
  for (const RingInfo& ring : rings) {
    if (ring.capacity >= usual_batch) continue;
    const bool on_host = ring.placement == host.text();
    say(fmt::format("batches of more than {} will not fit{}: more --{}memory\n",
                    counted(ring.capacity, "sample"), on_host ? "" : text(" on {}", ring.placement),
                    on_host ? "" : "device-"));
  }
  const std::string epoch_text =
      producer.samples_per_epoch() == 0
          ? "epochs of any length"
          : text("{} an epoch", counted(producer.samples_per_epoch(), "sample"));
  std::string text = fmt::format(
      "serving stream `{}` in {}: {}, ring of {}, {}", producer.stream(), producer.directory(),
      epoch_text, counted(producer.capacity(), "sample"), bytes_text(producer.memory()));
  for (const RingInfo& ring : rings) {
    if (ring.placement == host.text()) continue;
    text += fmt::format("; on {} of {}, {}", ring.placement, counted(ring.capacity, "sample"),
                        bytes_text(ring.memory));
  }
  say(text + "\n");
}

}  // namespace batchcast::inline v0_1::serving
