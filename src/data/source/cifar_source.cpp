// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "data/fingerprint_builder.hpp"
#include "data/source/mapped_file.hpp"
#include "data/source/record_source.hpp"
#include "data/source/source_kinds.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t image_bytes = 3 * 32 * 32;

// One of the two datasets, and which of its labels is wanted.
struct Layout {
  std::string_view kind;
  std::string_view folder;  ///< as its archive unpacks to
  std::vector<std::string> files;
  std::string_view python_file;  ///< of the version that is not read here
  std::string_view names_file;
  std::size_t label_bytes;  ///< before each image
  std::size_t label_at;
  std::size_t classes;
  std::uint64_t file_samples;  ///< as published
};

std::filesystem::path find_folder(const std::string& path, const Layout& layout) {
  const std::filesystem::path given(path);
  for (const auto& folder : {given, given / layout.folder}) {
    if (is_there(folder / layout.files.front())) return folder;
  }
  const std::string expected =
      text("the files of the binary version are expected in it ({}: {}, …)", layout.folder,
           layout.files.front());
  std::error_code ignored;
  if (!std::filesystem::is_directory(given, ignored)) {
    throw BadDataset(
        text("batchcast: {} cannot be read: there is no such folder; {}.", path, expected));
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           given, std::filesystem::directory_options::skip_permission_denied, ignored)) {
    if (entry.path().filename() == layout.python_file) {
      throw BadDataset(text(
          "batchcast: {} is the Python version of the dataset, which needs Python to be read; {}.",
          path, expected));
    }
  }
  throw BadDataset(text("batchcast: {} has no {}; {}.", path, layout.files.front(), expected));
}

// There is one name in a line.
std::vector<std::string> read_names(const std::filesystem::path& path) {
  std::vector<std::string> names;
  // Opening a pipe would wait for its other end.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.push_back(std::move(line));
  }
  return names;
}

void add_file(const Layout& layout, const std::filesystem::path& path, RecordSet& set,
              FingerprintBuilder& fingerprint) {
  const MappedFile& file = keep(set, MappedFile(path.string()));
  const std::size_t bytes = file.bytes().size();
  const std::size_t record_bytes = layout.label_bytes + image_bytes;
  if (bytes % record_bytes != 0) {
    throw BadDataset(
        text("batchcast: {} holds {} bytes, which is no whole number of records of {}: it was cut "
             "short, or is another file.",
             path.string(), bytes, record_bytes));
  }
  const std::uint64_t samples = bytes / record_bytes;
  if (samples != layout.file_samples) {
    set.remarks.push_back(text("{} holds {} samples; as published it has {}.", file.name(), samples,
                               layout.file_samples));
  }
  set.files.push_back({std::string(file.name()), samples});
  for (RecordPart& part : set.parts) part.records.push_back(file.bytes());
  fingerprint.add(file.name());
  fingerprint.add(bytes);
}

void add_names(const Layout& layout, const std::filesystem::path& path, RecordSet& set) {
  std::vector<std::string> names = read_names(path);
  if (names.empty() || names.size() == layout.classes) {
    set.class_names = std::move(names);
    return;
  }
  set.remarks.push_back(text("{} names {} classes, not {}: it is not used.", layout.names_file,
                             names.size(), layout.classes));
}

std::unique_ptr<Source> open_cifar(const std::string& path, const Layout& layout) {
  const std::filesystem::path folder = find_folder(path, layout);
  const std::size_t record_bytes = layout.label_bytes + image_bytes;
  RecordSet set;
  set.parts = {{.spec = {.name = "image", .dtype = DType::u8, .shape = {3, 32, 32}},
                .record_bytes = record_bytes,
                .at = layout.label_bytes},
               {.spec = {.name = "label", .dtype = DType::i64},
                .record_bytes = record_bytes,
                .at = layout.label_at,
                .classes = layout.classes}};
  FingerprintBuilder fingerprint;
  fingerprint.add(layout.kind);
  fingerprint.add(layout.label_at);
  for (const std::string& name : layout.files) add_file(layout, folder / name, set, fingerprint);
  set.fingerprint = fingerprint.finish();
  if (std::all_of(set.files.begin(), set.files.end(),
                  [](const RecordSet::File& file) { return file.samples == 0; })) {
    throw BadDataset(text("batchcast: {} holds no samples: its files are empty.", folder.string()));
  }
  add_names(layout, folder / layout.names_file, set);
  return make_record_source(std::move(set));
}

}  // namespace

std::unique_ptr<Source> open_cifar10(std::string_view rest, const SourceOptions& options) {
  options.allow({"split"});
  const bool train = options.one_of("split", {"train", "test"}) == "train";
  Layout layout{.kind = "cifar10",
                .folder = "cifar-10-batches-bin",
                .files = {"test_batch.bin"},
                .python_file = "data_batch_1",
                .names_file = "batches.meta.txt",
                .label_bytes = 1,
                .label_at = 0,
                .classes = 10,
                .file_samples = 10'000};
  if (train) {
    layout.files = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin",
                    "data_batch_5.bin"};
  }
  return open_cifar(with_home(rest), layout);
}

std::unique_ptr<Source> open_cifar100(std::string_view rest, const SourceOptions& options) {
  options.allow({"split", "labels"});
  const bool train = options.one_of("split", {"train", "test"}) == "train";
  const bool fine = options.one_of("labels", {"fine", "coarse"}) == "fine";
  const Layout layout{.kind = "cifar100",
                      .folder = "cifar-100-binary",
                      .files = {train ? "train.bin" : "test.bin"},
                      .python_file = train ? "train" : "test",
                      .names_file = fine ? "fine_label_names.txt" : "coarse_label_names.txt",
                      .label_bytes = 2,
                      .label_at = fine ? std::size_t{1} : std::size_t{0},
                      .classes = fine ? std::size_t{100} : std::size_t{20},
                      .file_samples = train ? std::uint64_t{50'000} : std::uint64_t{10'000}};
  return open_cifar(with_home(rest), layout);
}

}  // namespace batchcast::inline v0_1::detail
