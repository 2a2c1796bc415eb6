// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/schema.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
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

// `name=file`, or a file whose stem is the name. An array whose samples differ in length has
// `name.offsets=file` beside it, and may have `name.axis=axis`.
struct NamedFile {
  std::string name;
  std::string path;
  std::string offsets = {};
  std::string axis = {};

  [[nodiscard]] bool on_axis() const noexcept { return !offsets.empty(); }
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_';
  });
}

// `boxes.offsets=FILE`, taken apart.
struct Beside {
  std::string name;
  std::string what;
  std::string value;
};

// Nothing where it is a file. A misspelt word is refused, unless a file is named like that.
std::optional<Beside> parse_beside(const std::string& item) {
  const std::vector<std::string> words = {"offsets", "axis"};
  const std::size_t equals = item.find('=');
  const std::size_t dot = item.rfind('.', equals);
  if (equals == std::string::npos || dot == std::string::npos || dot > equals) return std::nullopt;
  Beside beside{item.substr(0, dot), item.substr(dot + 1, equals - dot - 1),
                item.substr(equals + 1)};
  if (!is_name(beside.name) || !is_name(beside.what)) return std::nullopt;
  if (std::find(words.begin(), words.end(), beside.what) == words.end()) {
    if (is_there(item)) return std::nullopt;
    throw InvalidArgument(
        text("batchcast: `npy:`: in `{}`, `{}` is neither `offsets` nor `axis`.{}", item,
             beside.what, did_you_mean(beside.what, words)));
  }
  if (beside.value.empty()) {
    throw InvalidArgument(text("batchcast: `npy:`: `{}` says nothing after the `=`.", item));
  }
  return beside;
}

void take_beside(const Beside& beside, std::vector<NamedFile>& files) {
  const auto file = std::find_if(files.begin(), files.end(), [&](const NamedFile& candidate) {
    return candidate.name == beside.name;
  });
  if (file == files.end()) {
    throw InvalidArgument(
        text("batchcast: `npy:`: `{}.{}` is there, and no array is named `{}`. Write "
             "`npy:{}=VALUES.npy,{}.offsets=OFFSETS.npy`.",
             beside.name, beside.what, beside.name, beside.name, beside.name));
  }
  std::string& taken = beside.what == "axis" ? file->axis : file->offsets;
  if (!taken.empty()) {
    throw InvalidArgument(
        text("batchcast: `npy:`: `{}.{}` is there twice.", beside.name, beside.what));
  }
  taken = beside.what == "axis" ? beside.value : with_home(beside.value);
}

std::vector<NamedFile> parse_files(std::string_view rest) {
  std::vector<NamedFile> files;
  std::vector<Beside> all_beside;
  for (const std::string& item : split_paths("npy", rest)) {
    if (std::optional<Beside> beside = parse_beside(item)) {
      all_beside.push_back(*std::move(beside));
      continue;
    }
    const std::size_t equals = item.find('=');
    if (equals != std::string::npos && is_name(std::string_view(item).substr(0, equals))) {
      files.push_back({item.substr(0, equals), with_home(item.substr(equals + 1))});
      continue;
    }
    std::string stem = item.substr(item.rfind('/') + 1);
    if (stem.ends_with(".npy")) stem.resize(stem.size() - 4);
    files.push_back({stem, item});
  }
  for (const Beside& beside : all_beside) take_beside(beside, files);
  return files;
}

void check_names(const std::vector<NamedFile>& files) {
  if (files.empty()) {
    throw InvalidArgument("batchcast: `npy:` names no array: write `npy:NAME=FILE.npy`.");
  }
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
    if (!file.axis.empty() && !file.on_axis()) {
      throw InvalidArgument(
          text("batchcast: `npy:`: `{}.axis` says that samples of `{}` differ in length. Say "
               "where each begins: `{}.offsets=OFFSETS.npy`.",
               file.name, file.name, file.name));
    }
  }
}

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || std::filesystem::equivalent(a, b, ignored);
}

// Arrays with one file of offsets share an axis: the one that an array says, else the first one's
// name.
void name_axes(std::vector<NamedFile>& files) {
  for (NamedFile& file : files) {
    if (!file.on_axis() || !file.axis.empty()) continue;
    std::string axis = file.name;
    for (auto other = files.rbegin(); other != files.rend(); ++other) {
      if (!is_same_file(other->offsets, file.offsets)) continue;
      if (!other->axis.empty()) axis = other->axis;
    }
    file.axis = std::move(axis);
  }
}

void check(const NpyHeader& header, const NamedFile& named) {
  const std::string& path = named.path;
  if (header.shape.empty()) {
    throw BadDataset(text("batchcast: {} holds a single number, not an array of {}.", path,
                          named.on_axis() ? "rows" : "samples"));
  }
  const bool has_rows_alone = named.on_axis() && header.shape.front() == 0;
  if (header.data_bytes == 0 && !has_rows_alone)
    throw BadDataset(text("batchcast: {} holds no samples: its array is empty.", path));
  if (header.shape.size() - 1 > limits::dimensions_max) {
    throw BadDataset(text("batchcast: {} has samples of {} dimensions; {} are possible.", path,
                          header.shape.size() - 1, limits::dimensions_max));
  }
}

// All arrays have as many samples as the first one.
void check_count(RecordSet& set, const std::string& path, std::string_view name,
                 std::uint64_t count) {
  if (set.files.empty()) set.files.push_back({std::string(name), count});
  if (const std::uint64_t size = set.files.front().samples; count != size) {
    throw BadDataset(
        text("batchcast: {} holds {} samples, but {} holds {}: the arrays do not belong together. "
             "Name an array that says where samples begin after its field, such as "
             "tokens.offsets=FILE.",
             path, count, set.files.front().name, size));
  }
}

void add_remark(const MappedFile& file, const NpyHeader& header, RecordSet& set) {
  const std::size_t end = header.data_offset + header.data_bytes;
  if (const std::size_t more = file.bytes().size() - end; more > 0) {
    set.remarks.push_back(text("{}: {} bytes after the array are not used.", file.path(), more));
  }
}

std::shared_ptr<const RowOffsets> open_offsets(const std::string& path, RecordSet& set) {
  auto file = std::make_shared<const MappedFile>(path);
  const NpyHeader header = parse_npy_header(file->bytes(), path);
  const bool is_known = header.dtype == DType::i64 || header.dtype == DType::i32;
  if (!is_known || header.shape.size() != 1) {
    throw BadDataset(
        text("batchcast: {} holds {} of {} dimensions, and offsets are a list of i64 or i32. Save "
             "it again: np.save(FILE, a.reshape(-1).astype(np.int64)).",
             path, name_of(header.dtype), header.shape.size()));
  }
  if (header.shape.front() < 2) {
    throw BadDataset(
        text("batchcast: {} has {} offsets, and one sample takes two: where it begins and where it "
             "ends.",
             path, header.shape.front()));
  }
  add_remark(*file, header, set);
  const std::span<const std::byte> numbers =
      file->bytes().subspan(header.data_offset, header.data_bytes);
  return std::make_shared<const RowOffsets>(numbers, header.dtype, std::move(file));
}

// Rows of the parts on one axis are equally many.
void check_axis(const RecordSet& set, const NamedFile& named, const RowLengths& rows) {
  for (const RecordPart& part : set.parts) {
    if (part.offsets == nullptr || part.spec.axis != named.axis) continue;
    for (std::uint64_t id = 0; id < rows.size(); ++id) {
      if (rows[id] == (*part.lengths)[id]) continue;
      throw BadDataset(
          text("batchcast: {}: sample {} has {} rows of `{}` and {} of `{}`, and both lie on the "
               "axis `{}`. Name another one: `{}.axis=NAME`.",
               named.offsets, id, (*part.lengths)[id], part.spec.name, rows[id], named.name,
               named.axis, named.name));
    }
    return;
  }
}

void add_rows(const NamedFile& named, const NpyHeader& header, RecordSet& set, RecordPart& part,
              FingerprintBuilder& fingerprint) {
  const auto rows = static_cast<std::uint64_t>(header.shape.front());
  std::shared_ptr<const RowOffsets> offsets = open_offsets(named.offsets, set);
  part.lengths = offsets->lengths(named.offsets, rows, named.path);
  check_count(set, named.offsets, part.spec.name, offsets->samples());
  check_axis(set, named, *part.lengths);
  part.spec.axis = named.axis;
  part.record_bytes = *byte_count_of(part.spec.dtype, part.spec.shape);
  part.offsets = std::move(offsets);
  fingerprint.add("rows");
  fingerprint.add(named.axis);
  const std::span<const std::byte> numbers = part.offsets->bytes();
  fingerprint.add(
      fingerprint_of({reinterpret_cast<const char*>(numbers.data()), numbers.size()}).to_hex());
}

void add(const NamedFile& named, RecordSet& set, FingerprintBuilder& fingerprint) {
  const MappedFile& file = keep(set, MappedFile(named.path));
  const NpyHeader header = parse_npy_header(file.bytes(), named.path);
  check(header, named);
  RecordPart record;
  PartSpec& part = record.spec;
  part.name = named.name;
  part.dtype = header.dtype;
  part.shape.assign(header.shape.begin() + 1, header.shape.end());
  part.channels_last = !named.on_axis() && part.name.starts_with("image") &&
                       has_channels_last(part.dtype, part.shape);
  if (!named.on_axis()) {
    const auto count = static_cast<std::uint64_t>(header.shape.front());
    check_count(set, named.path, file.name(), count);
    record.record_bytes = header.data_bytes / count;
  }
  fingerprint.add(part.name);
  fingerprint.add(file.name());
  fingerprint.add(file.bytes().size());
  fingerprint.add(name_of(part.dtype));
  fingerprint.add(part.shape.size());
  for (const std::int64_t extent : part.shape) fingerprint.add(static_cast<std::uint64_t>(extent));
  add_remark(file, header, set);
  record.records = {file.bytes().subspan(header.data_offset, header.data_bytes)};
  if (named.on_axis()) add_rows(named, header, set, record, fingerprint);
  set.parts.push_back(std::move(record));
}

}  // namespace

std::unique_ptr<Source> open_npy(std::string_view rest, const SourceOptions& options) {
  options.allow({});
  std::vector<NamedFile> files = parse_files(rest);
  check_names(files);
  name_axes(files);
  RecordSet set;
  FingerprintBuilder fingerprint;
  fingerprint.add("npy");
  for (const NamedFile& file : files) add(file, set, fingerprint);
  fingerprint.add(set.files.front().samples);
  set.fingerprint = fingerprint.finish();
  return make_record_source(std::move(set));
}

}  // namespace batchcast::inline v0_1::detail
