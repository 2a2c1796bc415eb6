// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>
#include <batchcast/data/source.hpp>

#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace batchcast::test {

/// A source whose parts are what a function says, with samples that are bad at will.
class FakeSource final : public Source {
 public:
  using Fill = std::function<void(std::uint64_t sample_id, std::size_t part, std::span<std::byte>)>;

  FakeSource(std::uint64_t samples, std::vector<PartSpec> parts, Fill fill)
      : samples_(samples), parts_(std::move(parts)), fill_(std::move(fill)) {}

  [[nodiscard]] std::uint64_t size() const noexcept override { return samples_; }
  [[nodiscard]] const std::vector<PartSpec>& parts() const noexcept override { return parts_; }
  void read(std::uint64_t sample_id, SampleParts& parts) const override {
    if (bad.contains(sample_id)) throw BadSample("it is bad");
    parts.resize(parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      std::size_t bytes = size_of(parts_[i].dtype);
      for (const std::int64_t extent : parts_[i].shape) bytes *= static_cast<std::size_t>(extent);
      const auto made = parts.make(i, bytes + (wrong_size.contains(sample_id) ? 1 : 0));
      fill_(sample_id, i, made.first(bytes));
    }
  }
  [[nodiscard]] std::string name_of(std::uint64_t sample_id) const override {
    return "fake/" + std::to_string(sample_id);
  }
  [[nodiscard]] Fingerprint fingerprint() const override { return fingerprint_of(name); }

  [[nodiscard]] bool in_memory() const noexcept override { return mapped; }
  [[nodiscard]] std::span<const std::string> class_names() const noexcept override {
    return classes;
  }

  std::set<std::uint64_t> bad;
  std::set<std::uint64_t> wrong_size;  ///< one byte more than their parts' specs say
  bool mapped = false;
  std::string name = "fake";
  std::vector<std::string> classes;

 private:
  std::uint64_t samples_;
  std::vector<PartSpec> parts_;
  Fill fill_;
};

}  // namespace batchcast::test
