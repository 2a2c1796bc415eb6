// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "cli/serve/python.hpp"
#include "options/table.hpp"

#include <batchcast/core/error.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::cli {
namespace {

struct Options {
  std::string source;
  std::string tokenizer;
  std::string out;
  std::optional<std::string> chat_template;
  std::optional<std::string> train_on;
  bool no_eos = false;
  double test = 0;
  std::optional<std::string> on_bad_sample;
  std::uint32_t workers = 0;
  bool json = false;
};

options::Table<Options> tokenize_options() {
  options::Table<Options> table;
  table.heading("The texts");
  table
      .add("source", &Options::source,
           "The texts: jsonl:FILES, text:FILES, parquet:FILES or huggingface:DIR; with "
           "`?column=NAME` where the text is in another column than `text`.")
      .needed();
  table
      .add("test", &Options::test,
           "Which part of the rows, such as 0.01, goes to OUT.test instead: a hash of each row "
           "decides.")
      .as_share();
  table
      .add("on_bad_sample", &Options::on_bad_sample,
           "`error`, the default: a bad row ends the run; `skip`: it is left out, and named.")
      .one_of({"error", "skip"});
  table.heading("The tokens");
  table
      .add("tokenizer", &Options::tokenizer,
           "A folder with tokenizer.json, or a tokenizer's name on the Hub.")
      .needed();
  table.add("chat_template", &Options::chat_template,
            "A file with the template of chats, instead of the tokenizer's; trl: TRL's for "
            "training.");
  table
      .add("train_on", &Options::train_on,
           "Which tokens of a chat are trained: `assistant`, the default, all answers; "
           "`completion`, the last one; `all`.")
      .one_of({"assistant", "completion", "all"});
  table.add("no_eos", &Options::no_eos,
            "Put no EOS of the tokenizer behind each document of plain text.");
  table.heading("The run");
  table
      .add("out", &Options::out,
           "Where the corpus is to be: OUT.bin, OUT.idx, OUT.json, and OUT.loss_mask of chats.")
      .needed();
  table.add("workers", &Options::workers,
            "Processes that tokenise; 0, the default: one for each core.");
  table.add("json", &Options::json, "Print one JSON object at the end.").only_command();
  return table;
}

int run(const Options& options, const CLI::App& tokenize) {
  const Python python = python_for(options.source);
  std::vector<std::string> words = {python.file, "-m", "batchcast._text", options.source};
  const std::vector<std::string> given = words_given(tokenize, {"help"});
  words.insert(words.end(), given.begin(), given.end());
  become(std::move(words));
}

}  // namespace

void add_tokenize(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* tokenize = program.add_subcommand("tokenize", "Make tokens of texts and chats, once");
  tokenize->footer(
      "Example: chats become a corpus, which trainers of any context length share.\n"
      "  batchcast tokenize \"jsonl:chat/*.jsonl\" --tokenizer DIR --out corpus\n"
      "  batchcast serve megatron:corpus --stream chat\n"
      "\n"
      "Ctrl-C ends it; the same command then goes on where it was. It runs Hugging\n"
      "Face's tokenizers in the Python of $BATCHCAST_PYTHON, else of $VIRTUAL_ENV,\n"
      "else of the PATH.");
  add_options(*tokenize, tokenize_options(), *options, {"source"});
  tokenize->callback([options, tokenize, &chosen] {
    chosen = [options, tokenize] { return run(*options, *tokenize); };
  });
}

}  // namespace batchcast::cli
