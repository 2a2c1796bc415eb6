// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/command.hpp"
#include "cli/consume/sample_window.hpp"
#include "cli/consume/verification.hpp"
#include "cli/interrupts.hpp"
#include "cli/option_table.hpp"
#include "cli/output.hpp"
#include "cli/peek/npy_file.hpp"
#include "serving/serve_table.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

// Any window of a stream as files, made on its own: what tests and users compare with.
namespace batchcast::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct Options {
  serving::DatasetOptions dataset;
  std::string positions;
  std::string out;
  bool force = false;
  bool digest = false;
  bool json = false;
  bool verbose = false;
};

options::Table<Options> dump_options() {
  options::Table<Options> table;
  table.include(&Options::dataset, serving::dataset_options());
  table.heading("The files");
  table
      .add("positions", &Options::positions,
           "A:B, from A up to but not including B; may cross epochs.")
      .needed();
  table.path("out", &Options::out, "Directory for the files.").needed();
  table.add("force", &Options::force, "Also into a directory that is not empty.");
  table.add("digest", &Options::digest,
            "Print a digest of every whole epoch, as `consume --digest` does.");
  table.add("json", &Options::json, "Print one JSON object.");
  table.add("verbose", &Options::verbose, "Report more.").command("verbose,-v");
  return table;
}

Json number_of(double value) {
  const auto whole = static_cast<std::int64_t>(value);
  return static_cast<double>(whole) == value ? Json(whole) : Json(value);
}

bool is_choice(std::string_view key) {
  constexpr std::array<std::string_view, 14> choices = {
      "flip",   "vertical_flip", "grayscale", "solarize",  "posterize",
      "invert", "autocontrast",  "equalize",  "sharpness", "contrast_first",
      "affine", "perspective",   "elastic",   "noise"};
  return std::find(choices.begin(), choices.end(), key) != choices.end();
}

Json value_of(const Note& note) {
  if (!note.text.empty()) return note.text;
  return is_choice(note.key) ? Json(note.value != 0) : number_of(note.value);
}

/// What one object says of what was drawn; a key that several stages note has a list.
class NotesObject {
 public:
  void add(const std::string& key, Json value) {
    std::vector<Json>& values = values_[key];
    values.push_back(std::move(value));
  }
  [[nodiscard]] Json take() {
    Json object = Json::object();
    for (auto& [key, values] : values_) {
      object[key] = values.size() == 1 ? std::move(values.front()) : Json(std::move(values));
    }
    return object;
  }

 private:
  std::map<std::string, std::vector<Json>> values_;
};

/// NAME where the notes from `first` on are NAME_x, NAME_y, NAME_w and NAME_h; else empty.
std::string box_name(std::span<const Note> notes) {
  constexpr std::array<std::string_view, 4> sides = {"_x", "_y", "_w", "_h"};
  if (notes.size() < sides.size() || !notes[0].key.ends_with(sides[0])) return {};
  const std::string name(notes[0].key.substr(0, notes[0].key.size() - sides[0].size()));
  for (std::size_t i = 0; i < sides.size(); ++i) {
    if (notes[i].key != name + std::string(sides[i])) return {};
  }
  return name;
}

/// Calls `add` with the key, the value and the first note of each thing that was noted.
template <class Add>
void for_each_thing(const std::vector<Note>& all, const Add& add) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::span<const Note> rest = std::span(all).subspan(i);
    if (const std::string box = box_name(rest); !box.empty()) {
      add(box,
          Json{number_of(rest[0].value), number_of(rest[1].value), number_of(rest[2].value),
               number_of(rest[3].value)},
          all[i]);
      i += 3;
    } else if (all[i].key == "erase") {
      // It might have been, and was not; else its box follows.
      if (all[i].value == 0) add("erase", Json(), all[i]);
    } else {
      add(std::string(all[i].key), value_of(all[i]), all[i]);
    }
  }
}

/// What each stage drew, by its path.
Json stages_of(const std::vector<Note>& all) {
  std::map<std::string, NotesObject, std::less<>> stages;
  for_each_thing(all, [&stages](const std::string& key, Json value, const Note& note) {
    if (note.path.empty()) return;
    stages[std::string(note.path)].add(key == note.path ? "chosen" : key, std::move(value));
  });
  Json object = Json::object();
  for (auto& [path, notes] : stages) object[path] = notes.take();
  return object;
}

Json json_of(const std::vector<Note>& all) {
  NotesObject object;
  for_each_thing(all, [&object](const std::string& key, Json value, const Note& note) {
    // `crop` is of the pass, and there is one of several images.
    if ((key == "crop" && !note.path.empty()) || note.part != 0) return;
    object.add(key, std::move(value));
  });
  if (Json stages = stages_of(all); !stages.empty()) object.add("stages", std::move(stages));
  return object.take();
}

/// What was drawn for each view of each field that drew anything.
Json draws_of(const SampleTrace& trace, std::uint64_t position) {
  Json object = {{"position", position}, {"sample_id", trace.sample_id}, {"path", trace.path}};
  Json fields = Json::object();
  for (const SampleTrace::Field& field : trace.fields) {
    const bool drew = std::any_of(field.views.begin(), field.views.end(),
                                  [](const std::vector<Note>& notes) { return !notes.empty(); });
    if (!drew) continue;
    Json views = Json::array();
    for (const std::vector<Note>& notes : field.views) views.push_back(json_of(notes));
    fields[field.name]["views"] = std::move(views);
  }
  object["fields"] = std::move(fields);
  return object;
}

std::string file_name(std::string field) {
  std::replace(field.begin(), field.end(), '/', '_');
  if (field.front() == '.') field.front() = '_';
  return field + ".npy";
}

/// Where each sample's rows begin, for all fields on the axis.
std::string offsets_name(const std::string& axis) { return file_name(axis + ".offsets"); }

/// Whether it was made.
bool prepare_directory(const Options& options) {
  std::error_code error;
  const fs::path out(options.out);
  if (fs::exists(out, error) && !fs::is_directory(out, error)) {
    throw InvalidArgument(text("batchcast: --out {} is a file, not a directory.", options.out));
  }
  if (fs::is_directory(out, error) && !fs::is_empty(out, error) && !options.force) {
    throw InvalidArgument(
        text("batchcast: --out {} is not empty. Name another directory, or add --force to write "
             "over what has the same names.",
             options.out));
  }
  const bool is_made = fs::create_directories(out, error);
  if (!is_made && error) {
    throw SystemError(text("batchcast: cannot make the directory {}", options.out), error.value());
  }
  return is_made;
}

/// The files of one dump, open. Unless they were finished they go with this object, and the
/// directory that was made for them.
class Files {
 public:
  Files(const Options& options, const Schema& schema, std::uint64_t samples)
      : out_(options.out), made_directory_(prepare_directory(options)) {
    try {
      open(schema, static_cast<std::int64_t>(samples));
    } catch (...) {
      remove();
      throw;
    }
  }
  ~Files() {
    if (!finished_) remove();
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  /// From any thread, as long as they are not finished.
  void remove() const noexcept {
    for (const fs::path& path : paths_) ::unlink(path.c_str());
    if (made_directory_) ::rmdir(out_.c_str());
  }

  void add(const SampleWindow& sample, std::uint64_t position) {
    const std::uint64_t id = sample.sample_id();
    for (std::size_t i = 0; i < sample.fields(); ++i) arrays_[i].append(sample.field(i));
    for (std::size_t axis = 0; axis < offsets_.size(); ++axis) {
      offsets_[axis] += sample.rows()[axis];
      append_offset(axis);
    }
    arrays_.back().append(std::as_bytes(std::span(&id, 1)));
    draws_
        << draws_of(sample.trace(), position).dump(-1, ' ', false, Json::error_handler_t::replace)
        << '\n';
    if (!draws_) throw SystemError(text("batchcast: cannot write {}", draws_path_), errno);
  }

  void finish() {
    for (NpyFile& array : arrays_) array.finish();
    draws_.close();
    if (!draws_) throw SystemError(text("batchcast: cannot write {}", draws_path_), errno);
    finished_ = true;
  }

 private:
  void open(const Schema& schema, std::int64_t samples) {
    const auto add = [&](const std::string& name, NpyFile::Array array, std::int64_t count) {
      array.shape.insert(array.shape.begin(), count);
      const fs::path path = out_ / name;
      if (std::find(paths_.begin(), paths_.end(), path) != paths_.end()) {
        throw InvalidArgument(
            text("batchcast: two files of this dump would be named {}. Name the fields otherwise.",
                 name));
      }
      paths_.push_back(path);
      arrays_.emplace_back(path.string(), array);
    };
    for (const FieldSpec& field : schema) {
      add(file_name(field.name), {field.dtype, field.shape, field.on_axis()},
          field.on_axis() ? 0 : samples);
    }
    first_offsets_ = arrays_.size();
    for (const std::string& axis : axes_of(schema)) {
      add(offsets_name(axis), {DType::i64, {}}, samples + 1);
      offsets_.push_back(0);
      append_offset(offsets_.size() - 1);
    }
    add(std::string(sample_id_name) + ".npy", {DType::u64, {}}, samples);
    paths_.emplace_back(draws_path_);
    draws_.open(draws_path_, std::ios::binary | std::ios::trunc);
  }

  void append_offset(std::size_t axis) {
    arrays_[first_offsets_ + axis].append(std::as_bytes(std::span(&offsets_[axis], 1)));
  }

  const fs::path out_;
  const bool made_directory_;
  const std::string draws_path_ = (out_ / "draws.jsonl").string();
  std::vector<fs::path> paths_;  ///< of what is open
  std::vector<NpyFile> arrays_;  ///< fields, then offsets, then ids
  std::size_t first_offsets_ = 0;
  std::vector<std::uint64_t> offsets_;  ///< where the next sample begins, by axis
  std::ofstream draws_;
  bool finished_ = false;
};

/// Digests of the epochs that positions touch; null for those that they do not cover.
class Digests {
 public:
  Digests(const Schema& schema, std::uint64_t samples_per_epoch)
      : digest_(schema.size() + 1), samples_per_epoch_(samples_per_epoch) {
    for (const FieldSpec& field : schema) axes_.push_back(axis_index(schema, field.axis));
  }

  void add(const SampleWindow& sample, std::uint64_t position) {
    const std::uint64_t id = sample.sample_id();
    for (std::size_t i = 0; i < sample.fields(); ++i) {
      if (axes_[i] >= 0) {  // as of batches
        const std::uint64_t rows = sample.rows()[static_cast<std::size_t>(axes_[i])];
        digest_.add(i, std::as_bytes(std::span(&rows, 1)));
      }
      digest_.add(i, sample.field(i));
    }
    digest_.add(sample.fields(), std::as_bytes(std::span(&id, 1)));
    digest_.add_samples(1);
    if ((position + 1) % samples_per_epoch_ == 0) end_epoch();
  }
  [[nodiscard]] Json finish() {
    if (digest_.samples() != 0) end_epoch();
    return std::move(digests_);
  }

 private:
  void end_epoch() {
    const bool whole = digest_.samples() == samples_per_epoch_;
    const std::string text = digest_.finish();
    digests_.push_back(whole ? Json(text) : Json(nullptr));
  }

  EpochDigest digest_;
  std::vector<int> axes_;  ///< by field; -1: none
  std::uint64_t samples_per_epoch_;
  Json digests_ = Json::array();
};

void print_summary(const Options& options, const Dataset& dataset, const Positions& positions,
                   const Json& digests) {
  const Schema& schema = dataset.maker().schema();
  const std::uint64_t per_epoch = dataset.maker().samples_per_epoch();
  if (options.json) {
    Json fields = Json::array();
    for (const FieldSpec& field : schema) {
      Json shape = field.on_axis() ? Json::array({field.axis}) : Json::array();
      for (const std::int64_t extent : field.shape) shape.push_back(extent);
      fields.push_back(
          {{"name", field.name},
           {"dtype", name_of(field.dtype)},
           {"shape", std::move(shape)},
           {"file", file_name(field.name)},
           {"offsets_file", field.on_axis() ? Json(offsets_name(field.axis)) : Json(nullptr)}});
    }
    print_json({{"source", options.dataset.source},
                {"out", options.out},
                {"samples", positions.size()},
                {"positions", {positions.begin, positions.end}},
                {"samples_per_epoch", per_epoch},
                {"fields", std::move(fields)},
                {"bad_samples", dataset.bad_samples()},
                {"stand_ins", dataset.stand_ins().samples},
                {"stand_in_times", dataset.stand_ins().times},
                {"digests", digests}});
    return;
  }
  fmt::print("{}, positions {} to {}, epochs of {}, in {}\n", counted(positions.size(), "sample"),
             positions.begin, positions.end - 1, count_text(per_epoch), printable(options.out));
  for (const FieldSpec& field : schema) {
    fmt::print("  {}: {}{}\n", file_name(field.name), to_text(field),
               field.dtype == DType::bf16 ? ", as its bits in uint16: NumPy has no bf16" : "");
  }
  for (const std::string& axis : axes_of(schema)) {
    fmt::print("  {}: where each sample's rows begin on the axis `{}`, i64 [{}]\n",
               printable(offsets_name(axis)), printable(axis), positions.size() + 1);
  }
  fmt::print("  {}.npy, draws.jsonl\n", sample_id_name);
  if (dataset.bad_samples() != 0) {
    fmt::print("{}\n", serving::bad_samples_text(dataset.bad_samples(), dataset.stand_ins()));
  }
  const std::uint64_t epoch = positions.begin / per_epoch;
  for (std::size_t i = 0; i < digests.size(); ++i) {
    fmt::print("digest of epoch {}: {}\n", epoch + i,
               digests[i].is_null() ? "none, not dumped whole" : digests[i].get<std::string>());
  }
}

void make_all(const Dataset& dataset, const Positions& positions, Files& files,
              std::optional<Digests>& digests) {
  SampleWindow sample(dataset);
  const std::uint64_t started_ns = now_ns();
  ProgressLine progress;
  for (std::uint64_t position = positions.begin; position < positions.end; ++position) {
    sample.make(position);
    files.add(sample, position);
    if (digests) digests->add(sample, position);
    if (!progress.due()) continue;
    const std::uint64_t done = position + 1 - positions.begin;
    const double seconds_each = seconds_from_ns(now_ns() - started_ns) / static_cast<double>(done);
    progress.show(
        fmt::format("{} {} of {}{}", bar_text(done, positions.size()), count_text(done),
                    counted(positions.size(), "sample"),
                    left_text(seconds_each * static_cast<double>(positions.size() - done))));
  }
}

int run(const Options& options) {
  const Positions positions = Positions::parse(options.positions);
  Interrupts interrupts;
  std::optional<EndsAtOnce> ending(std::in_place, interrupts);
  const Dataset dataset(options.dataset, console_log(options.verbose));
  ending.reset();
  const Schema& schema = dataset.maker().schema();
  Files files(options, schema, positions.size());
  ending.emplace(interrupts, [&files](int signal) {
    files.remove();
    return interrupted_exit(signal);
  });
  std::optional<Digests> digests;
  if (options.digest) digests.emplace(schema, dataset.maker().samples_per_epoch());
  make_all(dataset, positions, files, digests);
  ending.reset();
  files.finish();
  print_summary(options, dataset, positions, digests ? digests->finish() : Json::array());
  return exit_ok;
}

}  // namespace

void add_dump(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<Options>();
  CLI::App* dump = program.add_subcommand(
      "dump", "Write any window of a stream as .npy files, made without a stream");
  dump->footer(
      "FIELD.npy for every field, sample_id.npy, and draws.jsonl. Of a field on an axis\n"
      "it has the rows of all samples, and AXIS.offsets.npy where each sample's begin:\n"
      "`npy:` reads them again. draws.jsonl has for each sample its\n"
      "position, sample_id, path, and in fields.FIELD.views for each view its crop (x,\n"
      "y, width, height in the decoded image), flip, and all else that was drawn; in\n"
      "`stages` stands what each stage drew, by the stage's path in the recipe.");
  add_options(*dump, dump_options(), *options, {"source"});
  dump->callback([options, &chosen] { chosen = [options] { return run(*options); }; });
}

}  // namespace batchcast::cli
