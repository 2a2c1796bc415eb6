// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "options/start_options.hpp"

namespace batchcast::inline v0_1::options {

const Table<StartOptions>& start_options() {
  using Start = StartOptions;
  static const Table<Start> table = [] {
    Table<Start> made;
    made.heading("The samples: a stream with others is refused with RecipeMismatch");
    made.add("source", &Start::source, "The dataset, as on the command line.").needed();
    made.path("recipe", &Start::recipe,
              "A preset's name or the path of a TOML file; without, each part is a field, "
              "unchanged.");
    made.add("seed", &Start::seed, "Seed of the order and of all draws; 0 by default.");
    made.heading("The process: a stream that is already served keeps its own");
    made.bytes("memory", &Start::memory,
               "Upper limit for the samples in host memory, as bytes or a text.");
    made.add("epochs", &Start::epochs, "Epochs to make; 0: endless.");
    made.add("wait_for", &Start::wait_for, "The first sample waits for this many trainers.");
    made.add("idle_exit", &Start::idle_exit_s,
             "The producer ends once no trainer has been there for this many seconds.")
        .above_zero()
        .or_forever();
    made.add(
        "arguments", &Start::arguments,
        "Further words of `batchcast serve`; those that say what samples are count with them.");
    made.path("command", &Start::command, "The file to run, instead of the package's own.");
    made.heading("Texts, which become tokens first: they say which samples there are");
    made.path("tokenizer", &Start::tokenizer,
              "A folder with tokenizer.json, or a tokenizer's name on the Hub.");
    made.path("chat_template", &Start::chat_template,
              "A file with the template of chats, instead of the tokenizer's; trl: TRL's for "
              "training.")
        .with("tokenizer");
    made.path("corpus", &Start::corpus,
              "The folder that keeps what was tokenised; by default below $XDG_CACHE_HOME.")
        .with("tokenizer");
    return made;
  }();
  return table;
}

}  // namespace batchcast::inline v0_1::options
