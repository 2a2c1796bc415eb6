// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

namespace batchcast::inline v0_1::detail {

/// Which ring of a stream a worker's next samples are for, where the stream has heads. The hindmost
/// head gets up to `catch_up` of the work, and the others the rest by turns. What one does not want
/// goes to those that do. It also measures who got how much.
///
/// Each ring has a bill: the samples that it got, divided by its share. Who has the lowest bill is
/// asked first. Where a ring wants nothing, its bill rises to that of the ring that is served
/// instead. So it saves nothing up. Not thread-safe.
class WorkShares {
 public:
  /// Below 1, and above 0.
  explicit WorkShares(double catch_up) noexcept;

  struct Ring {
    const void* id = nullptr;
    bool is_head = false;
    std::uint64_t published = 0;  ///< of a head
  };
  /// Puts indices of `rings` into `order`, which is as long, as they are to be asked. Of rings that
  /// were there before it allocates nothing.
  void order(std::span<const Ring> rings, std::span<std::size_t> order);
  /// Those of `refused` wanted nothing, and `served` got this many samples.
  void note(std::span<const Ring> rings, std::span<const std::size_t> refused, std::size_t served,
            std::uint64_t samples);
  /// That long a worker made samples for that ring.
  void worked(const void* id, std::uint64_t ns) { bills_[id].worked_ns += ns; }
  /// There is no such ring any more.
  void forget(const void* id) { bills_.erase(id); }

  /// Call it now and then: what `share` says is of about a second.
  void look(std::uint64_t now_ns);
  /// Of the workers' time, what that ring got lately.
  [[nodiscard]] double share(const void* id) const;

 private:
  struct Bill {
    double due = 0;
    bool is_known = false;
    std::uint64_t worked_ns = 0;  ///< since the last look that counted
    double share = 0;
  };
  [[nodiscard]] double weight(std::span<const Ring> rings, std::size_t at) const noexcept;
  void open_bills(std::span<const Ring> rings);

  const double catch_up_;
  std::map<const void*, Bill> bills_;
  std::uint64_t looked_ns_ = 0;
};

}  // namespace batchcast::inline v0_1::detail
