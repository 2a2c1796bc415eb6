// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/consume/sample_window.hpp"
#include "cli/interrupts.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "cli/peek/contact_sheet.hpp"
#include "cli/peek/field_picture.hpp"
#include "cli/recipe/board_recipe.hpp"
#include "data/codec/png_writer.hpp"
#include "serving/serve_table.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/text.hpp>
#include "stream/stream_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

// A contact sheet of samples: of what trainers see right now, or of what a recipe makes.
namespace batchcast::cli {
namespace {

constexpr std::uint64_t samples_max = 64;
constexpr std::uint64_t samples_default = 32;
constexpr std::uint64_t pictures_max = 256;  // a sheet of large ones takes 100 MB

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

bool is_integer(DType dtype) {
  return dtype != DType::f16 && dtype != DType::bf16 && dtype != DType::f32 && dtype != DType::f64;
}

/// The field that is written below each picture: `label`, or the first integer.
std::optional<std::size_t> label_field(const Schema& schema) {
  std::optional<std::size_t> first;
  for (std::size_t i = 0; i < schema.size(); ++i) {
    if (schema[i].element_count() != 1 || !is_integer(schema[i].dtype)) continue;
    if (schema[i].name == "label") return i;
    if (!first) first = i;
  }
  return first;
}

std::string integer_text(std::span<const std::byte> bytes, DType dtype) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), bytes.size());
  const bool is_signed =
      dtype == DType::i8 || dtype == DType::i16 || dtype == DType::i32 || dtype == DType::i64;
  if (!is_signed) return std::to_string(bits);
  const std::size_t shift = 64 - 8 * bytes.size();
  return std::to_string(static_cast<std::int64_t>(bits << shift) >> shift);
}

/// Collects samples of one schema on a sheet.
class Sheet {
 public:
  Sheet(const Options& options, const Schema& schema, const BoardRecipe& recipe)
      : schema_(schema),
        picture_(schema, recipe, options.field),
        label_(label_field(schema)),
        out_(options.out) {
    if (options.view) take_view(*options.view);
    if (label_ && recipe.is_label(schema[*label_].name)) class_names_ = recipe.class_names();
  }

  /// How many samples there are to be, unless --count says so: fewer where each has many views.
  [[nodiscard]] std::uint64_t default_count() const {
    return std::clamp<std::uint64_t>(pictures_max / views(), 1, samples_default);
  }
  /// Before samples are made or waited for.
  void check_count(std::uint64_t samples) const {
    if (samples * views() <= pictures_max) return;
    const std::uint64_t most = pictures_max / views();
    throw InvalidArgument(fmt::format(
        "batchcast: a sheet takes {} pictures at most, and {} of {} are {}. Take {}one of the "
        "views with --view.",
        pictures_max, counted(samples, "sample"), counted(views(), "view"), samples * views(),
        most > 0 ? text("{} at most, or ", counted(most, "sample")) : ""));
  }
  void begin(std::size_t samples) {
    sheet_.emplace(samples, views(), picture_.width(), picture_.height());
    samples_ = samples;
  }
  /// `bytes_of(i)`: those of field i.
  template <class BytesOf>
  void add(std::uint64_t sample_id, BytesOf bytes_of) {
    const std::string label =
        label_ ? label_text(schema_[*label_], bytes_of(*label_)) : std::string();
    const auto bytes = bytes_of(picture_.field());
    for (std::size_t view = first_view_; view < first_view_ + views(); ++view) {
      const std::string of_view = picture_.views() > 1 ? fmt::format(" V{}", view) : std::string();
      sheet_->add(picture_.of(bytes, view), label, fmt::format("#{}{}", sample_id, of_view));
    }
    labels_.push_back(label);
  }
  int finish(const Options& options, std::uint64_t position) {
    const Picture& all = sheet_->sheet();
    detail::write_png(out_, {static_cast<std::uint32_t>(all.width),
                             static_cast<std::uint32_t>(all.height), all.rgb});
    if (options.json) {
      print_json({{"out", out_},
                  {"field", schema_[picture_.field()].name},
                  {"position", position},
                  {"samples", samples_},
                  {"views", views()},
                  {"labels", labels_},
                  {"width", all.width},
                  {"height", all.height}});
    } else {
      fmt::print("{}{} from position {} in {} ({} x {} pixels)\n", counted(samples_, "sample"),
                 views() > 1 ? fmt::format(" of {} views", views()) : "", position, printable(out_),
                 all.width, all.height);
    }
    return exit_ok;
  }

 private:
  void take_view(std::uint64_t view) {
    const std::string& field = schema_[picture_.field()].name;
    if (view >= picture_.views()) {
      throw InvalidArgument(fmt::format(
          "batchcast: the field `{}` has no view {}: {}.", field, view,
          picture_.views() == 1 ? "it has one of each sample, which is shown without --view"
                                : fmt::format("its views are 0 to {}", picture_.views() - 1)));
    }
    first_view_ = view;
    one_view_ = true;
  }
  /// Pictures of each sample.
  [[nodiscard]] std::size_t views() const noexcept { return one_view_ ? 1 : picture_.views(); }

  /// `3 cat` where classes have names, else `label 3`.
  [[nodiscard]] std::string label_text(const FieldSpec& field,
                                       std::span<const std::byte> bytes) const {
    const std::string number = integer_text(bytes, field.dtype);
    for (std::size_t i = 0; i < class_names_.size(); ++i) {
      if (std::to_string(i) == number) return text("{} {}", number, class_names_[i]);
    }
    return text("{} {}", field.name, number);
  }

  const Schema& schema_;
  FieldPicture picture_;
  std::optional<std::size_t> label_;
  std::vector<std::string> class_names_;
  std::vector<std::string> labels_;
  std::string out_;
  std::optional<ContactSheet> sheet_;
  std::size_t samples_ = 0;
  std::size_t first_view_ = 0;
  bool one_view_ = false;
};

int peek_source(const Options& options) {
  std::optional<Positions> asked;
  if (options.positions) asked = Positions::parse(*options.positions);
  if (asked && asked->size() > samples_max) {
    throw InvalidArgument(
        fmt::format("batchcast: a sheet takes {} samples at most, and "
                    "--positions {} are {}.",
                    samples_max, *options.positions, asked->size()));
  }
  const Dataset dataset(options.dataset, console_log(false));
  Sheet sheet(options, dataset.maker().schema(), BoardRecipe(dataset.maker().recipe_json()));
  const Positions positions =
      asked.value_or(Positions{0, options.count.value_or(sheet.default_count())});
  sheet.check_count(positions.size());
  SampleWindow sample(dataset);
  sheet.begin(positions.size());
  for (std::uint64_t position = positions.begin; position < positions.end; ++position) {
    sample.make(position);
    sheet.add(sample.sample_id(), [&](std::size_t i) { return sample.field(i); });
  }
  return sheet.finish(options, positions.begin);
}

Batch newest(Consumer& consumer, std::uint64_t count, const Options& options) {
  const std::uint64_t began_ns = now_ns();
  for (;;) {
    if (auto batch = consumer.newest(count)) return std::move(*batch);
    if (seconds_from_ns(now_ns() - began_ns) * 1'000 >= options.wait_ms) {
      throw Error(
          fmt::format("batchcast: stream `{}` holds no samples yet. Does it wait for "
                      "consumers? `batchcast ls` shows it.",
                      options.dataset.source));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
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
  Consumer consumer({.stream = options.dataset.source,
                     .batch_size = 1,
                     .name = "peek",
                     .connect_timeout_ms = options.wait_ms,
                     .observes = true,
                     .log = console_log(false)});
  Sheet sheet(options, consumer.schema(), BoardRecipe(consumer.recipe_json()));
  const std::uint64_t count = options.count.value_or(sheet.default_count());
  sheet.check_count(count);
  const Batch batch = newest(consumer, count, options);
  sheet.begin(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    sheet.add(batch.sample_ids()[i],
              [&](std::size_t field) { return batch.field<std::byte>(field)[i]; });
  }
  return sheet.finish(options, batch.position());
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
      "names, and its sample id. A mask's ids have a colour each. The views of a sample\n"
      "stand side by side; of many views there are fewer samples without --count.");
  add_options(*peek, peek_options(), *options, {"source"});
  peek->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
