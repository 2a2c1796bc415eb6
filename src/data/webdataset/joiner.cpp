// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/webdataset/joiner.hpp"

#include <algorithm>
#include <numeric>

namespace batchcast::inline v0_1::detail {

SampleJoiner::SampleJoiner(WebdatasetIndex& index, std::vector<std::uint8_t>& counts,
                           std::size_t first_member)
    : index_(index),
      counts_(counts),
      first_sample_(index.shard_begins.back()),
      first_member_(first_member),
      into_(static_cast<std::size_t>(index.size() - first_sample_)) {
  std::iota(into_.begin(), into_.end(), std::size_t{0});
}

SampleJoiner::Joined SampleJoiner::run() {
  const std::vector<std::size_t> pieces = pieces_by_key();
  const auto same_key = [&](std::size_t a, std::size_t b) { return key(a) == key(b); };
  if (std::adjacent_find(pieces.begin(), pieces.end(), same_key) == pieces.end()) return {};

  std::vector<ExtensionSet> extensions = extension_sets();
  Joined joined;
  std::size_t first = into_.size();
  std::size_t last_joined = into_.size();
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const std::size_t piece = pieces[i];
    if (!same_key(pieces[i - 1], piece)) continue;
    const std::size_t sample = into_[pieces[i - 1]];
    if ((extensions[sample] & extensions[piece]) != 0) continue;
    extensions[sample] |= extensions[piece];
    into_[piece] = sample;
    if (sample != last_joined) ++joined.samples;
    last_joined = sample;
    first = std::min(first, sample);
  }
  if (joined.samples == 0) return {};
  joined.first_key = key(first);
  rebuild();
  return joined;
}

std::vector<std::size_t> SampleJoiner::pieces_by_key() const {
  std::vector<std::size_t> pieces = into_;
  std::sort(pieces.begin(), pieces.end(), [&](std::size_t a, std::size_t b) {
    const int order = key(a).compare(key(b));
    return order != 0 ? order < 0 : a < b;
  });
  return pieces;
}

std::vector<ExtensionSet> SampleJoiner::extension_sets() const {
  std::vector<ExtensionSet> sets(into_.size());
  std::size_t member = first_member_;
  for (std::size_t piece = 0; piece < sets.size(); ++piece) {
    for (std::size_t i = 0; i < counts_[first_sample_ + piece]; ++i) {
      sets[piece] |= ExtensionSet{1} << index_.members[member++].part;
    }
  }
  return sets;
}

void SampleJoiner::rebuild() {
  std::vector<std::size_t> first_members(into_.size());
  std::vector<std::size_t> pieces(into_.size());
  std::size_t member = first_member_;
  for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
    pieces[piece] = piece;
    first_members[piece] = member;
    member += counts_[first_sample_ + piece];
  }
  std::stable_sort(pieces.begin(), pieces.end(),
                   [&](std::size_t a, std::size_t b) { return into_[a] < into_[b]; });

  const std::uint64_t keys_begin = first_sample_ == 0 ? 0 : index_.key_ends[first_sample_ - 1];
  std::vector<MemberPlace> members;
  std::vector<std::uint8_t> counts;
  std::vector<std::uint64_t> key_ends;
  std::string keys;
  members.reserve(index_.members.size() - first_member_);
  for (const std::size_t piece : pieces) {
    if (into_[piece] == piece) {
      keys += key(piece);
      key_ends.push_back(keys_begin + keys.size());
      counts.push_back(0);
    }
    const std::uint8_t count = counts_[first_sample_ + piece];
    counts.back() = static_cast<std::uint8_t>(counts.back() + count);
    const auto from = index_.members.begin() + static_cast<std::ptrdiff_t>(first_members[piece]);
    members.insert(members.end(), from, from + count);
  }
  const auto put = [](auto& all, std::size_t begin, const auto& end) {
    all.resize(begin);
    all.insert(all.end(), end.begin(), end.end());
  };
  put(index_.members, first_member_, members);
  put(index_.keys, static_cast<std::size_t>(keys_begin), keys);
  put(index_.key_ends, static_cast<std::size_t>(first_sample_), key_ends);
  put(counts_, static_cast<std::size_t>(first_sample_), counts);
}

}  // namespace batchcast::inline v0_1::detail
