// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/schema.hpp>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "data/fingerprint_builder.hpp"
#include "data/source/mapped_file.hpp"
#include "data/source/npy/header.hpp"
#include "data/source/source_kinds.hpp"
#include "data/tensor_part.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

// `name=file`, or a file whose stem is the name.
struct NamedFile {
  std::string name;
  std::string path;
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

std::vector<NamedFile> parse_files(std::string_view rest) {
  std::vector<NamedFile> files;
  for (const std::string& item : split_paths("npy", rest)) {
    const std::size_t equals = item.find('=');
    if (equals != std::string::npos && is_name(std::string_view(item).substr(0, equals))) {
      files.push_back({item.substr(0, equals), with_home(item.substr(equals + 1))});
      continue;
    }
    std::string stem = item.substr(item.rfind('/') + 1);
    if (stem.ends_with(".npy")) stem.resize(stem.size() - 4);
    files.push_back({stem, item});
  }
  return files;
}

void check_names(const std::vector<NamedFile>& files) {
  for (const NamedFile& file : files) {
    const std::string advice = " Write `npy:NAME=" + file.path + "` to name it yourself.";
    if (file.name == sample_id_name) {
      throw InvalidArgument("batchcast: `npy:`: every sample has a `sample_id` already." + advice);
    }
    if (std::count_if(files.begin(), files.end(),
                      [&](const NamedFile& other) { return other.name == file.name; }) > 1) {
      throw InvalidArgument("batchcast: `npy:`: two arrays are named `" + file.name + "`." +
                            advice);
    }
  }
}

class NpySource final : public Source {
 public:
  explicit NpySource(std::string_view rest) {
    const std::vector<NamedFile> files = parse_files(rest);
    check_names(files);
    for (const NamedFile& file : files) add(file);
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    parts.resize(arrays_.size());
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      const Array& array = arrays_[i];
      parts.set(i, array.data.subspan(sample_id * array.sample_bytes, array.sample_bytes));
    }
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return std::string(arrays_.front().file.name()) + "[" + std::to_string(sample_id) + "]";
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    FingerprintBuilder builder;
    builder.add("npy");
    for (std::size_t i = 0; i < arrays_.size(); ++i) {
      builder.add(parts_[i].name);
      builder.add(arrays_[i].file.name());
      builder.add(arrays_[i].file.bytes().size());
      builder.add(name_of_type(parts_[i].dtype));
      builder.add(parts_[i].shape.size());
      for (const std::int64_t extent : parts_[i].shape) {
        builder.add(static_cast<std::uint64_t>(extent));
      }
    }
    builder.add(size_);
    return builder.finish();
  }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override { return remarks_; }

 private:
  struct Array {
    MappedFile file;
    std::span<const std::byte> data;
    std::size_t sample_bytes;
  };

  static std::string_view name_of_type(DType dtype) noexcept { return batchcast::name_of(dtype); }

  void add(const NamedFile& named) {
    MappedFile file(named.path);
    const NpyHeader header = parse_npy_header(file.bytes(), named.path);
    check(header, named.path);
    const auto count = static_cast<std::uint64_t>(header.shape.front());
    if (!arrays_.empty() && count != size_) {
      throw BadDataset("batchcast: " + named.path + " holds " + std::to_string(count) +
                       " samples, but " + arrays_.front().file.path() + " holds " +
                       std::to_string(size_) + ": the arrays do not belong together.");
    }
    size_ = count;
    PartSpec part{.name = named.name, .dtype = header.dtype};
    part.shape.assign(header.shape.begin() + 1, header.shape.end());
    part.channels_last =
        part.name.starts_with("image") && has_channels_last(part.dtype, part.shape);
    parts_.push_back(std::move(part));
    const std::size_t end = header.data_offset + header.data_bytes;
    if (const std::size_t more = file.bytes().size() - end; more > 0) {
      remarks_.push_back(named.path + ": " + std::to_string(more) +
                         " bytes behind the array are not used.");
    }
    const auto data = file.bytes().subspan(header.data_offset, header.data_bytes);
    arrays_.push_back({std::move(file), data, header.data_bytes / count});
  }

  static void check(const NpyHeader& header, const std::string& path) {
    if (header.shape.empty()) {
      throw BadDataset("batchcast: " + path + " holds a single number, not an array of samples.");
    }
    if (header.data_bytes == 0)
      throw BadDataset("batchcast: " + path + " holds no samples: its array is empty.");
    if (header.shape.size() - 1 > limits::dimensions_max) {
      throw BadDataset("batchcast: " + path + " has samples of " +
                       std::to_string(header.shape.size() - 1) + " dimensions; " +
                       std::to_string(limits::dimensions_max) + " are possible.");
    }
  }

  std::vector<PartSpec> parts_;
  std::vector<Array> arrays_;
  std::vector<std::string> remarks_;
  std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_npy(std::string_view rest, const SourceOptions& options) {
  options.allow({});
  return std::make_unique<NpySource>(rest);
}

}  // namespace batchcast::inline v0_1::detail
