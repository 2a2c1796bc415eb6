// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <glob.h>

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/fingerprint_builder.hpp"
#include "data/source/mapped_file.hpp"
#include "data/source/source_kinds.hpp"
#include "data/source/tokens/token_file.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

// What a sample of a source without a length has, the last of each file less.
constexpr std::uint64_t piece_rows = 65'536;

struct TokenOptions {
  TokenFileOptions files;
  std::uint64_t length = 0;  ///< 0: pieces on an axis
  std::uint64_t stride = 0;
  bool pairs = false;
};

TokenOptions parse(const SourceOptions& options) {
  options.allow({"dtype", "length", "stride", "pairs", "header"});
  TokenOptions result;
  const std::string_view dtype =
      options.one_of("dtype", {"u16", "u8", "i8", "i16", "u32", "i32", "u64", "i64"});
  if (options.value_of("dtype")) result.files.dtype = parse_dtype(dtype);
  const std::optional<std::uint64_t> length = options.number("length");
  result.files.header_bytes = options.number("header");
  if (!length) {
    for (const char* const key : {"stride", "pairs"}) {
      if (!options.value_of(key)) continue;
      options.refuse(key, "is of windows of one length: add `length`, such as length=1024");
    }
    return result;
  }
  if (*length == 0) options.refuse("length", "is 0");
  result.length = *length;
  result.stride = options.number("stride").value_or(*length);
  if (result.stride == 0) options.refuse("stride", "is 0");
  result.pairs = options.boolean("pairs", false);
  return result;
}

// Names stay as written; a pattern's matches come in the order of their bytes.
std::vector<std::string> expand(std::string_view list) {
  std::vector<std::string> files;
  for (const std::string& item : split_paths("tokens", list)) {
    if (item.find_first_of("*?[") == std::string::npos) {
      files.push_back(item);
      continue;
    }
    glob_t found = {};
    const int result = ::glob(item.c_str(), GLOB_NOSORT, nullptr, &found);
    std::vector<std::string> matches(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    if (result != 0 && result != GLOB_NOMATCH) {
      throw BadDataset(text("batchcast: {}: the files of this pattern cannot be listed.", item));
    }
    if (matches.empty()) throw BadDataset(text("batchcast: {}: no file is named like that.", item));
    std::sort(matches.begin(), matches.end());
    files.insert(files.end(), matches.begin(), matches.end());
  }
  return files;
}

struct File {
  MappedFile file;
  TokenFile found;
  std::uint64_t first_sample = 0;

  [[nodiscard]] std::uint64_t tokens() const noexcept {
    return found.tokens.size() / size_of(found.dtype);
  }
};

/// The files of a list, all of one type, without their samples.
std::vector<File> open_files(std::string_view list, const TokenFileOptions& options,
                             std::vector<std::string>& remarks) {
  std::vector<File> files;
  for (const std::string& path : expand(list)) {
    MappedFile file(path);
    const TokenFile found = find_tokens(file, options);
    if (!files.empty() && found.dtype != files.front().found.dtype) {
      throw BadDataset(
          text("batchcast: {} holds tokens of type {}, but {} holds {}: the files of one source "
               "are of one type.",
               path, batchcast::name_of(found.dtype), files.front().file.path(),
               batchcast::name_of(files.front().found.dtype)));
    }
    if (const std::string remark = remark_on_width(found); !remark.empty()) {
      remarks.push_back(text("{}: {}", path, remark));
    }
    files.push_back({std::move(file), found});
  }
  return files;
}

/// The last file that starts at or before it: one without a sample starts where the next does.
const File& file_of(const std::vector<File>& files, std::uint64_t sample_id) {
  const auto after =
      std::upper_bound(files.begin(), files.end(), sample_id,
                       [](std::uint64_t id, const File& file) { return id < file.first_sample; });
  return *(after - 1);
}

// Above this the kernel's reading ahead stays within a sample.
constexpr std::uint64_t small_sample_bytes = 128 * 1024;

/// What fingerprints of both kinds have of the files.
void add_files(FingerprintBuilder& builder, const std::vector<File>& files) {
  const std::uint64_t header_bytes = files.front().found.header_bytes;
  for (const File& file : files) {
    builder.add(file.file.name());
    builder.add(file.file.bytes().size());
    if (file.found.header_bytes != header_bytes) builder.add(file.found.header_bytes);
  }
}

/// Pieces of files, each as long as the others but for the last of a file.
class PieceLengths final : public RowLengths {
 public:
  explicit PieceLengths(const std::vector<File>& files) {
    for (const File& file : files) {
      if (file.tokens() == 0) continue;
      first_samples_.push_back(file.first_sample);
      tokens_.push_back(file.tokens());
      size_ = file.first_sample + (file.tokens() - 1) / piece_rows + 1;
    }
  }
  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t sample_id) const noexcept override {
    const auto after = std::upper_bound(first_samples_.begin(), first_samples_.end(), sample_id);
    const auto file = static_cast<std::size_t>(after - first_samples_.begin()) - 1;
    return std::min(piece_rows, tokens_[file] - (sample_id - first_samples_[file]) * piece_rows);
  }

 private:
  std::vector<std::uint64_t> first_samples_;  // of files with tokens
  std::vector<std::uint64_t> tokens_;
  std::uint64_t size_ = 0;
};

/// Without a length: what trainers cut by themselves.
class TokenPieces final : public Source {
 public:
  TokenPieces(std::string_view list, const TokenOptions& options)
      : files_(open_files(list, options.files, remarks_)) {
    for (File& file : files_) {
      file.first_sample = size_;
      if (piece_rows * size_of(file.found.dtype) < small_sample_bytes) {
        file.file.expect_random_reads();
      }
      size_ += (file.tokens() + piece_rows - 1) / piece_rows;
      if (file.tokens() != 0) continue;
      remarks_.push_back(text("{}: it holds no tokens.", file.file.path()));
    }
    if (size_ == 0) {
      throw BadDataset(text("batchcast: {}{} no tokens.", files_.front().file.path(),
                            files_.size() > 1 ? " and the others hold" : " holds"));
    }
    parts_ = {{.name = "tokens", .dtype = files_.front().found.dtype, .axis = "tokens"}};
    lengths_ = std::make_shared<PieceLengths>(files_);
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    const File& file = file_of(files_, sample_id);
    const std::size_t piece_bytes = piece_rows * size_of(file.found.dtype);
    const std::size_t begin = (sample_id - file.first_sample) * piece_bytes;
    parts.resize(1);
    parts.set(0, file.found.tokens.subspan(
                     begin, std::min(piece_bytes, file.found.tokens.size() - begin)));
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    const File& file = file_of(files_, sample_id);
    const std::uint64_t start = (sample_id - file.first_sample) * piece_rows;
    return text("{}[{}:{}]", file.file.name(), start, start + (*lengths_)[sample_id]);
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    FingerprintBuilder builder;
    builder.add("tokens in pieces");
    builder.add(batchcast::name_of(parts_.front().dtype));
    builder.add(piece_rows);
    builder.add(files_.front().found.header_bytes);
    add_files(builder, files_);
    return builder.finish();
  }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override {
    return axis == "tokens" ? lengths_ : nullptr;
  }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override { return remarks_; }

 private:
  std::vector<std::string> remarks_;  // before the files, whose opening adds to it
  std::vector<File> files_;
  std::vector<PartSpec> parts_;
  std::shared_ptr<const PieceLengths> lengths_;
  std::uint64_t size_ = 0;
};

class TokensSource final : public Source {
 public:
  TokensSource(std::string_view list, const TokenOptions& options)
      : options_(options), files_(open_files(list, options.files, remarks_)) {
    for (File& file : files_) add(file);
    if (size_ == 0) {
      throw BadDataset(text(
          "batchcast: {}{} too short: a window of length {} takes {} + 1 tokens, and there are {}.",
          files_.front().file.path(), files_.size() > 1 ? " and the others are" : " is",
          options_.length, options_.length, most_tokens_));
    }
    const auto length = static_cast<std::int64_t>(options_.length);
    if (options_.pairs) {
      parts_ = {{.name = "input", .dtype = dtype(), .shape = {length}},
                {.name = "target", .dtype = dtype(), .shape = {length}}};
    } else {
      parts_ = {{.name = "tokens", .dtype = dtype(), .shape = {length + 1}}};
    }
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    const File& file = file_of(files_, sample_id);
    const std::size_t token_bytes = size_of(dtype());
    const auto window =
        file.found.tokens.subspan((sample_id - file.first_sample) * options_.stride * token_bytes,
                                  (options_.length + 1) * token_bytes);
    parts.resize(parts_.size());
    if (options_.pairs) {
      parts.set(0, window.first(options_.length * token_bytes));
      parts.set(1, window.subspan(token_bytes));
    } else {
      parts.set(0, window);
    }
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    const File& file = file_of(files_, sample_id);
    const std::uint64_t start = (sample_id - file.first_sample) * options_.stride;
    return text("{}[{}:{}]", file.file.name(), start, start + options_.length + 1);
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    FingerprintBuilder builder;
    builder.add("tokens");
    builder.add(batchcast::name_of(dtype()));
    builder.add(options_.length);
    builder.add(options_.stride);
    builder.add(files_.front().found.header_bytes);
    builder.add(std::uint64_t{options_.pairs});
    add_files(builder, files_);
    return builder.finish();
  }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override { return remarks_; }

 private:
  [[nodiscard]] DType dtype() const noexcept { return files_.front().found.dtype; }

  void add(File& file) {
    const std::uint64_t count = file.tokens();
    most_tokens_ = std::max(most_tokens_, count);
    if (options_.length < small_sample_bytes / size_of(dtype())) file.file.expect_random_reads();
    file.first_sample = size_;
    if (count > options_.length) {
      size_ += (count - 1 - options_.length) / options_.stride + 1;
    } else {
      remarks_.push_back(text("{}: its {} tokens make no window.", file.file.path(), count));
    }
  }

  TokenOptions options_;
  std::vector<PartSpec> parts_;
  std::vector<std::string> remarks_;  // before the files, whose opening adds to it
  std::vector<File> files_;
  std::uint64_t size_ = 0;
  std::uint64_t most_tokens_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_tokens(std::string_view rest, const SourceOptions& options) {
  const TokenOptions parsed = parse(options);
  if (parsed.length == 0) return std::make_unique<TokenPieces>(rest, parsed);
  return std::make_unique<TokensSource>(rest, parsed);
}

}  // namespace batchcast::inline v0_1::detail
