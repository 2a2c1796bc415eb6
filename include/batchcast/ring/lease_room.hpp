// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/lease_table.hpp>
#include <batchcast/ring/reader_host.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace batchcast::inline v0_1 {

/// Whether a reader's leases leave room in the ring for what it asks for. Where they do not, it has
/// the host give them back, the oldest first. The reader's thread calls it. Leases and host must
/// outlive it.
class LeaseRoom {
 public:
  struct Names {
    std::string stream;
    std::string memory_option;  ///< of `serve`, what enlarges the ring
    std::uint64_t capacity = 0;
  };

  LeaseRoom(const LeaseTable& leases, ReaderHost& host, Names names);

  /// Makes room for samples below `end`. Returns what keeps them out for good, if anything.
  [[nodiscard]] std::optional<LeaseTable::Held> make(std::uint64_t end);
  /// The same. Throws RingTooSmall where there is none.
  void check(std::uint64_t end);
  /// Makes room for skipping an epoch of unknown length, which waits until no lease is held.
  void make_for_skip();

 private:
  const LeaseTable& leases_;
  ReaderHost& host_;
  const Names names_;
};

}  // namespace batchcast::inline v0_1
