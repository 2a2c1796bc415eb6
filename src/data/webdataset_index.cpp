// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/webdataset_index.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw BadDataset("batchcast: " + printable(why));
}

std::string_view slice(const std::string& keys, const std::vector<std::uint64_t>& ends,
                       std::uint64_t i) {
  const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
  return std::string_view(keys).substr(begin, ends[i] - begin);
}

std::size_t shard_at(const std::vector<std::uint64_t>& begins, std::uint64_t sample_id) {
  const auto after = std::upper_bound(begins.begin(), begins.end(), sample_id);
  return static_cast<std::size_t>(after - begins.begin()) - 1;
}

}  // namespace

std::string_view WebdatasetIndex::key(std::uint64_t sample_id) const noexcept {
  return slice(keys, key_ends, sample_id);
}

std::size_t WebdatasetIndex::shard_of(std::uint64_t sample_id) const noexcept {
  return shard_at(shard_begins, sample_id);
}

void WebdatasetIndexer::begin_shard(std::string_view name) {
  shard_names_.emplace_back(name);
  index_.shard_begins.push_back(index_.size());
  fingerprint_.add(name);
}

bool WebdatasetIndexer::wants(std::string_view name) {
  const MemberName split = split_member_name(name);
  const std::string_view base = split.key.substr(split.key.rfind('/') + 1);
  const bool is_meta = name.starts_with("__") && base.ends_with("__");
  if (!split.extension.empty() && !is_meta) return true;
  if (left_out_++ == 0) first_left_out_ = shard_names_.back() + "/" + std::string(name);
  return false;
}

void WebdatasetIndexer::visit(const TarMember& member) {
  fingerprint_.add(member.name);
  fingerprint_.add(member.byte_count);
  if (member.byte_count > std::numeric_limits<std::uint32_t>::max()) {
    refuse(shard_names_.back() + "/" + std::string(member.name) + " has 4 GiB or more");
  }
  const MemberName name = split_member_name(member.name);
  if (!in_sample_ || name.key != index_.key(index_.size() - 1)) begin_sample(name.key);
  const std::size_t extension = extension_id(name.extension);
  const ExtensionSet bit = ExtensionSet{1} << extension;
  if ((in_this_sample_ & bit) != 0) {
    refuse(named(index_.size() - 1) + " has `" + extensions_[extension] + "` twice");
  }
  in_this_sample_ |= bit;
  ++counts_.back();
  index_.members.push_back({member.offset, static_cast<std::uint32_t>(member.byte_count),
                            static_cast<std::uint32_t>(extension)});
}

void WebdatasetIndexer::end_shard() { end_sample(); }

void WebdatasetIndexer::begin_sample(std::string_view key) {
  end_sample();
  in_sample_ = true;
  in_this_sample_ = 0;
  index_.keys += key;
  index_.key_ends.push_back(index_.keys.size());
  counts_.push_back(0);
}

void WebdatasetIndexer::end_sample() {
  if (in_sample_) extension_sets_.insert(in_this_sample_);
  in_sample_ = false;
}

std::size_t WebdatasetIndexer::extension_id(std::string_view extension) {
  lower_case_.assign(extension);
  for (char& c : lower_case_) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto found = std::find(extensions_.begin(), extensions_.end(), lower_case_);
  if (found == extensions_.end() && extensions_.size() == extensions_max) {
    refuse(named(index_.size() - 1) + ": `" + lower_case_ + "` is the " +
           std::to_string(extensions_max + 1) +
           "th extension. What is behind the first dot of a name is its extension: are there dots "
           "in the samples' names?");
  }
  const auto id = static_cast<std::size_t>(found - extensions_.begin());
  if (found == extensions_.end()) extensions_.push_back(lower_case_);
  return id;
}

std::string WebdatasetIndexer::named(std::uint64_t sample_id) const {
  return shard_names_[shard_at(index_.shard_begins, sample_id)] + "/" +
         std::string(index_.key(sample_id));
}

std::string WebdatasetIndexer::first_partial(const Partial& partial) const {
  const std::span<const MemberPlace> members =
      std::span(index_.members).subspan(partial.first_member, counts_[partial.first]);
  std::string missing;
  for (std::size_t part = 0; part < index_.plan.parts.size(); ++part) {
    const bool has = std::any_of(members.begin(), members.end(),
                                 [&](const MemberPlace& m) { return m.part == part; });
    if (!has) missing += (missing.empty() ? "`" : ", `") + index_.plan.parts[part].name + "`";
  }
  return std::to_string(partial.count) + " of " + std::to_string(index_.size()) +
         " samples lack a part that others have; the first is " + named(partial.first) +
         ", without " + missing;
}

WebdatasetIndexer::Partial WebdatasetIndexer::sort_into_parts() {
  Partial partial;
  std::size_t member = 0;
  for (std::uint64_t sample = 0; sample < index_.size(); ++sample) {
    const std::span<MemberPlace> members =
        std::span(index_.members).subspan(member, counts_[sample]);
    for (MemberPlace& place : members) {
      place.part = static_cast<std::uint32_t>(index_.plan.part_of[place.part]);
    }
    std::sort(members.begin(), members.end(),
              [](const MemberPlace& a, const MemberPlace& b) { return a.part < b.part; });
    if (members.size() < index_.plan.parts.size() && partial.count++ == 0) {
      partial.first = sample;
      partial.first_member = member;
    }
    member += members.size();
  }
  return partial;
}

// In place: a list of a hundred million members has no room for its copy.
void WebdatasetIndexer::drop_partial() {
  const std::size_t parts = index_.plan.parts.size();
  std::size_t member = 0;
  std::uint64_t key_begin = 0;
  std::uint64_t key_bytes = 0;
  std::uint64_t kept = 0;
  std::size_t shard = 0;
  for (std::uint64_t sample = 0; sample < counts_.size(); ++sample) {
    for (; shard < index_.shard_begins.size() && index_.shard_begins[shard] == sample; ++shard) {
      index_.shard_begins[shard] = kept;
    }
    const std::uint64_t key_end = index_.key_ends[sample];
    if (counts_[sample] == parts) {
      std::copy_n(index_.members.begin() + static_cast<std::ptrdiff_t>(member), parts,
                  index_.members.begin() + static_cast<std::ptrdiff_t>(kept * parts));
      index_.keys.replace(key_bytes, key_end - key_begin, index_.keys, key_begin,
                          key_end - key_begin);
      key_bytes += key_end - key_begin;
      index_.key_ends[kept++] = key_bytes;
    }
    key_begin = key_end;
    member += counts_[sample];
  }
  for (; shard < index_.shard_begins.size(); ++shard) index_.shard_begins[shard] = kept;
  index_.members.resize(kept * parts);
  index_.keys.resize(key_bytes);
  index_.key_ends.resize(kept);
}

WebdatasetIndex WebdatasetIndexer::finish(bool skip_partial) {
  if (index_.size() == 0) {
    refuse("no sample in " + std::to_string(shard_names_.size()) + " shard(s); members are " +
           (left_out_ > 0 ? "there, but hidden or without an extension, such as " + first_left_out_
                          : "not there at all"));
  }
  index_.plan = plan_parts(extensions_, extension_sets_);
  const Partial partial = sort_into_parts();
  if (partial.count > 0) {
    const std::string text = first_partial(partial);
    if (!skip_partial) refuse(text + ". `?partial=skip` leaves them out");
    if (partial.count == index_.size()) refuse(text + ". None is left");
    index_.remarks.push_back("left out: " + text);
    drop_partial();
  }
  if (left_out_ > 0) {
    index_.remarks.push_back("left out: " + std::to_string(left_out_) +
                             " members that are hidden or have no extension, first " +
                             first_left_out_);
  }
  index_.shard_begins.push_back(index_.size());
  index_.members.shrink_to_fit();
  index_.keys.shrink_to_fit();
  index_.key_ends.shrink_to_fit();
  fingerprint_.add(index_.size());
  index_.fingerprint = fingerprint_.finish();
  return std::move(index_);
}

}  // namespace batchcast::inline v0_1::detail
