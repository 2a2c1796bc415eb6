// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/fingerprint_builder.hpp"
#include "data/source/mapped_file.hpp"
#include "data/source/megatron/megatron_index.hpp"
#include "data/source/megatron/megatron_manifest.hpp"
#include "data/source/megatron/sampled_digest.hpp"
#include "data/source/source_kinds.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

template <class To, class From>
void widen_to(std::span<const std::byte> from, std::byte* to) {
  for (std::size_t i = 0; i < from.size() / sizeof(From); ++i) {
    From value;
    std::memcpy(&value, from.data() + i * sizeof value, sizeof value);
    const To wide = value;
    std::memcpy(to + i * sizeof wide, &wide, sizeof wide);
  }
}

template <class To>
void widen_from(DType dtype, std::span<const std::byte> from, std::byte* to) {
  switch (dtype) {
    case DType::u8:
      return widen_to<To, std::uint8_t>(from, to);
    case DType::i8:
      return widen_to<To, std::int8_t>(from, to);
    case DType::i16:
      return widen_to<To, std::int16_t>(from, to);
    case DType::u16:
      return widen_to<To, std::uint16_t>(from, to);
    default:
      return widen_to<To, std::int32_t>(from, to);
  }
}

// `wanted` where every value of the file's type fits into it.
DType served_dtype(DType stored, std::optional<DType> wanted, const SourceOptions& options) {
  if (!wanted) return stored == DType::u16 ? DType::i32 : stored;
  if (stored == DType::i64 && *wanted == DType::i32) {
    options.refuse("dtype", "is i32, and the file has i64: leave it out");
  }
  return *wanted;
}

class MegatronSource final : public Source {
 public:
  MegatronSource(const std::string& prefix, std::optional<DType> dtype,
                 const SourceOptions& options)
      : manifest_(read_megatron_manifest(prefix)),
        idx_(prefix + ".idx"),
        bin_(prefix + ".bin"),
        index_(idx_.bytes(), idx_.path(), bin_.bytes().size()) {
    parts_ = {{.name = "tokens",
               .dtype = served_dtype(index_.dtype(), dtype, options),
               .axis = "tokens"}};
    add_mask(prefix);
    if (manifest_) check_manifest(prefix);
    name_ = prefix.substr(prefix.rfind('/') + 1);
    bin_.expect_random_reads();
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return index_.lengths()->size(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    read_range({sample_id, 0, (*index_.lengths())[sample_id]}, parts);
  }
  [[nodiscard]] bool read_rows(std::uint64_t sample_id, std::uint64_t first, std::uint64_t count,
                               SampleParts& parts) const override {
    read_range({sample_id, first, count}, parts);
    return true;
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return text("{}[{}]", name_, sample_id);
  }
  [[nodiscard]] Fingerprint fingerprint() const override {
    FingerprintBuilder builder;
    builder.add("megatron");
    builder.add(name_);
    add_sampled(builder, bin_.bytes());
    builder.add(batchcast::name_of(parts_[0].dtype));
    builder.add(std::uint64_t{mask_.has_value()});
    if (mask_) add_sampled(builder, mask_->bytes());
    const std::span<const std::byte> idx = idx_.bytes();
    builder.add(fingerprint_of({reinterpret_cast<const char*>(idx.data()), idx.size()}).to_hex());
    if (manifest_) builder.add(manifest_->key);
    return builder.finish();
  }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override {
    return axis == "tokens" ? index_.lengths() : nullptr;
  }

 private:
  void add_mask(const std::string& prefix) {
    const std::string path = prefix + ".loss_mask";
    if (!is_there(path)) return;
    mask_.emplace(path);
    if (mask_->bytes().size() != index_.elements()) {
      throw BadDataset(
          text("batchcast: {} has {} bytes, and {} has {} tokens: a mask has a byte for each. The "
               "two files do not belong together, or one was cut short.",
               path, mask_->bytes().size(), bin_.path(), index_.elements()));
    }
    parts_.push_back({.name = "loss_mask", .dtype = DType::u8, .axis = "tokens"});
  }
  void check_manifest(const std::string& prefix) const {
    if (manifest_->has_mask && !mask_) {
      throw BadDataset(
          text("batchcast: there is no {}.loss_mask, and {}.json says that not all tokens are "
               "trained. Without the mask all would be: bring that file, make the dataset again "
               "with `batchcast tokenize`, or remove {}.json to train all tokens.",
               prefix, prefix, prefix));
    }
    if (manifest_->documents == size() && manifest_->tokens == index_.elements()) return;
    throw BadDataset(
        text("batchcast: {}.json speaks of {} documents and {} tokens, and the dataset has {} and "
             "{}: its files are of different runs. Make it again with `batchcast tokenize`, or "
             "remove {}.json.",
             prefix, manifest_->documents, manifest_->tokens, size(), index_.elements(), prefix));
  }
  [[nodiscard]] std::span<const std::byte> tokens_of(MegatronIndex::Run run) const {
    const std::size_t width = size_of(index_.dtype());
    return bin_.bytes().subspan(run.first * width, run.count * width);
  }
  void widen(std::span<const std::byte> from, std::byte* to) const {
    if (parts_[0].dtype == index_.dtype()) {
      if (!from.empty()) std::memcpy(to, from.data(), from.size());
    } else if (parts_[0].dtype == DType::i64) {
      widen_from<std::int64_t>(index_.dtype(), from, to);
    } else {
      widen_from<std::int32_t>(index_.dtype(), from, to);
    }
  }
  /// Some neighbouring tokens of a document.
  struct Range {
    std::uint64_t document = 0;
    std::uint64_t first = 0;
    std::uint64_t count = 0;
  };
  /// Where they lie, in order.
  template <class Take>
  void runs_of(Range range, const Take& take) const {
    index_.runs_of(range.document, [&](MegatronIndex::Run run) {
      const std::uint64_t before = std::min(range.first, run.count);
      const std::uint64_t count = std::min(range.count, run.count - before);
      range.first -= before;
      range.count -= count;
      if (count != 0) take(MegatronIndex::Run{run.first + before, count});
    });
  }
  void read_range(const Range& range, SampleParts& parts) const {
    parts.resize(parts_.size());
    std::size_t runs = 0;
    MegatronIndex::Run only;
    runs_of(range, [&](MegatronIndex::Run run) {
      if (runs++ == 0) only = run;
    });
    if (runs > 1) return read_runs(range, parts);
    if (mask_) parts.set(1, mask_->bytes().subspan(only.first, only.count));
    const std::span<const std::byte> tokens = tokens_of(only);
    if (parts_[0].dtype == index_.dtype()) return parts.set(0, tokens);
    widen(tokens, parts.make(0, only.count * size_of(parts_[0].dtype)).data());
  }
  // Of a document whose sequences lie apart.
  void read_runs(const Range& range, SampleParts& parts) const {
    const std::size_t width = size_of(parts_[0].dtype);
    std::byte* tokens = parts.make(0, range.count * width).data();
    std::byte* mask = mask_ ? parts.make(1, range.count).data() : nullptr;
    runs_of(range, [&](MegatronIndex::Run run) {
      widen(tokens_of(run), tokens);
      tokens += run.count * width;
      if (mask == nullptr) return;
      std::memcpy(mask, mask_->bytes().data() + run.first, run.count);
      mask += run.count;
    });
  }

  std::optional<MegatronManifest> manifest_;
  MappedFile idx_;
  MappedFile bin_;
  std::optional<MappedFile> mask_;
  MegatronIndex index_;
  std::vector<PartSpec> parts_;
  std::string name_;
};

// Without the ending that a user may have written.
std::string prefix_of(std::string_view rest, const SourceOptions& options) {
  std::string prefix = with_home(rest);
  for (const std::string_view ending : {".bin", ".idx", ".loss_mask"}) {
    if (prefix.ends_with(ending)) prefix.resize(prefix.size() - ending.size());
  }
  const std::string whole = prefix;
  if (options.one_of("split", {"train", "test"}) == "test") prefix += ".test";
  if (is_there(prefix + ".idx")) return prefix;
  std::string hint;
  if (prefix != whole) {
    hint = " Its rows were not divided: make it again with `batchcast tokenize --test 0.01`.";
  }
  for (const char* const more : {"_text_document", "_text_sentence", "/corpus"}) {
    if (hint.empty() && is_there(prefix + more + ".idx")) {
      hint = text(" Write `megatron:{}{}`.", prefix, more);
    }
  }
  throw BadDataset(text("batchcast: there is no {}.idx.{}", prefix, hint));
}

}  // namespace

std::unique_ptr<Source> open_megatron(std::string_view rest, const SourceOptions& options) {
  options.allow({"dtype", "split"});
  std::optional<DType> dtype;
  const std::string_view wanted = options.one_of("dtype", {"i32", "i64"});
  if (options.value_of("dtype")) dtype = parse_dtype(wanted);
  return std::make_unique<MegatronSource>(prefix_of(rest, options), dtype, options);
}

}  // namespace batchcast::inline v0_1::detail
