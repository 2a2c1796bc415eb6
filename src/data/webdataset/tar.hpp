// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/webdataset/shard_files.hpp"

#include <cstdint>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// A regular file in a tar.
struct TarMember {
  std::string_view name;     ///< without a leading `./`; until the visit returns
  std::uint64_t offset = 0;  ///< of its bytes, in the shard or in the unpacked file
  std::uint64_t byte_count = 0;
};

class TarVisitor {
 public:
  virtual ~TarVisitor() = default;
  /// Whether it is worth unpacking.
  [[nodiscard]] virtual bool wants(std::string_view name) = 0;
  virtual void visit(const TarMember& member) = 0;
  /// A hard link: a member that is wanted and has the bytes of `target`, which came before it.
  virtual void link(std::string_view name, std::string_view target) = 0;
  /// A symbolic link; what it leads to may be anywhere.
  virtual void pass_symbolic_link(std::string_view name) = 0;
};

struct TarShard {
  int fd = -1;
  std::string_view name;  ///< for messages
  std::uint64_t byte_count = 0;
};

struct TarFacts {
  bool compressed = false;
  /// Something that is not zeros comes after the end mark: a second tar, perhaps.
  bool more_after_end = false;
  std::uint64_t end = 0;  ///< the byte after the end mark, uncompressed
};

/// Visits the members that are wanted, in order. Of an uncompressed tar it reads the headers only;
/// what is compressed (gzip, Zstandard) is unpacked into `unpacked`. Throws BadDataset that names
/// shard and byte for whatever is broken, cut off (the end mark missing, too), sparse, or
/// compressed otherwise.
TarFacts walk_tar(const TarShard& shard, TarVisitor& visitor, UnpackedFile& unpacked);

}  // namespace batchcast::inline v0_1::detail
