// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/token_limit.hpp"

#include "data/refuse_at.hpp"
#include "data/source/sample_cuts.hpp"

#include <batchcast/core/assert.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

/// Samples that have as many rows as the document that they are of.
class DocumentLengths final : public RowLengths {
 public:
  DocumentLengths(std::shared_ptr<const RowLengths> documents,
                  std::shared_ptr<const SampleCuts> cuts)
      : documents_(std::move(documents)), cuts_(std::move(cuts)) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return cuts_->samples(); }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t sample) const noexcept override {
    return (*documents_)[cuts_->place_of(sample).document];
  }

 private:
  std::shared_ptr<const RowLengths> documents_;
  std::shared_ptr<const SampleCuts> cuts_;
};

class CutLengths final : public RowLengths {
 public:
  CutLengths(std::shared_ptr<const RowLengths> documents, std::shared_ptr<const SampleCuts> cuts,
             std::uint64_t rows_max)
      : documents_(std::move(documents)), cuts_(std::move(cuts)), rows_max_(rows_max) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return cuts_->samples(); }
  [[nodiscard]] std::uint64_t operator[](std::uint64_t sample) const noexcept override {
    const SampleCuts::Place place = cuts_->place_of(sample);
    return std::min(rows_max_, (*documents_)[place.document] - place.piece * rows_max_);
  }

 private:
  std::shared_ptr<const RowLengths> documents_;
  std::shared_ptr<const SampleCuts> cuts_;
  std::uint64_t rows_max_;
};

/// Orders ask for the lengths of samples all the time: none is searched for twice.
std::shared_ptr<const RowLengths> at_hand(std::shared_ptr<const RowLengths> lengths,
                                          const SampleCuts& cuts) {
  if (cuts.are_documents()) return lengths;
  std::vector<std::uint32_t> rows;
  rows.reserve(lengths->size());
  for (std::uint64_t id = 0; id < lengths->size(); ++id) {
    rows.push_back(static_cast<std::uint32_t>((*lengths)[id]));
  }
  return std::make_shared<const StoredLengths>(std::move(rows));
}

class LimitedSource final : public Source {
 public:
  LimitedSource(std::shared_ptr<const Source> source, std::uint64_t max_tokens, Overlong overlong)
      : source_(std::move(source)),
        max_tokens_(max_tokens),
        documents_(source_->lengths(tokens_axis)),
        cuts_(std::make_shared<const SampleCuts>(*documents_, max_tokens, overlong)),
        lengths_(at_hand(std::make_shared<CutLengths>(documents_, cuts_, max_tokens), *cuts_)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return cuts_->samples(); }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override {
    return source_->parts();
  }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    const Cut cut = cut_of(sample_id);
    if (cut.is_whole()) return source_->read(cut.document, parts);
    if (source_->read_rows(cut.document, cut.first, cut.count, parts)) return;
    source_->read(cut.document, parts);
    for (std::size_t part = 0; part < this->parts().size(); ++part) shorten(cut, part, parts);
  }
  void read_part(std::uint64_t sample_id, std::size_t part, SampleParts& parts) const override {
    const Cut cut = cut_of(sample_id);
    source_->read_part(cut.document, part, parts);
    if (!cut.is_whole()) shorten(cut, part, parts);
  }
  void read_wanted(std::uint64_t sample_id, std::span<const std::uint8_t> wanted,
                   SampleParts& parts) const override {
    const Cut cut = cut_of(sample_id);
    source_->read_wanted(cut.document, wanted, parts);
    if (cut.is_whole()) return;
    for (std::size_t part = 0; part < wanted.size(); ++part) {
      if (wanted[part] != 0) shorten(cut, part, parts);
    }
  }
  [[nodiscard]] std::optional<PartKey> key_of(std::uint64_t sample_id,
                                              std::size_t part) const noexcept override {
    return source_->key_of(cuts_->place_of(sample_id).document, part);
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    const Cut cut = cut_of(sample_id);
    return name_of(cut, source_->name_of(cut.document));
  }
  [[nodiscard]] std::string plain_name_of(std::uint64_t sample_id) const override {
    const Cut cut = cut_of(sample_id);
    return name_of(cut, source_->plain_name_of(cut.document));
  }
  /// The recipe says the rest.
  [[nodiscard]] Fingerprint fingerprint() const override { return source_->fingerprint(); }
  [[nodiscard]] std::span<const std::string> class_names() const noexcept override {
    return source_->class_names();
  }
  [[nodiscard]] bool labels_are_names() const noexcept override {
    return source_->labels_are_names();
  }
  [[nodiscard]] bool in_memory() const noexcept override { return source_->in_memory(); }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override {
    if (axis == tokens_axis) return lengths_;
    auto documents = source_->lengths(axis);
    if (documents == nullptr || cuts_->are_documents()) return documents;
    return std::make_shared<DocumentLengths>(std::move(documents), cuts_);
  }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override {
    return source_->remarks();
  }

 private:
  struct Cut {
    std::uint64_t document = 0;
    std::uint64_t rows = 0;  ///< of the document
    std::uint64_t first = 0;
    std::uint64_t count = 0;

    [[nodiscard]] bool is_whole() const noexcept { return count == rows; }
  };
  [[nodiscard]] static std::string name_of(const Cut& cut, const std::string& document) {
    if (cut.is_whole()) return document;
    return text("{}, tokens {} to {}", document, cut.first, cut.first + cut.count - 1);
  }
  [[nodiscard]] Cut cut_of(std::uint64_t sample_id) const noexcept {
    const SampleCuts::Place place = cuts_->place_of(sample_id);
    Cut cut{place.document, (*documents_)[place.document], place.piece * max_tokens_};
    cut.count = std::min(max_tokens_, cut.rows - cut.first);
    return cut;
  }
  /// Leaves a part that was read whole the rows of the cut, where it lies on that axis.
  void shorten(const Cut& cut, std::size_t part, SampleParts& parts) const {
    const PartSpec& spec = source_->parts()[part];
    if (spec.axis != tokens_axis) return;
    std::size_t row_bytes = size_of(spec.dtype);
    for (const std::int64_t extent : spec.shape) row_bytes *= static_cast<std::size_t>(extent);
    const std::span<const std::byte> bytes = parts[part];
    if (bytes.size() != cut.rows * row_bytes) {
      throw BadSample(
          text("its `{}` has {} bytes, and the lengths of its source say {}. Make `lengths` say "
               "what the samples have",
               spec.name, bytes.size(), cut.rows * row_bytes));
    }
    parts.set(part, bytes.subspan(cut.first * row_bytes, cut.count * row_bytes));
  }

  std::shared_ptr<const Source> source_;
  std::uint64_t max_tokens_;
  std::shared_ptr<const RowLengths> documents_;
  std::shared_ptr<const SampleCuts> cuts_;
  std::shared_ptr<const RowLengths> lengths_;
};

std::vector<std::string> axes_of(const Source& source) {
  std::vector<std::string> axes;
  for (const PartSpec& part : source.parts()) {
    if (part.on_axis() && std::find(axes.begin(), axes.end(), part.axis) == axes.end()) {
      axes.push_back(part.axis);
    }
  }
  return axes;
}

/// Documents beyond the limit, and what they have together.
struct Overlongs {
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  std::uint64_t excess = 0;  ///< tokens behind the first `max_tokens` of each
  std::uint64_t longest = 0;
  std::uint64_t longest_tokens = 0;
};

Overlongs overlongs_in(const RowLengths& lengths, std::uint64_t max_tokens) {
  Overlongs found;
  for (std::uint64_t id = 0; id < lengths.size(); ++id) {
    const std::uint64_t tokens = lengths[id];
    if (tokens <= max_tokens) continue;
    ++found.documents;
    found.tokens += tokens;
    found.excess += tokens - max_tokens;
    if (tokens <= found.longest_tokens) continue;
    found.longest = id;
    found.longest_tokens = tokens;
  }
  return found;
}

[[noreturn]] void refuse_overlong(const Source& source, const Overlongs& found,
                                  std::uint64_t max_tokens) {
  throw InvalidArgument(text(
      "batchcast: {} of {} samples have more than max_tokens = {} tokens; the longest is `{}` with "
      "{}. Say what becomes of them: overlong = \"truncate\", \"drop\" or \"split\" (--overlong). "
      "Or allow more tokens.",
      found.documents, source.size(), max_tokens, printable(source.name_of(found.longest)),
      found.longest_tokens));
}

TokenAccount account_of(const RowLengths& documents, const RowLengths& samples,
                        const Overlongs& found, Overlong overlong) {
  TokenAccount account;
  account.documents = documents.size();
  account.tokens = summary_of(documents).total;
  account.samples = samples.size();
  account.delivered = summary_of(samples).total;
  if (overlong == Overlong::truncate) {
    account.truncated_documents = found.documents;
    account.truncated = found.excess;
  } else if (overlong == Overlong::drop) {
    account.dropped_documents = found.documents;
    account.dropped = found.tokens;
  } else if (overlong == Overlong::split) {
    account.split_documents = found.documents;
  }
  BATCHCAST_ASSERT(account.is_complete());
  return account;
}

}  // namespace

std::shared_ptr<const RowLengths> lengths_needed(const Source& source, std::string_view axis,
                                                 std::string_view what, std::string_view cure) {
  const std::vector<std::string> axes = axes_of(source);
  if (axes.empty()) {
    throw InvalidArgument(
        text("batchcast: {} is for samples of any length, and those of this source have one shape: "
             "none of its parts lies on the axis `{}`. {}.",
             what, printable(axis), cure));
  }
  if (std::find(axes.begin(), axes.end(), axis) == axes.end()) {
    throw InvalidArgument(
        text("batchcast: {} counts rows of the axis `{}`, and this source has {}.{}", what,
             printable(axis), quoted(axes), did_you_mean(axis, axes)));
  }
  auto lengths = source.lengths(axis);
  if (!lengths) {
    throw InvalidArgument(
        text("batchcast: {} needs the lengths of all samples on the axis `{}` beforehand, and this "
             "source tells a sample's only when it is read. {}, or a source that has them "
             "(docs/recipes.md).",
             what, printable(axis), cure));
  }
  return lengths;
}

LimitedTokens limit_tokens(std::shared_ptr<const Source> source, std::uint64_t max_tokens,
                           Overlong overlong) {
  if (source == nullptr) return {};
  if (max_tokens == 0) {
    const auto lengths = source->lengths(tokens_axis);
    if (lengths == nullptr) return {std::move(source), std::nullopt};
    return {std::move(source), account_of(*lengths, *lengths, {}, Overlong::error)};
  }
  const auto documents =
      lengths_needed(*source, tokens_axis, "`max_tokens`", "Take samples that are short enough");
  const Overlongs found = overlongs_in(*documents, max_tokens);
  if (found.documents == 0) {
    return {std::move(source), account_of(*documents, *documents, {}, Overlong::error)};
  }
  if (overlong == Overlong::error) refuse_overlong(*source, found, max_tokens);
  if (overlong == Overlong::split && axes_of(*source).size() > 1) {
    throw InvalidArgument(
        text("batchcast: overlong = \"split\" cuts samples on the axis `tokens`, and this source "
             "has {}: each piece would have all rows of the others. Take \"truncate\" or \"drop\".",
             quoted(axes_of(*source))));
  }
  if (overlong == Overlong::drop && found.documents == source->size()) {
    throw InvalidArgument(
        text("batchcast: all {} samples have more than max_tokens = {} tokens, and are dropped. "
             "Allow more tokens, or choose another `overlong`.",
             found.documents, max_tokens));
  }
  auto limited = std::make_shared<const LimitedSource>(std::move(source), max_tokens, overlong);
  const TokenAccount account =
      account_of(*documents, *limited->lengths(tokens_axis), found, overlong);
  return {std::move(limited), account};
}

}  // namespace batchcast::inline v0_1::detail
