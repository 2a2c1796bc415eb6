// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/fingerprint_builder.hpp"
#include "data/webdataset/parts.hpp"
#include "data/webdataset/tar.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Where the bytes of one part of one sample lie.
struct MemberPlace {
  std::uint64_t offset = 0;
  std::uint32_t byte_count = 0;
  std::uint32_t part = 0;
};

/// A webdataset's index: everything but its bytes.
struct WebdatasetIndex {
  PartPlan plan;
  std::vector<MemberPlace> members;         ///< parts().size() of each sample, in the parts' order
  std::vector<std::uint64_t> shard_begins;  ///< first sample of each shard, and N
  std::string keys;                         ///< one after the other
  std::vector<std::uint64_t> key_ends;
  Fingerprint fingerprint;
  std::vector<std::string> remarks;

  [[nodiscard]] std::uint64_t size() const noexcept { return key_ends.size(); }
  [[nodiscard]] std::span<const MemberPlace> places(std::uint64_t sample_id) const noexcept {
    const std::size_t parts = plan.parts.size();
    return std::span(members).subspan(static_cast<std::size_t>(sample_id) * parts, parts);
  }
  [[nodiscard]] std::string_view key(std::uint64_t sample_id) const noexcept;
  [[nodiscard]] std::size_t shard_of(std::uint64_t sample_id) const noexcept;
};

/// Groups the members of shard after shard into samples by key, in the order in which the keys came
/// first. Members of a sample need not stand side by side. A key that comes again with a part that
/// its sample has already begins another sample. Throws BadDataset.
class WebdatasetIndexer final : public TarVisitor {
 public:
  void begin_shard(std::string_view name);
  [[nodiscard]] bool wants(std::string_view name) override;
  void visit(const TarMember& member) override;
  void link(std::string_view name, std::string_view target) override;
  void pass_symbolic_link(std::string_view name) override;
  void end_shard();

  struct Options {
    bool skip_partial = false;  ///< samples that lack a part are left out
    bool labels_are_names = false;
  };
  /// Call it once, at the end.
  [[nodiscard]] WebdatasetIndex finish(const Options& options);

 private:
  /// The samples that lack a part.
  struct Partial {
    std::uint64_t count = 0;
    std::uint64_t first = 0;
    std::size_t first_member = 0;
  };
  [[nodiscard]] std::string named(std::uint64_t sample_id) const;
  [[nodiscard]] std::size_t extension_id(std::string_view extension);
  void begin_sample(std::string_view key);
  void know_members();
  void join_samples();
  void note_extension_sets();
  void remark_on_members();
  /// A hint at dots in keys; empty where no two extensions look like that.
  [[nodiscard]] std::string about_dots() const;
  [[nodiscard]] Partial sort_into_parts();
  [[nodiscard]] std::string first_partial(const Partial& partial) const;
  void drop_partial();

  FingerprintBuilder fingerprint_;
  WebdatasetIndex index_;  ///< MemberPlace::part is an extension's number until the end
  std::vector<std::string> shard_names_;
  std::vector<std::string> extensions_;
  std::set<ExtensionSet> extension_sets_;
  std::vector<std::uint8_t> counts_;  ///< members of each sample

  // For the shard that is being walked.
  std::size_t first_member_ = 0;
  bool in_sample_ = false;
  bool keys_ascend_ = true;
  ExtensionSet in_this_sample_ = 0;
  bool knows_members_ = false;
  std::unordered_map<std::string, MemberPlace> members_by_name_;  ///< once there is a hard link

  /// How many of a kind there were, and the first.
  struct Noted {
    std::uint64_t count = 0;
    std::string first;
    void add(const std::string& name) {
      if (count++ == 0) first = name;
    }
  };
  Noted left_out_;
  Noted symbolic_links_;
  Noted joined_;
};

}  // namespace batchcast::inline v0_1::detail
