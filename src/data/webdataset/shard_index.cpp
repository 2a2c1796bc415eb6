// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/webdataset/shard_index.hpp"

#include <batchcast/core/error.hpp>
#include <batchcast/core/printable.hpp>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "data/webdataset/joiner.hpp"

namespace batchcast::inline v0_1::detail {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw BadDataset(text("batchcast: {}", printable(why)));
}

std::string_view slice(const std::string& keys, const std::vector<std::uint64_t>& ends,
                       std::uint64_t i) {
  const std::uint64_t begin = i == 0 ? 0 : ends[i - 1];
  return std::string_view(keys).substr(begin, ends[i] - begin);
}

bool is_part_of_sample(std::string_view name) {
  const MemberName split = split_member_name(name);
  const std::string_view base = split.key.substr(split.key.rfind('/') + 1);
  const bool is_meta = name.starts_with("__") && base.ends_with("__");
  return !split.extension.empty() && !is_meta;
}

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
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
  first_member_ = index_.members.size();
  in_sample_ = false;
  keys_ascend_ = true;
  knows_members_ = false;
}

bool WebdatasetIndexer::wants(std::string_view name) {
  if (is_part_of_sample(name)) return true;
  left_out_.add(text("{}/{}", shard_names_.back(), name));
  return false;
}

void WebdatasetIndexer::visit(const TarMember& member) {
  fingerprint_.add(member.name);
  fingerprint_.add(member.byte_count);
  if (member.byte_count > std::numeric_limits<std::uint32_t>::max()) {
    refuse(text("{}/{} has 4 GiB or more", shard_names_.back(), member.name));
  }
  const MemberName name = split_member_name(member.name);
  if (!in_sample_ || name.key != index_.key(index_.size() - 1)) begin_sample(name.key);
  const std::size_t extension = extension_id(name.extension);
  const ExtensionSet bit = ExtensionSet{1} << extension;
  if ((in_this_sample_ & bit) != 0) {
    refuse(text("{} has `{}` twice", named(index_.size() - 1), extensions_[extension]));
  }
  in_this_sample_ |= bit;
  ++counts_.back();
  const MemberPlace place{member.offset, static_cast<std::uint32_t>(member.byte_count),
                          static_cast<std::uint32_t>(extension)};
  index_.members.push_back(place);
  if (knows_members_) {
    members_by_name_[text("{}.{}", name.key, extensions_[extension])] = place;
  }
}

void WebdatasetIndexer::link(std::string_view name, std::string_view target) {
  if (!knows_members_) know_members();
  const MemberName wanted = split_member_name(target);
  const auto found =
      members_by_name_.find(text("{}.{}", wanted.key, in_lower_case(wanted.extension)));
  if (found == members_by_name_.end()) {
    refuse(
        text("{}/{} is a hard link to `{}`, which is no part of a sample before it. Pack the files "
             "themselves: tar --sort=name --hard-dereference",
             shard_names_.back(), name, target));
  }
  visit({name, found->second.offset, found->second.byte_count});
}

void WebdatasetIndexer::pass_symbolic_link(std::string_view name) {
  if (is_part_of_sample(name)) symbolic_links_.add(text("{}/{}", shard_names_.back(), name));
}

void WebdatasetIndexer::end_shard() {
  if (!keys_ascend_) join_samples();
  note_extension_sets();
  members_by_name_.clear();
}

void WebdatasetIndexer::begin_sample(std::string_view key) {
  const bool is_first = index_.size() == index_.shard_begins.back();
  if (!is_first && key <= index_.key(index_.size() - 1)) keys_ascend_ = false;
  in_sample_ = true;
  in_this_sample_ = 0;
  index_.keys += key;
  index_.key_ends.push_back(index_.keys.size());
  counts_.push_back(0);
}

// Hard links are rare: the members of a shard get names in memory only from its first link on.
void WebdatasetIndexer::know_members() {
  knows_members_ = true;
  members_by_name_.clear();
  std::size_t member = first_member_;
  for (std::uint64_t sample = index_.shard_begins.back(); sample < index_.size(); ++sample) {
    for (std::uint8_t i = 0; i < counts_[sample]; ++i, ++member) {
      const MemberPlace& place = index_.members[member];
      members_by_name_[text("{}.{}", index_.key(sample), extensions_[place.part])] = place;
    }
  }
}

void WebdatasetIndexer::join_samples() {
  const SampleJoiner::Joined joined = SampleJoiner(index_, counts_, first_member_).run();
  if (joined.samples == 0) return;
  joined_.add(text("{}/{}", shard_names_.back(), joined.first_key));
  joined_.count += joined.samples - 1;
}

void WebdatasetIndexer::note_extension_sets() {
  std::size_t member = first_member_;
  for (std::uint64_t sample = index_.shard_begins.back(); sample < index_.size(); ++sample) {
    ExtensionSet extensions = 0;
    for (std::uint8_t i = 0; i < counts_[sample]; ++i) {
      extensions |= ExtensionSet{1} << index_.members[member++].part;
    }
    extension_sets_.insert(extensions);
  }
}

std::size_t WebdatasetIndexer::extension_id(std::string_view extension) {
  const std::string lower_case = in_lower_case(extension);
  const auto found = std::find(extensions_.begin(), extensions_.end(), lower_case);
  if (found == extensions_.end() && extensions_.size() == extensions_max) {
    refuse(
        text("{}: `{}` is the {}th extension. What follows the first dot of a name is its "
             "extension: are there dots in the samples' names?",
             named(index_.size() - 1), lower_case, extensions_max + 1));
  }
  const auto id = static_cast<std::size_t>(found - extensions_.begin());
  if (found == extensions_.end()) extensions_.push_back(lower_case);
  return id;
}

std::string WebdatasetIndexer::named(std::uint64_t sample_id) const {
  return text("{}/{}", shard_names_[shard_at(index_.shard_begins, sample_id)],
              index_.key(sample_id));
}

std::string WebdatasetIndexer::first_partial(const Partial& partial) const {
  const std::span<const MemberPlace> members =
      std::span(index_.members).subspan(partial.first_member, counts_[partial.first]);
  std::string missing;
  for (std::size_t part = 0; part < index_.plan.parts.size(); ++part) {
    const bool has = std::any_of(members.begin(), members.end(),
                                 [&](const MemberPlace& m) { return m.part == part; });
    if (!has) missing += text("{}{}`", missing.empty() ? "`" : ", `", index_.plan.parts[part].name);
  }
  return text("{} of {} samples lack a part that others have; the first is {}, without {}",
              partial.count, index_.size(), named(partial.first), missing);
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

// Works in place: there is no room for a copy of a list of a hundred million members.
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

// `2019.jpg` and `2020.jpg` are probably parts of names.
std::string WebdatasetIndexer::about_dots() const {
  const auto kind_of = [](std::string_view extension) {
    const std::size_t dot = extension.rfind('.');
    return dot == std::string_view::npos ? std::string_view() : extension.substr(dot);
  };
  for (auto first = extensions_.begin(); first != extensions_.end(); ++first) {
    const std::string_view kind = kind_of(*first);
    if (kind.empty()) continue;
    const auto second = std::find_if(first + 1, extensions_.end(),
                                     [&](const std::string& one) { return kind_of(one) == kind; });
    if (second == extensions_.end()) continue;
    return text(
        ". What follows the first dot of a name is its extension, such as `{}` and `{}`: "
        "are there dots in the samples' names? Pack them without",
        *first, *second);
  }
  return {};
}

void WebdatasetIndexer::remark_on_members() {
  if (joined_.count > 0) {
    index_.remarks.push_back(
        text("{} samples have members that do not stand side by side in their tar, the first is "
             "{}: they are read one by one. `tar --sort=name` packs them together",
             joined_.count, joined_.first));
  }
  if (left_out_.count > 0) {
    index_.remarks.push_back(
        text("left out: {} members that are hidden or have no extension, first {}", left_out_.count,
             left_out_.first));
  }
  if (symbolic_links_.count > 0) {
    index_.remarks.push_back(
        text("left out: {} symbolic links, first {}. `tar -h` packs what they lead to",
             symbolic_links_.count, symbolic_links_.first));
  }
}

WebdatasetIndex WebdatasetIndexer::finish(const Options& options) {
  if (index_.size() == 0) {
    refuse(text("no sample in {} shard(s); members are {}", shard_names_.size(),
                left_out_.count > 0
                    ? text("there, but hidden or without an extension, such as {}", left_out_.first)
                : symbolic_links_.count > 0
                    ? text("symbolic links, such as {}; `tar -h` packs what they lead to",
                           symbolic_links_.first)
                    : "not there at all"));
  }
  index_.plan = plan_parts(extensions_, extension_sets_, options.labels_are_names);
  const Partial partial = sort_into_parts();
  if (partial.count > 0) {
    const std::string remark = first_partial(partial);
    if (!options.skip_partial) {
      refuse(text("{}. `?partial=skip` leaves them out{}", remark, about_dots()));
    }
    if (partial.count == index_.size()) refuse(text("{}. None is left", remark));
    index_.remarks.push_back(text("left out: {}", remark));
    drop_partial();
  }
  // More extensions with a dot than samples: they are names.
  if (const std::string hint = about_dots(); !hint.empty() && extensions_.size() > index_.size()) {
    index_.remarks.push_back(text("{} sample{} {} extensions{}", index_.size(),
                                  index_.size() == 1 ? " has" : "s have", extensions_.size(),
                                  hint));
  }
  remark_on_members();
  index_.shard_begins.push_back(index_.size());
  index_.members.shrink_to_fit();
  index_.keys.shrink_to_fit();
  index_.key_ends.shrink_to_fit();
  fingerprint_.add(index_.size());
  index_.fingerprint = fingerprint_.finish();
  return std::move(index_);
}

}  // namespace batchcast::inline v0_1::detail
