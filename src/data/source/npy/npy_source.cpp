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
#include "data/source/npy/npy_header.hpp"
#include "data/source/record_source.hpp"
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
    const std::string advice = text(" Write `npy:NAME={}` to name it yourself.", file.path);
    if (file.name == sample_id_name) {
      throw InvalidArgument(
          text("batchcast: `npy:`: every sample has a `sample_id` already.{}", advice));
    }
    if (std::count_if(files.begin(), files.end(),
                      [&](const NamedFile& other) { return other.name == file.name; }) > 1) {
      throw InvalidArgument(
          text("batchcast: `npy:`: two arrays are named `{}`.{}", file.name, advice));
    }
  }
}

void check(const NpyHeader& header, const std::string& path) {
  if (header.shape.empty()) {
    throw BadDataset(text("batchcast: {} holds a single number, not an array of samples.", path));
  }
  if (header.data_bytes == 0)
    throw BadDataset(text("batchcast: {} holds no samples: its array is empty.", path));
  if (header.shape.size() - 1 > limits::dimensions_max) {
    throw BadDataset(text("batchcast: {} has samples of {} dimensions; {} are possible.", path,
                          header.shape.size() - 1, limits::dimensions_max));
  }
}

void add(const NamedFile& named, RecordSet& set, FingerprintBuilder& fingerprint) {
  const MappedFile& file = keep(set, MappedFile(named.path));
  const NpyHeader header = parse_npy_header(file.bytes(), named.path);
  check(header, named.path);
  const auto count = static_cast<std::uint64_t>(header.shape.front());
  if (set.files.empty()) set.files.push_back({std::string(file.name()), count});
  if (const std::uint64_t size = set.files.front().samples; count != size) {
    throw BadDataset(
        text("batchcast: {} holds {} samples, but {} holds {}: the arrays do not belong together.",
             named.path, count, set.files.front().name, size));
  }
  PartSpec part{.name = named.name, .dtype = header.dtype};
  part.shape.assign(header.shape.begin() + 1, header.shape.end());
  part.channels_last = part.name.starts_with("image") && has_channels_last(part.dtype, part.shape);
  fingerprint.add(part.name);
  fingerprint.add(file.name());
  fingerprint.add(file.bytes().size());
  fingerprint.add(name_of(part.dtype));
  fingerprint.add(part.shape.size());
  for (const std::int64_t extent : part.shape) fingerprint.add(static_cast<std::uint64_t>(extent));
  const std::size_t end = header.data_offset + header.data_bytes;
  if (const std::size_t more = file.bytes().size() - end; more > 0) {
    set.remarks.push_back(text("{}: {} bytes after the array are not used.", named.path, more));
  }
  set.parts.push_back({.spec = std::move(part),
                       .records = {file.bytes().subspan(header.data_offset, header.data_bytes)},
                       .record_bytes = header.data_bytes / count});
}

}  // namespace

std::unique_ptr<Source> open_npy(std::string_view rest, const SourceOptions& options) {
  options.allow({});
  const std::vector<NamedFile> files = parse_files(rest);
  check_names(files);
  RecordSet set;
  FingerprintBuilder fingerprint;
  fingerprint.add("npy");
  for (const NamedFile& file : files) add(file, set, fingerprint);
  fingerprint.add(set.files.front().samples);
  set.fingerprint = fingerprint.finish();
  return make_record_source(std::move(set));
}

}  // namespace batchcast::inline v0_1::detail
