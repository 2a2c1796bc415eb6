// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::detail {

/// What `batchcast tokenize` says of a dataset that it wrote, in PREFIX.json.
struct MegatronManifest {
  std::string key;  ///< stands for all that determined the dataset's bytes
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
  bool has_mask = false;  ///< PREFIX.loss_mask belongs to it: not all of its tokens are trained
};

/// Nothing where PREFIX.json is not there, or is another program's. Throws BadDataset where it is
/// broken.
[[nodiscard]] std::optional<MegatronManifest> read_megatron_manifest(const std::string& prefix);

}  // namespace batchcast::inline v0_1::detail
