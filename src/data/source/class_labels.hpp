// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// How long a label that is a text may be; a longer text is no name of a class.
inline constexpr std::size_t class_name_bytes_max = 256;

/// Labels that datasets write as texts. Each becomes the index of its text among all different
/// texts, in the order of their bytes. One thread fills it sample by sample; after `finish` any
/// thread may read.
class ClassLabels {
 public:
  /// Adds the next sample's label. Blanks around it do not count. Throws BadDataset beyond a
  /// million classes.
  void add(std::string_view text);
  /// Notes that the next sample has no readable label.
  void add_none();
  void finish();

  /// Throws BadSample where the sample has none.
  [[nodiscard]] std::int64_t operator[](std::uint64_t sample_id) const;
  [[nodiscard]] std::span<const std::string> names() const noexcept { return names_; }
  /// How many were added, those that are none too.
  [[nodiscard]] std::uint64_t size() const noexcept { return labels_.size(); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> numbers_;  ///< in the order of their coming
  std::vector<std::uint32_t> labels_;
  std::vector<std::string> names_;
};

}  // namespace batchcast::inline v0_1::detail
