// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/consume/sample_window.hpp"
#include "cli/interrupts.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "cli/peek/sample_sheet.hpp"
#include "cli/recipe/board_recipe.hpp"
#include "cli/recipe/scale_remarks.hpp"
#include "data/codec/png_writer.hpp"
#include "data/recipe_needed.hpp"
#include "serving/serve_table.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/starting/start_command.hpp>
#include "stream/stream_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <optional>

// A contact sheet of samples: of what trainers see right now, or of what a recipe makes.
namespace batchcast::cli {
namespace {

constexpr std::uint64_t samples_max = SampleSheet::samples_max;

struct Options {
  serving::DatasetOptions dataset;  // its source may be a stream
  std::optional<std::string> positions;
  std::optional<std::string> field;
  std::optional<std::uint64_t> view;
  std::optional<std::uint64_t> count;
  int wait_ms = 5'000;
  std::string out;
  bool json = false;
};

options::Table<Options> peek_options() {
  options::Table<Options> table;
  table.include(&Options::dataset, serving::dataset_options());
  table.heading("The picture");
  table.path("out", &Options::out, "The picture, a PNG file.").needed();
  table.add("positions", &Options::positions,
            "Of a dataset: A:B, from A up to but not including B.");
  table
      .add("count", &Options::count, "How many samples, unless `positions` says so; 32 by default.")
      .from(1, samples_max);
  table.add("field", &Options::field, "The field to show; the first image by default.");
  table.add("view", &Options::view, "Of several views, this one alone, from 0.");
  table
      .milliseconds("wait", &Options::wait_ms,
                    "Seconds to wait for a stream and its first samples.")
      .above_zero();
  table.add("json", &Options::json, "Print one JSON object.");
  return table;
}

SheetChoices choices_of(const Options& options) {
  return {options.field, options.view, options.count};
}

int finish(const SampleSheet& sheet, const std::vector<std::string>& remarks,
           const Options& options, std::uint64_t position) {
  const Picture& all = sheet.picture();
  detail::write_png(options.out, {static_cast<std::uint32_t>(all.width),
                                  static_cast<std::uint32_t>(all.height), all.rgb});
  if (options.json) {
    print_json({{"out", options.out},
                {"field", sheet.field_name()},
                {"position", position},
                {"samples", sheet.samples()},
                {"views", sheet.views()},
                {"labels", sheet.labels()},
                {"rows", sheet.rows_json()},
                {"undoes_normalize", sheet.undoes_normalize()},
                {"remarks", remarks},
                {"width", all.width},
                {"height", all.height}});
  } else {
    fmt::print("{}{} from position {} in {} ({} x {} pixels)\n", counted(sheet.samples(), "sample"),
               sheet.views() > 1 ? fmt::format(" of {} views", sheet.views()) : "", position,
               printable(options.out), all.width, all.height);
    if (sheet.undoes_normalize()) {
      fmt::print("colours as before `normalize` of the field `{}`\n",
                 printable(sheet.field_name()));
    }
  }
  for (const std::string& remark : remarks) say(printable(remark) + "\n");
  return exit_ok;
}

/// Opens the dataset. Where it has no recipe and needs one, the error has the line to type.
Dataset opened(const Options& options) {
  try {
    return Dataset(options.dataset, console_log(false));
  } catch (const detail::RecipeNeeded& needed) {
    throw InvalidArgument(
        text("{} Here: `{}`", needed.what(),
             detail::shell_text({"batchcast", "peek", options.dataset.source,
                                 "--recipe=imagenet-train", "--out", options.out})));
  }
}

int peek_source(const Options& options) {
  std::optional<Positions> asked;
  if (options.positions) asked = Positions::parse(*options.positions);
  if (asked && asked->size() > samples_max) {
    throw InvalidArgument(
        fmt::format("batchcast: a sheet takes {} samples at most, and "
                    "--positions {} are {}.",
                    samples_max, *options.positions, asked->size()));
  }
  const Dataset dataset = opened(options);
  const BoardRecipe recipe(dataset.maker().recipe_json());
  SampleSheet sheet(choices_of(options), dataset.maker().schema(), recipe);
  const Positions positions =
      asked.value_or(Positions{0, options.count.value_or(sheet.default_count())});
  sheet.check_count(positions.size());
  SampleWindow sample(dataset);
  sheet.begin(positions.size());
  for (std::uint64_t position = positions.begin; position < positions.end; ++position) {
    sample.make(position);
    sheet.add(sample.sample_id(), sample.rows(), [&](std::size_t i) { return sample.field(i); });
  }
  sheet.end();
  return finish(sheet, scale_remarks(recipe), options, positions.begin);
}

void refuse_source_options(const Options& options) {
  const serving::DatasetOptions& dataset = options.dataset;
  if (!options.positions && !serving::says_what_to_make(dataset)) return;
  throw InvalidArgument(
      text("batchcast: `{}` is the name of a stream, which has a recipe and a position already. "
           "--recipe, --positions and the like go with a source such as imagefolder:DIR.",
           dataset.source));
}

int peek_stream(const Options& options) {
  refuse_source_options(options);
  const StreamSheet taken = sheet_of_stream(options.dataset.source, choices_of(options),
                                            options.wait_ms, console_log(false));
  return finish(taken.sheet, taken.remarks, options, taken.position);
}

/// A stream's name may have a colon too. What cannot name a stream, such as `idx:DIR?split=test`,
/// is a source.
bool is_stream(const std::string& name) {
  if (name.find(':') == std::string::npos) return name.find('/') == std::string::npos;
  if (name.find('/') != std::string::npos || serving::is_synthetic(name)) return false;
  try {
    return !find_stream(name).places.empty();
  } catch (const InvalidArgument&) {
    return false;
  }
}

void check_out(const std::string& out) {
  std::string ending = std::filesystem::path(out).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* other : {".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".pdf",
                            ".svg", ".avif", ".ppm"}) {
    if (ending != other) continue;
    throw InvalidArgument(text(
        "batchcast: peek writes a PNG file, and --out {} would be taken for another kind: write "
        "--out {}.",
        printable(out), printable(std::filesystem::path(out).replace_extension(".png").string())));
  }
}

int run(const Options& options) {
  check_out(options.out);
  Interrupts interrupts;
  const EndsAtOnce ending(interrupts);
  return is_stream(options.dataset.source) ? peek_stream(options) : peek_source(options);
}

}  // namespace

void add_peek(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* peek = program.add_subcommand(
      "peek", "Draw a sheet of what trainers see now, or of what a recipe makes");
  peek->footer(
      "SOURCE is the name of a stream, whose newest samples are shown and which does\n"
      "not notice, or a dataset, of which --recipe and --positions say what to make.\n"
      "Below each picture stand its label, with the class's name where the source has\n"
      "names, and its sample id. A mask's ids have a colour each. What `normalize` did\n"
      "is undone, and peek says so. The views of a sample stand side by side; of many\n"
      "views there are fewer samples without --count.");
  add_options(*peek, peek_options(), *options, {"source"});
  peek->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
