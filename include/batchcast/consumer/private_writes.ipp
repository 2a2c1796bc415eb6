// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/private_writes.hpp>

#include <batchcast/consumer/delivery.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/log.hpp>

namespace batchcast::inline v0_1::detail {
namespace private_writes {

// How often to check whether another handler of faults was put before ours, which costs a system
// call. It is checked at the first batches that are shown in place, and then at one of this many.
inline constexpr std::uint64_t handler_looked_for_at_first = 4;
inline constexpr std::uint64_t handler_looked_for_every = 1024;

}  // namespace private_writes

BATCHCAST_INLINE std::byte* PrivateWrites::map_apart(const Segment& segment) {
  if (!possible_) return nullptr;
  try {
    if (tried_page_bytes_ != segment.granularity()) possible_ = PrivateChunks::possible(segment);
    if (!possible_) return nullptr;
    tried_page_bytes_ = segment.granularity();
    apart_.emplace_back(segment, MapMode::read_only);
    return apart_.back().data();
  } catch (const SystemError&) {
    possible_ = false;
    return nullptr;
  }
}

BATCHCAST_INLINE void PrivateWrites::guard(const std::vector<DoubleMapping>& shown,
                                           const std::string& stream, const LogCallback& log) {
  keeps_writes_ = possible_;
  if (possible_) {
    for (const DoubleMapping& mapping : shown) {
      chunks_.push_back(
          std::make_unique<PrivateChunks>(mapping.data(), 2 * mapping.bytes(), word_));
    }
    if (guard_all(shown, stream)) return;
    fault_ranges_.clear();
    keeps_writes_ = false;
  }
  if (guard_all(shown, stream)) return;
  report(log, LogLevel::warning,
         text("a write into a batch of stream `{}` will end this process: its consumers have more "
              "than the {} fields that are guarded, or it let no handler of SIGSEGV be installed. "
              "Do not write, or attach with access = private.",
              stream, limits::fault_ranges_max));
}

BATCHCAST_INLINE bool PrivateWrites::guard_all(const std::vector<DoubleMapping>& shown,
                                               const std::string& stream) {
  for (std::size_t i = 0; i < shown.size(); ++i) {
    fault_ranges_.emplace_back(shown[i].data(), 2 * shown[i].bytes(), stream,
                               keeps_writes_ ? chunks_[i].get() : nullptr);
    if (!fault_ranges_.back().in_effect()) return false;
  }
  return true;
}

BATCHCAST_INLINE void PrivateWrites::note_shown() noexcept {
  const std::uint64_t shown = shown_++;
  if (keeps_writes_ && (shown < private_writes::handler_looked_for_at_first ||
                        shown % private_writes::handler_looked_for_every == 0)) {
    FaultRange::come_first();
  }
}

BATCHCAST_INLINE void PrivateWrites::give_memory_back() noexcept {
  // The ids, which are last, stay. The reader may be adding up the ids of a run whose batch is not
  // made yet. It may have looked for a write before there was one.
  for (std::size_t i = 0; i + 1 < chunks_.size(); ++i) chunks_[i]->give_back();
}

}  // namespace batchcast::inline v0_1::detail
