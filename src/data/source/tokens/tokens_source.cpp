// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <glob.h>

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "data/fingerprint_builder.hpp"
#include "data/source/mapped_file.hpp"
#include "data/source/source_kinds.hpp"
#include "data/source/tokens/token_file.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

struct TokenOptions {
  TokenFileOptions files;
  std::uint64_t length = 0;
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
  if (!length) {
    throw InvalidArgument(
        "batchcast: `tokens:` needs the length of its windows, in tokens: "
        "tokens:FILE?length=1024.");
  }
  if (*length == 0) options.refuse("length", "is 0");
  result.length = *length;
  result.stride = options.number("stride").value_or(*length);
  if (result.stride == 0) options.refuse("stride", "is 0");
  result.files.header_bytes = options.number("header");
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

class TokensSource final : public Source {
 public:
  TokensSource(std::string_view list, const TokenOptions& options) : options_(options) {
    for (const std::string& path : expand(list)) add(path);
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
    const File& file = file_of(sample_id);
    const std::size_t token_bytes = size_of(dtype());
    const auto window =
        file.found.tokens.subspan((sample_id - file.first_window) * options_.stride * token_bytes,
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
    const File& file = file_of(sample_id);
    const std::uint64_t start = (sample_id - file.first_window) * options_.stride;
    return text("{}[{}:{}]", file.file.name(), start, start + options_.length + 1);
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    FingerprintBuilder builder;
    builder.add("tokens");
    builder.add(batchcast::name_of(dtype()));
    builder.add(options_.length);
    builder.add(options_.stride);
    const std::uint64_t header_bytes = files_.front().found.header_bytes;
    builder.add(header_bytes);
    builder.add(std::uint64_t{options_.pairs});
    for (const File& file : files_) {
      builder.add(file.file.name());
      builder.add(file.file.bytes().size());
      if (file.found.header_bytes != header_bytes) builder.add(file.found.header_bytes);
    }
    return builder.finish();
  }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override { return remarks_; }

 private:
  struct File {
    MappedFile file;
    TokenFile found;
    std::uint64_t first_window;
  };

  [[nodiscard]] DType dtype() const noexcept { return files_.front().found.dtype; }

  void add(const std::string& path) {
    MappedFile file(path);
    const TokenFile found = find_tokens(file, options_.files);
    if (!files_.empty() && found.dtype != dtype()) {
      throw BadDataset(
          text("batchcast: {} holds tokens of type {}, but {} holds {}: the files of one source "
               "are of one type.",
               path, batchcast::name_of(found.dtype), files_.front().file.path(),
               batchcast::name_of(dtype())));
    }
    if (const std::string remark = remark_on_width(found); !remark.empty()) {
      remarks_.push_back(text("{}: {}", path, remark));
    }
    const std::size_t token_bytes = size_of(found.dtype);
    const std::uint64_t count = found.tokens.size() / token_bytes;
    most_tokens_ = std::max(most_tokens_, count);
    // Above this the kernel's reading ahead stays within the window.
    constexpr std::uint64_t small_window_bytes = 128 * 1024;
    if (options_.length < small_window_bytes / token_bytes) file.expect_random_reads();
    files_.push_back({std::move(file), found, size_});
    if (count > options_.length) {
      size_ += (count - 1 - options_.length) / options_.stride + 1;
    } else {
      remarks_.push_back(text("{}: its {} tokens make no window.", path, count));
    }
  }

  // The last file that starts at or before it: one without a window starts where the next does.
  [[nodiscard]] const File& file_of(std::uint64_t sample_id) const {
    const auto after =
        std::upper_bound(files_.begin(), files_.end(), sample_id,
                         [](std::uint64_t id, const File& file) { return id < file.first_window; });
    return *(after - 1);
  }

  TokenOptions options_;
  std::vector<PartSpec> parts_;
  std::vector<File> files_;
  std::vector<std::string> remarks_;
  std::uint64_t size_ = 0;
  std::uint64_t most_tokens_ = 0;
};

}  // namespace

std::unique_ptr<Source> open_tokens(std::string_view rest, const SourceOptions& options) {
  return std::make_unique<TokensSource>(rest, parse(options));
}

}  // namespace batchcast::inline v0_1::detail
