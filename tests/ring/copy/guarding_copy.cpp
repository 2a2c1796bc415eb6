// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// This library once more, with state and a handler of its own: what a process has of it when two of
// its modules each brought theirs.
#include <batchcast/ring/fault_message.hpp>
#include <batchcast/ring/private_chunks.hpp>

#include <atomic>

namespace {

struct Guard {
  Guard(const std::byte* begin, std::uint64_t bytes)
      : chunks(begin, bytes, written), range(begin, bytes, "copy", &chunks) {}

  std::atomic<std::uint32_t> written{0};
  batchcast::PrivateChunks chunks;
  batchcast::FaultRange range;
};

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void* guard_in_copy(const std::byte* begin,
                                                           std::uint64_t bytes) {
  return new Guard(begin, bytes);
}
__attribute__((visibility("default"))) void unguard_in_copy(void* guard) {
  delete static_cast<Guard*>(guard);
}
__attribute__((visibility("default"))) void come_first_in_copy() {
  batchcast::FaultRange::come_first();
}
}
