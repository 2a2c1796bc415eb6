// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serving/serve_options.hpp"

#include "serving/console.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/named_thread.hpp>
#include <batchcast/feeder.hpp>
#include <batchcast/ring/memory.hpp>
#include "ring/ring_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::serving {
namespace {

// Of the producer, its ZeroMQ and its feeder, and the one that fills in the ring's pages meanwhile.
constexpr unsigned threads_besides_workers = 7;
constexpr std::uint64_t address_space_besides = 32 << 20;  // beside the ring

}  // namespace

DatasetOptions served_dataset(const ServeOptions& options) {
  DatasetOptions dataset = options.dataset;
  if (options.epochs.value_or(0) != 0) dataset.epochs = options.epochs;
  return dataset;
}

ProducerOptions serving_options(const ServeOptions& options, const Dataset& dataset) {
  ProducerOptions serving = options.producer;
  ProducerOptions made = producer_options(dataset.maker(), serving.stream);
  serving.schema = std::move(made.schema);
  serving.samples_per_epoch = made.samples_per_epoch;
  serving.recipe_json = std::move(made.recipe_json);
  serving.identity = std::move(made.identity);
  serving.pure = made.pure;
  serving.device_stage = dataset.device_stage();
  serving.epochs = options.epochs.value_or(0);
  serving.log = console_log(options.verbose);
  return serving;
}

void rehearse_serving(const ServeOptions& options, const ProducerOptions& serving) {
  Schema fields = serving.schema;
  fields.push_back({std::string(sample_id_name), DType::u64, {}});
  const std::uint64_t ring_bytes =
      2 * plan_ring(fields, serving.memory, page_bytes()).total_bytes();  // it is mapped twice
  const unsigned threads = std::max(1U, options.workers.value_or(0)) + threads_besides_workers;
  const std::string what = "`batchcast serve`";
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
