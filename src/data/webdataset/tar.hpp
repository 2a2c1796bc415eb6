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
  /// Whether a member of that name is worth unpacking.
  [[nodiscard]] virtual bool wants(std::string_view name) = 0;
  virtual void visit(const TarMember& member) = 0;
  /// A hard link: a wanted member with the bytes of `target`, which came before.
  virtual void link(std::string_view name, std::string_view target) = 0;
  /// A symbolic link, which may lead anywhere.
  virtual void pass_symbolic_link(std::string_view name) = 0;
};

struct TarShard {
  int fd = -1;
  std::string_view name;  ///< for messages
  std::uint64_t byte_count = 0;
};

struct TarFacts {
  bool compressed = false;
  /// Bytes that are not zero follow the end mark: perhaps a second tar.
  bool more_after_end = false;
  std::uint64_t end = 0;  ///< the byte after the end mark, uncompressed
};

/// Visits the wanted members, in order. In an uncompressed tar it reads only the headers; it
/// unpacks a compressed one (gzip, Zstandard) into `unpacked`. Throws BadDataset that names shard
/// and byte for a tar that is broken, cut off (also without its end mark), sparse, or compressed
/// otherwise.
TarFacts walk_tar(const TarShard& shard, TarVisitor& visitor, UnpackedFile& unpacked);

}  // namespace batchcast::inline v0_1::detail
