// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "cli/serve/python.hpp"
#include "cli/serve/tokenized.hpp"
#include "serving/serve_table.hpp"
#include "start/ensure.hpp"
#include "start/ray_worker.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/starting/start_answer.hpp>

#include <signal.h>
#include <sys/prctl.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace batchcast::cli {
namespace {

struct Options {
  serving::ServeOptions serve;
  std::string refusal;  ///< of a size or placement: an answer
  std::string directory;
  int timeout_ms = 30'000;
  std::vector<std::uint32_t> trust_uids;
  bool with_parent = false;
};

options::Table<Options> ensure_options() {
  options::Table<Options> table;
  table.heading("The wait");
  table
      .milliseconds("timeout", &Options::timeout_ms,
                    "Seconds to wait until the stream is served; opening its dataset counts.")
      .or_forever()
      .clamped();
  table.path("directory", &Options::directory,
             "Where to look for the stream, instead of the usual places.");
  table.add("trust_uid", &Options::trust_uids,
            "Other users, besides this one and root, whose producers are trusted.");
  table.add("with_parent", &Options::with_parent,
            "End when the process that started this command dies; what was started stays.");
  table.include(&Options::serve, serving::serve_options());
  return table;
}

detail::EnsureRequest request_of(const Options& options, const CLI::App& ensure) {
  const serving::DatasetOptions& dataset = options.serve.dataset;
  const std::string& stream = options.serve.producer.stream;
  detail::EnsureRequest request;
  request.stream = stream;
  request.directory = options.directory;
  request.timeout_ms = options.timeout_ms;
  request.allow_uids = options.trust_uids;
  std::vector<std::string> own = {"help", "timeout", "directory", "trust-uid", "with-parent"};
  own.insert(own.end(), tokenizer_options.begin(), tokenizer_options.end());
  // A trainer reads words, also where it hands `--json` on to `serve`.
  request.json = options.serve.json && !options.with_parent;
  if (request.json) own.emplace_back("json");
  const std::vector<std::string> given = words_given(ensure, own);
  request.serve = {std::filesystem::read_symlink("/proc/self/exe").string(), "serve",
                   dataset.source, "--stream", stream};
  request.serve.insert(request.serve.end(), given.begin(), given.end());
  request.asked.source = dataset.source;
  request.asked.recipe = dataset.recipe.value_or("");
  request.asked.seed = dataset.seed;
  request.asked.arguments = given;
  request.log = [verbose = options.serve.verbose](LogLevel level, std::string_view text) {
    if (level != LogLevel::debug || verbose) say(std::string(text) + "\n");
  };
  return request;
}

/// A shard is compared by its number, and the producer's environment need not be this one's.
void settle_shard(const Options& options, detail::EnsureRequest& request) {
  serving::DatasetOptions dataset = options.serve.dataset;
  if (!dataset.shard) return;
  serving::settle_shard(dataset);
  const std::string word = "--shard=" + *options.serve.dataset.shard;
  const std::string settled = "--shard=" + *dataset.shard;
  std::replace(request.serve.begin(), request.serve.end(), word, settled);
  std::replace(request.asked.arguments.begin(), request.asked.arguments.end(), word, settled);
}

/// Texts become a corpus here, before there is a time-out: what is served and compared is that. A
/// trainer that waits sees the lines of progress, and waits as long as they come.
void tokenize(Options& options) {
  if (options.with_parent) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  options.serve.dataset.source = tokenized_source(options.serve.dataset);
}

int run(Options options, const CLI::App& ensure) {
  detail::EnsureRequest request = request_of(options, ensure);
  if (options.with_parent) {  // a trainer's; in a shell, paths count from where they are typed
    if (!request.directory.empty()) {
      request.directory = std::filesystem::absolute(request.directory).string();
    }
    detail::leave_ray_worker();
  }
  try {
    if (options.refusal.empty() && takes_tokenizer(options.serve.dataset)) {
      tokenize(options);
      request = request_of(options, ensure);
    }
    if (!options.refusal.empty()) throw InvalidArgument(options.refusal);
    settle_shard(options, request);
  } catch (const InvalidArgument& invalid) {
    return detail::give_answer({detail::ensure_word::invalid, invalid.what()}, request);
  } catch (const Error& failed) {
    return detail::give_answer({detail::ensure_word::failed, failed.what()}, request);
  }
  return detail::answer(request, options.with_parent);
}

}  // namespace

void add_ensure(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* ensure =
      program.add_subcommand("ensure", "Start a stream, or say what differs if it runs already");
  ensure->footer(
      "Prints a word and exits: `served` 0; `mismatch` 1, with what differs; `invalid`\n"
      "2; `failed` 3, with what `serve` said; `timeout` 3, and what was started goes\n"
      "on; `refused` 4, it is finished or failed. The text is on the lines below the\n"
      "word; --json prints one object with word, stream, text and recipe instead.\n"
      "Takes every option of `serve`: those that do not change the samples are the\n"
      "first one's to say.\n"
      "Example: whichever trainer comes first starts the stream.\n"
      "  batchcast ensure demo imagefolder:train --recipe imagenet-train \\\n"
      "    --idle-exit 30 && ./trainer");
  add_options(*ensure, ensure_options(), *options, {"stream", "source"}, &options->refusal);
  ensure->callback([options, ensure, &chosen] {
    chosen = [options, ensure] { return run(*options, *ensure); };
  });
}

}  // namespace batchcast::cli
