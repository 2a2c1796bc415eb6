// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "cli/child_process.hpp"
#include "cli/command.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/ring/capacity.hpp>
#include <batchcast/ring/memory.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

// How many batches a second change hands, of any size: the producer touches 16 bytes and
// the ids of each, and consumers check them.
namespace batchcast::cli {
namespace {

constexpr std::uint64_t samples_per_batch = 64;
constexpr const char* stream_name = "bench";

struct Options {
  std::uint64_t batch_bytes = 38'535'168;
  std::uint64_t batches = 200'000;
  std::uint32_t consumers = 1;
  std::uint64_t in_flight = 16;
  bool group = false;
  bool axis = false;
  bool budgets = false;
  bool windows = false;
  bool whole = false;
  bool json = false;
  // Of the hidden consumer.
  std::string directory;
  std::uint32_t rank = 0;
};

options::Table<Options> ring_options() {
  options::Table<Options> table;
  table.heading("The measurement");
  table.bytes("batch_bytes", &Options::batch_bytes, "Bytes of a batch of 64 samples.");
  table.add("batches", &Options::batches, "Batches to hand over.").from(1);
  table.add("consumers", &Options::consumers, "Consumers, each of which takes every batch.")
      .from(1, limits::consumers_max);
  table.add("in_flight", &Options::in_flight, "Batches that the ring holds.").from(1);
  table.add("group", &Options::group,
            "The consumers are the ranks of a group: each takes its part.");
  table.add("axis", &Options::axis,
            "The samples have rows of four bytes on an axis, in place of one shape.");
  table
      .add("budgets", &Options::budgets,
           "With `axis`: each consumer cuts its batches by another budget of rows.")
      .with("axis");
  table
      .add("windows", &Options::windows,
           "With `axis`: each consumer takes runs of another number of rows, cut through samples: "
           "512, 2048, 4096 or 16,384.")
      .with("axis");
  table.add("whole", &Options::whole,
            "Write and read every byte, where else the ends of a batch are marked.");
  table.add("json", &Options::json, "Print one JSON object.");
  return table;
}

std::uint64_t word_at(std::span<const std::byte> sample) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, sample.data(), sizeof word);
  return word;
}

constexpr const char* axis_name = "rows";
constexpr std::uint64_t row_bytes = 4;

/// All bytes of the batch's first field.
std::span<const std::byte> bytes_of(const Batch& batch) { return batch.all<std::byte>(0).span(); }

/// Looks at every byte; as fast as memory is read.
std::uint64_t sum_of(std::span<const std::byte> bytes) noexcept {
  std::uint64_t sum = 0;
  std::size_t at = 0;
  for (; at + sizeof sum <= bytes.size(); at += sizeof sum) sum += word_at(bytes.subspan(at));
  for (; at < bytes.size(); ++at) sum += static_cast<std::uint64_t>(bytes[at]);
  return sum;
}

/// A consumer of a stream whose samples are alike, and wholly written and read.
int run_whole_consumer(const Options& options) {
  ConsumerOptions attaching{.stream = stream_name,
                            .batch_size = samples_per_batch,
                            .name = "bench",
                            .directory = options.directory};
  const std::uint64_t rows = options.batch_bytes / samples_per_batch / row_bytes;
  if (options.budgets) {
    attaching.batch_size = ConsumerOptions().batch_size;
    attaching.budget = {axis_name, rows * (samples_per_batch - 8 * (options.rank % 4))};
  }
  if (options.windows) {
    constexpr std::array<std::uint64_t, 4> lengths = {512, 2048, 4096, 16'384};
    const std::uint64_t length = lengths[options.rank % lengths.size()];
    const std::uint64_t all = samples_per_batch * rows;  // of a batch of the fixed stream
    attaching.batch_size = ConsumerOptions().batch_size;
    attaching.window = {axis_name, length, std::max<std::uint64_t>(1, all / length)};
  }
  Consumer consumer(attaching);
  std::uint64_t sum = 0;
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
  for (const Batch& batch : consumer) {
    if (options.whole) sum += sum_of(bytes_of(batch));
    samples += batch.size();
    bytes += bytes_of(batch).size();
  }
  const std::uint64_t ended_ns = now_ns();
  if (options.windows) {
    samples = options.batches * samples_per_batch;  // what is dropped has none
    bytes += consumer.stats().dropped_rows * row_bytes;
  }
  const std::uint64_t seen = bytes - consumer.stats().dropped_rows * row_bytes;
  const std::uint64_t words = seen / sizeof(std::uint64_t);
  std::uint64_t bad = samples != options.batches * samples_per_batch ? 1 : 0;
  bad += bytes != options.batches * options.batch_bytes ? 1 : 0;
  bad += options.whole && sum != words * 0x0101'0101'0101'0101 ? 1 : 0;
  bad += consumer.stats().epochs_matched != 1 ? 1 : 0;
  print_json({{"ended_ns", ended_ns}, {"bad", bad}});
  return exit_ok;
}

int run_consumer(const Options& options) {
  if (options.axis || options.whole) return run_whole_consumer(options);
  const std::uint64_t part = samples_per_batch / (options.group ? options.consumers : 1);
  ConsumerOptions attaching{
      .stream = stream_name, .batch_size = part, .name = "bench", .directory = options.directory};
  if (options.group) attaching.group = {"bench", options.rank, options.consumers};
  Consumer consumer(attaching);
  std::uint64_t bad = 0;
  std::uint64_t start = 0;
  for (const Batch& batch : consumer) {
    const auto data = batch.field<std::byte>(0);
    std::uint64_t expected = start + (options.group ? options.rank * part : 0);
    // The producer marks the first and the last sample of the batch of all.
    const bool is_last = !options.group || options.rank + 1 == options.consumers;
    if (options.rank == 0) bad += word_at(data[0]) != expected;
    if (is_last) bad += word_at(data[batch.size() - 1]) != expected + batch.size() - 1;
    for (const std::uint64_t id : batch.sample_ids()) bad += id != expected++;
    start += samples_per_batch;
  }
  const std::uint64_t ended_ns = now_ns();
  bad += start != options.batches * samples_per_batch;
  bad += consumer.has_next_epoch() ? 1 : 0;  // until the receipts of all ranks are compared
  bad += consumer.stats().epochs_matched != 1;
  print_json({{"ended_ns", ended_ns}, {"bad", bad}});
  return exit_ok;
}

/// Every byte of every sample is 1.
void produce_whole(Producer& producer, const Options& options) {
  const std::uint64_t sample_bytes = options.batch_bytes / samples_per_batch;
  const std::vector<std::byte> source(options.batch_bytes, std::byte{1});
  const std::vector<std::uint64_t> lengths(samples_per_batch, sample_bytes / row_bytes);
  while (auto loan = producer.loan(samples_per_batch)) {
    if (options.axis && !loan->take_rows(axis_name, std::span(lengths).first(loan->size()))) {
      continue;
    }
    std::byte* const to =
        options.axis ? loan->rows<std::byte>(0, 0).data() : loan->field<std::byte>(0).data();
    if (options.whole) std::memcpy(to, source.data(), loan->size() * sample_bytes);
    loan->publish();
  }
}

void produce(Producer& producer) {
  while (auto loan = producer.loan(samples_per_batch)) {
    const auto data = loan->field<std::byte>(0);
    const std::uint64_t position = loan->position();
    const std::uint64_t last = position + loan->size() - 1;
    std::memcpy(data[0].data(), &position, sizeof position);
    std::memcpy(data[loan->size() - 1].data(), &last, sizeof last);
    const auto ids = loan->sample_ids();
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = position + i;
    loan->publish();
  }
}

int run(const Options& options) {
  const std::uint64_t batch_bytes = options.batch_bytes;
  const std::uint64_t sample_bytes = batch_bytes / samples_per_batch;
  if (sample_bytes < 8 || batch_bytes % samples_per_batch != 0) {
    throw InvalidArgument(
        "batchcast: --batch-bytes must be a multiple of 64 samples of at least 8 bytes, that is "
        "512 "
        "or a larger multiple of 64");
  }
  if (options.group && samples_per_batch % options.consumers != 0) {
    throw InvalidArgument(
        "batchcast: --group cuts batches of 64 samples into equal parts: --consumers must be 1, 2, "
        "4, 8, 16, 32 or 64");
  }
  const TemporaryDirectory directory;
  ProducerOptions serving{
      .stream = stream_name,
      .schema = {{"data", DType::u8, {static_cast<std::int64_t>(sample_bytes)}}},
      .samples_per_epoch = options.batches * samples_per_batch,
      .epochs = 1,
      .wait_for = options.group ? 1 : options.consumers};
  Schema all = serving.schema;
  all.push_back({std::string(sample_id_name), DType::u64, {}});
  serving.memory = memory_for(all, options.in_flight * samples_per_batch, page_bytes());
  serving.max_consumers = std::max(options.consumers, serving.max_consumers);
  serving.directory = directory.path();
  if (options.axis) {
    if (sample_bytes % row_bytes != 0 || options.group) {
      throw InvalidArgument(
          "batchcast: --axis has rows of 4 bytes, so --batch-bytes must be a multiple of 256, and "
          "goes without --group");
    }
    const std::uint64_t rows = sample_bytes / row_bytes;
    serving.schema = {{"data", DType::u32, Axis{axis_name}}};
    serving.rows_per_sample = {{axis_name, static_cast<double>(rows)}};
    serving.memory += serving.memory / 8 + (std::uint64_t{1} << 20);  // for the table
  }
  Producer producer(serving);
  std::vector<ChildProcess> children;
  for (std::uint32_t i = 0; i < options.consumers; ++i) {
    std::vector<std::string> words = {"bench",       "ring-consumer",
                                      "--directory", directory.path(),
                                      "--batches",   std::to_string(options.batches)};
    if (options.axis || options.whole) {
      words.insert(words.end(), {"--rank", std::to_string(i), "--batch-bytes",
                                 std::to_string(options.batch_bytes)});
    }
    if (options.axis) words.emplace_back("--axis");
    if (options.budgets) words.emplace_back("--budgets");
    if (options.windows) words.emplace_back("--windows");
    if (options.whole) words.emplace_back("--whole");
    if (options.group) {
      for (const std::string& word :
           {std::string("--group"), std::string("--rank"), std::to_string(i),
            std::string("--consumers"), std::to_string(options.consumers)}) {
        words.push_back(word);
      }
    }
    children.emplace_back(words);
  }
  while (producer.stats().consumers.size() < options.consumers) ::usleep(1000);
  const std::uint64_t started_ns = now_ns();
  if (options.axis || options.whole) {
    produce_whole(producer, options);
  } else {
    produce(producer);
  }
  std::uint64_t ended_ns = started_ns;
  std::uint64_t bad = 0;
  for (ChildProcess& child : children) {
    const auto report = nlohmann::json::parse(last_line(child.result()));
    ended_ns = std::max(ended_ns, report.at("ended_ns").get<std::uint64_t>());
    bad += report.at("bad").get<std::uint64_t>();
  }
  const double seconds = seconds_from_ns(ended_ns - started_ns);
  const double rate = static_cast<double>(options.batches) / seconds;
  if (options.json) {
    print_json({{"consumers", options.consumers},
                {"group", options.group},
                {"axis", options.axis},
                {"whole", options.whole},
                {"batch_bytes", batch_bytes},
                {"in_flight", producer.capacity() / samples_per_batch},
                {"batches", options.batches},
                {"seconds", seconds},
                {"batches_per_second", rate},
                {"bad", bad}});
  } else {
    fmt::print("{} of {} to {}, {} in flight: {:.2f} s, {} batches/s each, {} bad\n",
               counted(options.batches, "batch", "batches"), bytes_text(batch_bytes),
               counted(options.consumers, options.group ? "rank" : "consumer"),
               producer.capacity() / samples_per_batch, seconds,
               count_text(static_cast<std::uint64_t>(rate)), bad);
  }
  return bad == 0 ? exit_ok : exit_not_held;
}

}  // namespace

void add_bench_ring(CLI::App& bench, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* ring = bench.add_subcommand(
      "ring", "Batches a second from one producer to K consumers, each a separate process");
  add_options(*ring, ring_options(), *options);
  ring->callback([options, &chosen] { chosen = [options] { return run(*options); }; });

  CLI::App* consumer = bench.add_subcommand("ring-consumer", "")->group("");
  consumer->add_option("--directory", options->directory);
  consumer->add_option("--batches", options->batches);
  consumer->add_option("--consumers", options->consumers);
  consumer->add_option("--batch-bytes", options->batch_bytes);
  consumer->add_flag("--group", options->group);
  consumer->add_flag("--axis", options->axis);
  consumer->add_flag("--budgets", options->budgets);
  consumer->add_flag("--windows", options->windows);
  consumer->add_flag("--whole", options->whole);
  consumer->add_option("--rank", options->rank);
  consumer->callback([options, &chosen] { chosen = [options] { return run_consumer(*options); }; });
}

}  // namespace batchcast::cli
