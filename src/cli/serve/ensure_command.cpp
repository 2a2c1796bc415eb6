// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/console.hpp"
#include "cli/serve/python.hpp"
#include "cli/serve/serve_options.hpp"
#include "start/ensure.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/starting/start_answer.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace batchcast::cli {
namespace {

struct Options {
  ServeOptions serve;
  std::string directory;
  double timeout_s = 30;
  std::vector<std::uint32_t> trust_uids;
  bool with_parent = false;
};

detail::EnsureRequest request_of(const Options& options, const CLI::App& ensure) {
  const DatasetOptions& dataset = options.serve.dataset;
  detail::EnsureRequest request;
  request.stream = options.serve.stream;
  request.directory = options.directory;
  constexpr double longest_s = std::numeric_limits<int>::max() / 1000;
  request.timeout_ms =
      options.timeout_s < 0 ? -1 : static_cast<int>(std::min(options.timeout_s, longest_s) * 1000);
  request.allow_uids = options.trust_uids;
  std::vector<std::string> own = {"help", "timeout", "directory", "trust-uid", "with-parent"};
  // A trainer reads words, whatever it hands on to `serve`.
  request.json = options.serve.json && !options.with_parent;
  if (request.json) own.emplace_back("json");
  const std::vector<std::string> given = words_given(ensure, own);
  request.serve = {std::filesystem::read_symlink("/proc/self/exe").string(), "serve",
                   dataset.source, "--stream", options.serve.stream};
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

void add_own_options(CLI::App& ensure, Options& options) {
  ensure
      .add_option("--timeout", options.timeout_s,
                  "Seconds to wait until it is served, its dataset opened; -1: for ever")
      ->capture_default_str()
      ->check(any_seconds_or_forever());
  ensure.add_option("--directory", options.directory,
                    "Where to look for the stream, instead of the usual places");
  ensure
      .add_option("--trust-uid", options.trust_uids,
                  "Another user, besides this one and root, whose producer is trusted")
      ->allow_extra_args(false);
  ensure.add_flag("--with-parent", options.with_parent,
                  "End when the process that started this command dies; what was started stays");
}

/// A shard is compared by its number, and the producer's environment need not be this one's.
void settle_shard(const Options& options, detail::EnsureRequest& request) {
  DatasetOptions dataset = options.serve.dataset;
  if (!dataset.shard) return;
  cli::settle_shard(dataset);
  const std::string word = "--shard=" + *options.serve.dataset.shard;
  const std::string settled = "--shard=" + *dataset.shard;
  std::replace(request.serve.begin(), request.serve.end(), word, settled);
  std::replace(request.asked.arguments.begin(), request.asked.arguments.end(), word, settled);
}

int run(const Options& options, const CLI::App& ensure) {
  detail::EnsureRequest request = request_of(options, ensure);
  try {
    check_serve_options(options.serve);
    settle_shard(options, request);
  } catch (const CLI::Error& invalid) {
    const std::string text = std::string("batchcast: ") + invalid.what();
    return detail::give_answer({detail::ensure_word::invalid, text}, request);
  } catch (const InvalidArgument& invalid) {
    return detail::give_answer({detail::ensure_word::invalid, invalid.what()}, request);
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
  ensure->add_option("stream", options->serve.stream, "Name of the stream")->required();
  add_own_options(*ensure, *options);
  add_serve_options(*ensure, options->serve);
  ensure->callback([options, ensure, &chosen] {
    chosen = [options, ensure] { return run(*options, *ensure); };
  });
}

}  // namespace batchcast::cli
