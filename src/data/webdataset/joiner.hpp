// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "data/webdataset/shard_index.hpp"

namespace batchcast::inline v0_1::detail {

/// Joins pieces of one sample of the last shard. The indexer took them for several samples because
/// other members stood between. They have one key and no extension twice. A joined sample takes the
/// place of its first member. Joining takes 32 bytes for each sample of the shard. Where there is
/// something to join, it also takes a copy of the shard's part of the index.
class SampleJoiner {
 public:
  struct Joined {
    std::uint64_t samples = 0;
    std::string first_key;
  };

  /// `counts`: members of each sample. `first_member`: of the last shard.
  SampleJoiner(WebdatasetIndex& index, std::vector<std::uint8_t>& counts, std::size_t first_member);

  [[nodiscard]] Joined run();

 private:
  [[nodiscard]] std::string_view key(std::size_t piece) const noexcept {
    return index_.key(first_sample_ + piece);
  }
  [[nodiscard]] std::vector<std::size_t> pieces_by_key() const;
  [[nodiscard]] std::vector<ExtensionSet> extension_sets() const;
  void rebuild();

  WebdatasetIndex& index_;
  std::vector<std::uint8_t>& counts_;
  std::uint64_t first_sample_;
  std::size_t first_member_;
  std::vector<std::size_t> into_;  ///< of each piece: the first piece of its sample
};

}  // namespace batchcast::inline v0_1::detail
