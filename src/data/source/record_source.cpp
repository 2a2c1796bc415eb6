// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/record_source.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "data/tensor_part.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

constexpr auto label_values = [] {
  std::array<std::int64_t, 256> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  return values;
}();

class RecordSource final : public Source {
 public:
  explicit RecordSource(RecordSet set) : set_(std::move(set)) {
    for (const RecordSet::File& file : set_.files) {
      first_samples_.push_back(size_);
      size_ += file.samples;
    }
    for (const RecordPart& part : set_.parts) {
      specs_.push_back(part.spec);
      bytes_.push_back(*byte_count_of(part.spec.dtype, part.spec.shape));
    }
  }

  [[nodiscard]] std::uint64_t size() const noexcept override { return size_; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return specs_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    const auto [file, record] = place_of(sample_id);
    parts.resize(specs_.size());
    for (std::size_t i = 0; i < specs_.size(); ++i) {
      const RecordPart& part = set_.parts[i];
      if (part.offsets != nullptr) {
        parts.set(i, rows_of(part, sample_id));
        continue;
      }
      const auto bytes = part.records[file].subspan(record * part.record_bytes + part.at);
      parts.set(i, part.classes == 0 ? bytes.first(bytes_[i]) : label(part, bytes.front()));
    }
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    const auto [file, record] = place_of(sample_id);
    return text("{}[{}]", set_.files[file].name, record);
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return set_.fingerprint; }
  [[nodiscard]] std::span<const std::string> class_names() const noexcept override {
    return set_.class_names;
  }
  [[nodiscard]] bool in_memory() const noexcept override { return true; }
  [[nodiscard]] std::shared_ptr<const RowLengths> lengths(std::string_view axis) const override {
    for (const RecordPart& part : set_.parts) {
      if (part.lengths != nullptr && part.spec.axis == axis) return part.lengths;
    }
    return nullptr;
  }
  [[nodiscard]] std::span<const std::string> remarks() const noexcept override {
    return set_.remarks;
  }

 private:
  struct Place {
    std::size_t file;
    std::uint64_t record;
  };
  [[nodiscard]] Place place_of(std::uint64_t sample_id) const {
    const auto after = std::upper_bound(first_samples_.begin(), first_samples_.end(), sample_id);
    const auto file = static_cast<std::size_t>(after - first_samples_.begin()) - 1;
    return {file, sample_id - first_samples_[file]};
  }
  // The file of offsets may have been written over since they were checked.
  static std::span<const std::byte> rows_of(const RecordPart& part, std::uint64_t sample_id) {
    const std::span<const std::byte> all = part.records.front();
    const auto begin = static_cast<std::uint64_t>(part.offsets->at(sample_id));
    const std::uint64_t rows = (*part.lengths)[sample_id];
    const std::uint64_t all_rows = all.size() / part.record_bytes;
    const auto end = static_cast<std::uint64_t>(part.offsets->at(sample_id + 1));
    if (end - begin != rows || begin > all_rows || rows > all_rows - begin) {
      throw BadSample(
          "its offsets were changed after the stream had begun. Leave the files of a stream as "
          "they "
          "are while it is served");
    }
    return all.subspan(begin * part.record_bytes, rows * part.record_bytes);
  }
  static std::span<const std::byte> label(const RecordPart& part, std::byte byte) {
    const auto number = std::to_integer<std::size_t>(byte);
    if (number >= part.classes) {
      throw BadSample(
          text("its label is {}, and labels go from 0 to {}", number, part.classes - 1));
    }
    return std::as_bytes(std::span(label_values).subspan(number, 1));
  }

  RecordSet set_;
  std::vector<std::uint64_t> first_samples_;  // of each file
  std::vector<PartSpec> specs_;
  std::vector<std::size_t> bytes_;  // of each part
  std::uint64_t size_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_record_source(RecordSet set) {
  return std::make_unique<RecordSource>(std::move(set));
}

}  // namespace batchcast::inline v0_1::detail
