// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/interrupts.hpp"
#include "cli/output.hpp"
#include "cli/recipe/board_recipe.hpp"
#include "cli/recipe/scale_remarks.hpp"
#include "cli/serve/dataset_check.hpp"
#include "core/usable_processors.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/data/recipe.hpp>
#include <batchcast/data/source.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <memory>
#include <optional>

// Reads and decodes a whole dataset once, and lists what is wrong with it.
namespace batchcast::cli {
namespace {

struct Options {
  std::string source;
  std::optional<std::string> recipe;
  std::optional<std::string> list;
  unsigned workers = 0;
  bool json = false;
};

struct Outcome {
  std::uint64_t checked = 0;
  std::uint64_t samples = 0;
  double seconds = 0;
  std::vector<BadSampleReport> bad;
  std::vector<LaterBad> later;
  std::vector<std::string> remarks = {};  ///< on the recipe
};

Outcome check(const Options& options, const std::shared_ptr<const Source>& source,
              const std::optional<Recipe>& recipe, Interrupts& interrupts) {
  const unsigned workers = options.workers != 0 ? options.workers : usable_processors();
  const std::uint64_t started_ns = now_ns();
  const std::uint64_t samples = source->size();
  DatasetCheck checking(source, recipe);
  checking.start(workers);
  ProgressLine progress;
  while (!checking.wait(100)) {
    if (interrupts.wait(0) != 0) checking.stop();
    if (!progress.due()) continue;
    const std::uint64_t done = checking.checked();
    const double seconds = seconds_from_ns(now_ns() - started_ns);
    const double rate = static_cast<double>(done) / std::max(seconds, 1e-3);
    progress.show(fmt::format(
        "{} {} of {}  {}/s{}  {} bad", bar_text(done, samples), count_text(done),
        counted(samples, "sample"), counted(static_cast<std::uint64_t>(rate), "sample"),
        left_text(static_cast<double>(samples - done) / rate), count_text(checking.bad_count())));
  }
  progress.finish();
  return {checking.checked(), samples, seconds_from_ns(now_ns() - started_ns), checking.take_bad(),
          checking.take_later()};
}

void write_list(const std::string& path, const std::vector<BadSampleReport>& bad) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  for (const BadSampleReport& report : bad) {
    file << report.sample_id << '\t' << report.name << '\t' << report.reason << '\n';
  }
  file.close();
  if (!file) throw SystemError(text("batchcast: cannot write the list {}", path), errno);
}

nlohmann::json later_json(const std::vector<LaterBad>& later) {
  nlohmann::json list = nlohmann::json::array();
  for (const LaterBad& one : later) {
    list.push_back({{"field", one.field},
                    {"stage", one.stage},
                    {"samples", one.samples},
                    {"name", one.name},
                    {"reason", one.reason}});
  }
  return list;
}

void print_outcome(const Options& options, const Outcome& outcome) {
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const BadSampleReport& report : outcome.bad) {
      list.push_back(
          {{"sample_id", report.sample_id}, {"name", report.name}, {"reason", report.reason}});
    }
    print_json({{"source", options.source},
                {"samples", outcome.samples},
                {"checked", outcome.checked},
                {"seconds", outcome.seconds},
                {"bad", outcome.bad.size()},
                {"list", std::move(list)},
                {"later", later_json(outcome.later)},
                {"remarks", outcome.remarks}});
    return;
  }
  for (const BadSampleReport& report : outcome.bad) {
    fmt::print("{}: {}\n", printable(report.name), printable(report.reason));
  }
  for (const LaterBad& one : outcome.later) {
    fmt::print("in a later epoch the stage `{}` of the field `{}` may refuse {}, such as {}; {}\n",
               one.stage, one.field, counted(one.samples, "sample"), printable(one.name),
               printable(one.reason));
  }
  fmt::print("{} of {} checked in {:.1f} s, {} bad\n", count_text(outcome.checked),
             counted(outcome.samples, "sample"), outcome.seconds, count_text(outcome.bad.size()));
}

int run(const Options& options) {
  if (options.list && options.list->empty()) {
    throw InvalidArgument("batchcast: --list needs the name of a file.");
  }
  Interrupts interrupts;
  std::shared_ptr<const Source> source;
  std::optional<Recipe> recipe;
  std::vector<std::string> remarks;
  {
    const EndsAtOnce opening(interrupts);
    source = open_source(options.source);
    if (options.recipe) recipe = Recipe::load(*options.recipe);
  }
  for (const std::string& remark : source->remarks()) {
    say(fmt::format("{}: {}\n", printable(options.source), printable(remark)));
  }
  if (recipe) {
    const nlohmann::json board = {{"recipe", nlohmann::json::parse(recipe->to_json())}};
    remarks = scale_remarks(BoardRecipe(board.dump()));
  }
  for (const std::string& remark : remarks) say(printable(remark) + "\n");
  Outcome outcome = check(options, source, recipe, interrupts);
  outcome.remarks = std::move(remarks);
  if (options.list) write_list(*options.list, outcome.bad);
  print_outcome(options, outcome);
  const int signal = interrupts.wait(0);
  if (signal != 0 && outcome.checked != outcome.samples) return interrupted_exit(signal);
  return outcome.bad.empty() && outcome.later.empty() ? exit_ok : exit_not_held;
}

}  // namespace

void add_check(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* check = program.add_subcommand(
      "check", "Read and decode a whole dataset once, and list what is wrong");
  check->footer(
      "Images are decoded whole, also what a recipe would not use. The recipe makes\n"
      "each sample as in the first epoch. What stages may refuse in a later one, where\n"
      "draws give an image other sizes, is reported as well. The exit code is 0 only\n"
      "if every sample is good, and stays so.");
  check->add_option("source", options->source, "The dataset, such as imagefolder:DIR")->required();
  check->add_option("--recipe", options->recipe,
                    "Also make every sample by this recipe once; its pixels_max counts");
  check->add_option("--workers", options->workers, "Threads (default: one for each processor)")
      ->check(CLI::Range(1, 256));
  check->add_option("--list", options->list,
                    "File for what is wrong, a line each: id, name, reason");
  check->add_flag("--json", options->json, "Print one JSON object");
  check->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
