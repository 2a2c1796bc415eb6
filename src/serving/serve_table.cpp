// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serving/serve_table.hpp"

#include "data/spec/source_kind_names.hpp"

#include <batchcast/core/dtype.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/data/order.hpp>
#include <batchcast/data/recipe.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::serving {
namespace {

using options::Option;
using options::Options;
using options::Table;

[[nodiscard]] std::vector<std::string> strings(const auto& names) {
  return {names.begin(), names.end()};
}

[[nodiscard]] std::string preset_list() {
  std::string list;
  for (const std::string_view name : Recipe::preset_names()) {
    list += (list.empty() ? "" : ", ") + std::string(name);
  }
  return list;
}

// ---- The dataset.

void add_samples(Table<DatasetOptions>& table) {
  table.heading("The samples");
  table
      .add("source", &DatasetOptions::source,
           text("The dataset: {}; made, not read: synthetic:SHAPE.", detail::source_examples()))
      .needed()
      .only_command();
  table.path("recipe", &DatasetOptions::recipe,
             text("What to do with the samples: a TOML file, or a preset ({}); without one each "
                  "part is a field, unchanged.",
                  preset_list()));
  table.add("seed", &DatasetOptions::seed, "Seed of the order and of all draws; 0 by default.");
  table.add("shard", &DatasetOptions::shard,
            "Of a job on several nodes, this node's part. `blocks`: of every batch what its ranks "
            "here get, as their groups say. I/N: the I-th, from 0, of N disjoint shares of every "
            "epoch; auto: this node's, by torchrun, srun or Kubernetes.");
  table.add(
      "cache", &DatasetOptions::cache,
      "Bytes, such as 8GiB, in which decoded coefficients of JPEGs are kept from one epoch to "
      "the next; the samples stay the same.");
}

void add_bad_samples(Table<DatasetOptions>& table) {
  table.heading("Bad samples");
  table
      .add("on_bad_sample", &DatasetOptions::on_bad_sample,
           "`error`, the default: the stream fails; `substitute`: the next sample replaces a bad "
           "one.")
      .one_of({"error", "substitute"});
  table.add("max_bad", &DatasetOptions::bad_samples_max,
            "With `substitute`: how many different samples may be bad; 1000 by default.");
  table.path("bad_list", &DatasetOptions::bad_list,
             "With `substitute`: the file that lists them, a line each: id, name, reason.");
}

void add_texts(Table<DatasetOptions>& table) {
  table.heading("Texts");
  table.add("tokenizer", &DatasetOptions::tokenizer,
            "Make tokens of the texts of jsonl:FILES, text:FILES, parquet:FILES or "
            "huggingface:DIR first, once: a folder with tokenizer.json, or a name on the Hub.");
  table
      .path("chat_template", &DatasetOptions::chat_template,
            "A file with the template of chats, instead of the tokenizer's; trl: TRL's for "
            "training.")
      .with("tokenizer");
  table
      .add("train_on", &DatasetOptions::train_on,
           "Which tokens of a chat are trained: `assistant`, the default, all answers; "
           "`completion`, the last one; `all`.")
      .one_of({"assistant", "completion", "all"})
      .with("tokenizer");
  table
      .add("no_eos", &DatasetOptions::no_eos,
           "Put no EOS of the tokenizer behind each document of plain text.")
      .with("tokenizer");
  table
      .path("corpus", &DatasetOptions::corpus,
            "The folder that keeps what was tokenised; by default below $XDG_CACHE_HOME.")
      .with("tokenizer");
}

void add_token_limit(Table<DatasetOptions>& table) {
  table.heading("Texts");
  table
      .add("max_tokens", &DatasetOptions::max_tokens,
           "Tokens that a sample has at most, of any source without `recipe`, which says it else. "
           "The source has to know all lengths.")
      .from(1, max_tokens_max);
  table
      .add("overlong", &DatasetOptions::overlong,
           "What becomes of samples beyond `max_tokens`: `error`, the default: the stream does not "
           "begin; `truncate`: they have their first tokens; `drop`; `split`: into samples of that "
           "many tokens.")
      .one_of(strings(overlong_names))
      .with("max_tokens");
}

void add_synthetic(Table<DatasetOptions>& table) {
  table.heading("Synthetic samples");
  table.add("dtype", &DatasetOptions::dtype, "Type of the image's elements; f32 by default.")
      .one_of(strings(dtype_names));
  table.add("samples", &DatasetOptions::samples, "Samples of an epoch; 50000 by default.").from(1);
  table
      .add(
          "order", &DatasetOptions::order,
          "`reshuffle`, the default: every epoch has its own order; `fixed`: all have one shuffle; "
          "`sequential`; `blocks`; `packed`. It is of any source without `recipe`, which says it "
          "else.")
      .one_of(strings(order_mode_names));
  table
      .add("pack", &DatasetOptions::pack,
           "With order `packed`: the budget whose batches are to be full, such as tokens=8192. The "
           "source has to know all lengths.")
      .with("order");
  table
      .add("among", &DatasetOptions::among,
           "With order `packed`: how many neighbours in the shuffle are arranged together; 4096 by "
           "default.")
      .from(2, PackedOptions::among_max)
      .with("pack");
}

[[nodiscard]] Table<DatasetOptions> finished_on_gpus() {
  Table<DatasetOptions> table;
  table.heading("GPUs");
  table
      .add("finish_on_gpu", &DatasetOptions::finish_on_gpu,
           "Leave the end of each image (horizontal_flip, to, normalize) to these GPUs; host "
           "memory then holds u8 pixels.")
      .with("place");
  return table;
}

// ---- The stream.

[[nodiscard]] Table<ProducerOptions> stream_options() {
  Table<ProducerOptions> table;
  table.heading("The stream");
  table.add("stream", &ProducerOptions::stream, "Name of the stream.").needed();
  table.bytes("memory", &ProducerOptions::memory, "Bytes for samples in host memory, at most.");
  table.add("rows", &ProducerOptions::rows,
            "Of a stream with axes: how many rows of an axis the ring has, such as tokens=64M, "
            "instead of what `rows_per_sample` makes of the memory.");
  table.add("rows_per_sample", &ProducerOptions::rows_per_sample,
            "Of a stream with axes: about how many rows a sample has, such as tokens=400.");
  table
      .add("ahead", &ProducerOptions::ahead,
           "Epochs to produce ahead of the fastest consumer; 0: as many as fit in memory, which is "
           "also the limit. Without a consumer they count from where the next one would begin.")
      .settable();
  return table;
}

[[nodiscard]] Table<ProducerOptions> head_options() {
  Table<ProducerOptions> table;
  table.heading("Other places");
  table
      .add("heads", &ProducerOptions::heads,
           "At how many places a stream with a recipe is served at most, so that a trainer whose "
           "cursor the ring no longer has gets its samples all the same; 1: the ring only.")
      .from(1, heads_max)
      .initial = std::uint64_t{ServeOptions().producer.heads};
  table.bytes("head_memory", &ProducerOptions::head_memory,
              "Bytes for samples at each other place, while it has trainers; by default a quarter "
              "of `memory`.");
  table
      .add("catch_up", &ProducerOptions::catch_up,
           "The share of the workers' time that the place furthest behind gets at most, below 1.")
      .as_share();
  return table;
}

[[nodiscard]] Table<ProducerOptions> gpu_options() {
  Table<ProducerOptions> table;
  table.heading("GPUs");
  table
      .add("place", &ProducerOptions::places,
           "GPUs to serve the stream on as well, such as cuda:0,cuda:1; all trainers on a GPU "
           "share its ring.")
      .or_one();
  table
      .bytes("device_memory", &ProducerOptions::device_memory,
             "Bytes for samples on each of these GPUs, at most; by default as many as in host "
             "memory.")
      .with("place");
  table
      .add("host_field", &ProducerOptions::host_fields,
           "Fields that stay in host memory for trainers on GPUs too, as sample_id does.")
      .with("place")
      .or_one();
  return table;
}

[[nodiscard]] Table<ProducerOptions> trainer_options() {
  Table<ProducerOptions> table;
  table.heading("Its trainers");
  table.add("wait_for", &ProducerOptions::wait_for,
            "Begin once this many consumers are attached; the ranks of a group count as one.");
  table.add("max_consumers", &ProducerOptions::max_consumers, "Places for consumers.")
      .from(1, limits::consumers_max);
  table
      .add("on_stall", &ProducerOptions::on_stall,
           "What happens to a consumer that keeps the stream waiting: `report` it, or `evict` it. "
           "With `own_place` one that is slow goes on in a head (`heads`), and the others go on.")
      .settable();
  table
      .milliseconds("stall_timeout", &ProducerOptions::stall_timeout_ms,
                    "Seconds that a consumer may keep the stream waiting before `on_stall` "
                    "applies.")
      .above_zero()
      .settable();
  return table;
}

[[nodiscard]] Table<ProducerOptions> surroundings() {
  Table<ProducerOptions> table;
  table.heading("The process");
  table
      .add("free_running", &ProducerOptions::free_running,
           "Produce also while no consumer in lockstep is attached.")
      .settable();
  table.add("huge_pages", &ProducerOptions::huge_pages,
            "Whether the ring lies in huge pages; auto: above 4 GiB, where the system has them.");
  table
      .add("allow_uid", &ProducerOptions::allow_uids,
           "Other users who may attach, where producer and trainers run as different users.")
      .or_one();
  return table;
}

void add_process(Table<ServeOptions>& table) {
  table.heading("The process");
  add_workers(table, &ServeOptions::workers);
  table
      .bytes("stash", &ServeOptions::stash,
             "Of a stream with axes whose lengths making tells: bytes for finished samples that "
             "wait for their rows; by default an eighth of `memory`.")
      .or_zero();
  table
      .add("linger", &ServeOptions::linger_s,
           "Seconds to stay after the last epoch for consumers that still read, counted once those "
           "of `wait_for` are there.")
      .or_forever();
  table
      .add("idle_exit", &ServeOptions::idle_exit_s,
           "End the stream once no consumer has been attached for this many seconds, also while "
           "those of `wait_for` are to come; an observer such as `peek` does not count.")
      .above_zero()
      .settable();
  table
      .add("keep_alive", &ServeOptions::keep_alive,
           "Start the producer again whenever a signal kills it, such as the kernel's where memory "
           "is short; its trainers wait meanwhile, and go on.")
      .only_command();
  table
      .add("give_up_after", &ServeOptions::give_up_after,
           "Start it again only until that many producers in a row were killed before they "
           "published more than those before; their trainers get StreamFailed then. 0: for ever.")
      .only_command();
  table
      .add("replace", &ServeOptions::replace,
           "Kill the producer that has the stream's name, once this one is ready to serve; its "
           "trainers go on here if data and recipe are the same, and fail if not.")
      .only_command();
  table.include(&ServeOptions::producer, surroundings());
  table.add("json", &ServeOptions::json, "Print one JSON object at the end.").only_command();
  table.add("verbose", &ServeOptions::verbose, "Report more.").command("verbose,-v");
  table
      .add("log_format", &ServeOptions::log_format,
           "How it reports on stderr: as text, or one object a line.")
      .one_of({"text", "json"})
      .only_command();
}

[[nodiscard]] Options chosen(const Options& all, const std::vector<std::string>& names) {
  Options some;
  for (const std::string& name : names) some.push_back(*options::find(all, name));
  return some;
}

}  // namespace

const Table<DatasetOptions>& dataset_options() {
  static const Table<DatasetOptions> table = [] {
    Table<DatasetOptions> made;
    add_samples(made);
    add_bad_samples(made);
    add_texts(made);
    add_token_limit(made);
    add_synthetic(made);
    return made;
  }();
  return table;
}

const Options& inspection_options() {
  static const Options some =
      chosen(dataset_options().options(), {"recipe", "seed", "shard", "max_tokens", "overlong",
                                           "dtype", "samples", "order", "pack", "among"});
  return some;
}

const Table<ServeOptions>& serve_options() {
  static const Table<ServeOptions> table = [] {
    Table<ServeOptions> made;
    made.include(&ServeOptions::dataset, dataset_options());
    made.include(&ServeOptions::producer, stream_options());
    made.heading("The stream");
    made.add("epochs", &ServeOptions::epochs,
             "Epochs to make; 0, the default: until the stream is stopped.");
    made.include(&ServeOptions::producer, head_options());
    made.include(&ServeOptions::producer, gpu_options());
    made.include(&ServeOptions::dataset, finished_on_gpus());
    made.include(&ServeOptions::producer, trainer_options());
    add_process(made);
    return made;
  }();
  return table;
}

std::vector<std::string> given_for_samples(const ServeOptions& options) {
  static const Options some = [] {
    const Options& all = serve_options().options();
    Options made;
    for (const Option& option : dataset_options().options()) {
      if (option.is_for_python) made.push_back(*options::find(all, option.name));
    }
    for (const char* const name : {"finish_on_gpu", "workers"}) {
      made.push_back(*options::find(all, name));
    }
    return made;
  }();
  std::vector<std::string> given = options::changed(some, &options);
  if (options.dataset.seed == 0)
    std::erase(given, "seed");  // a trainer of version 0.1 always says it
  return given;
}

}  // namespace batchcast::inline v0_1::serving
