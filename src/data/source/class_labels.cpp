// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/source/class_labels.hpp"

#include <batchcast/core/error.hpp>

#include <algorithm>
#include <limits>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
constexpr std::size_t classes_max = 1'000'000;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

}  // namespace

void ClassLabels::add(std::string_view label) {
  const std::string_view name = trimmed(label);
  if (name.empty() || name.size() > class_name_bytes_max) return add_none();
  auto found = numbers_.find(name);
  if (found == numbers_.end()) {
    if (numbers_.size() == classes_max) {
      throw BadDataset(
          text("batchcast: more than {} different texts stand where labels are to be: they are no "
               "classes.",
               classes_max));
    }
    found = numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size())).first;
  }
  labels_.push_back(found->second);
}

void ClassLabels::add_none() { labels_.push_back(none); }

void ClassLabels::finish() {
  std::vector<std::uint32_t> place_of(numbers_.size());
  names_.reserve(numbers_.size());
  for (auto& [name, number] : numbers_) {
    place_of[number] = static_cast<std::uint32_t>(names_.size());
    names_.push_back(name);
  }
  for (std::uint32_t& label : labels_) {
    if (label != none) label = place_of[label];
  }
  numbers_.clear();
  labels_.shrink_to_fit();
}

std::int64_t ClassLabels::operator[](std::uint64_t sample_id) const {
  const std::uint32_t label = labels_[sample_id];
  if (label == none) {
    throw BadSample(text("the name of its class is missing, empty, or longer than {} bytes",
                         class_name_bytes_max));
  }
  return label;
}

}  // namespace batchcast::inline v0_1::detail
