// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "data/fingerprint_builder.hpp"
#include "data/source/mapped_file.hpp"
#include "data/source/source_kinds.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t image_bytes = 3 * 32 * 32;

constexpr auto label_values = [] {
  std::array<std::int64_t, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  return values;
}();

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
  const std::string expected = "the files of the binary version are expected in it (" +
                               std::string(layout.folder) + ": " + layout.files.front() + ", …)";
  std::error_code ignored;
  if (!std::filesystem::is_directory(given, ignored)) {
    throw BadDataset("batchcast: " + path + " cannot be read: there is no such folder; " +
                     expected + ".");
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           given, std::filesystem::directory_options::skip_permission_denied, ignored)) {
    if (entry.path().filename() == layout.python_file) {
      throw BadDataset("batchcast: " + path +
                       " is the Python version of the dataset, which needs Python to be "
                       "read; " +
                       expected + ".");
    }
  }
  throw BadDataset("batchcast: " + path + " has no " + layout.files.front() + "; " + expected +
                   ".");
}

// One a line.
std::vector<std::string> read_names(const std::filesystem::path& path) {
  std::vector<std::string> names;
  // A pipe would have us wait for its other end.
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return names;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    if (!line.empty()) names.push_back(std::move(line));
  }
  return names;
}

class CifarSource final : public Source {
 public:
  CifarSource(const std::string& path, const Layout& layout)
      : layout_(layout), record_bytes_(layout.label_bytes + image_bytes) {
    const std::filesystem::path folder = find_folder(path, layout);
    for (const std::string& name : layout.files) add(folder / name);
    if (size_ == 0)
      throw BadDataset("batchcast: " + folder.string() + " holds no samples: its files are empty.");
    names_ = read_names(folder / layout.names_file);
    if (!names_.empty() && names_.size() != layout.classes) {
      remarks_.push_back(std::string(layout.names_file) + " names " +
                         std::to_string(names_.size()) + " classes, not " +
                         std::to_string(layout.classes) + ": it is not used.");
      names_.clear();
    }
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    const File& file = file_of(sample_id);
    const auto record =
        file.mapped.bytes().subspan((sample_id - file.first_sample) * record_bytes_, record_bytes_);
    const auto label = std::to_integer<std::size_t>(record[layout_.label_at]);
    if (label >= layout_.classes) {
      throw BadSample("its label is " + std::to_string(label) + ", and labels go from 0 to " +
                      std::to_string(layout_.classes - 1));
    }
    parts.resize(2);
    parts.set(0, record.subspan(layout_.label_bytes));
    parts.set(1, std::as_bytes(std::span(label_values).subspan(label, 1)));
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    const File& file = file_of(sample_id);
    return std::string(file.mapped.name()) + "[" + std::to_string(sample_id - file.first_sample) +
           "]";
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    FingerprintBuilder builder;
    builder.add(layout_.kind);
    builder.add(layout_.label_at);
    for (const File& file : files_) {
      builder.add(file.mapped.name());
      builder.add(file.mapped.bytes().size());
    }
    return builder.finish();
  }
  [[nodiscard]] std::span<const std::string> class_names() const noexcept override {
    return names_;
  }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override { return remarks_; }

 private:
  struct File {
    MappedFile mapped;
    std::uint64_t first_sample;
  };

  void add(const std::filesystem::path& path) {
    MappedFile mapped(path.string());
    const std::size_t bytes = mapped.bytes().size();
    if (bytes % record_bytes_ != 0) {
      throw BadDataset("batchcast: " + path.string() + " holds " + std::to_string(bytes) +
                       " bytes, which is no whole number of records of " +
                       std::to_string(record_bytes_) + ": it was cut short, or is another file.");
    }
    const std::uint64_t samples = bytes / record_bytes_;
    if (samples != layout_.file_samples) {
      remarks_.push_back(std::string(mapped.name()) + " holds " + std::to_string(samples) +
                         " samples; as published it has " + std::to_string(layout_.file_samples) +
                         ".");
    }
    files_.push_back({std::move(mapped), size_});
    size_ += samples;
  }

  [[nodiscard]] const File& file_of(std::uint64_t sample_id) const {
    const auto after =
        std::upper_bound(files_.begin(), files_.end(), sample_id,
                         [](std::uint64_t id, const File& file) { return id < file.first_sample; });
    return *(after - 1);
  }

  Layout layout_;
  std::size_t record_bytes_;
  std::vector<PartSpec> parts_ = {{.name = "image", .dtype = DType::u8, .shape = {3, 32, 32}},
                                  {.name = "label", .dtype = DType::i64}};
  std::vector<File> files_;
  std::vector<std::string> names_;
  std::vector<std::string> remarks_;
  std::uint64_t size_ = 0;
};

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
  return std::make_unique<CifarSource>(with_home(rest), layout);
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
  return std::make_unique<CifarSource>(with_home(rest), layout);
}

}  // namespace batchcast::inline v0_1::detail
