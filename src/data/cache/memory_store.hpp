// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/cache/sample_store.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Keys are hashes already.
struct KeyHash {
  [[nodiscard]] std::size_t operator()(const Fingerprint& key) const noexcept {
    return static_cast<std::size_t>(key.low);
  }
};

/// Entries in this process's memory, in large pieces that are never freed before the store is.
class MemoryStore final : public SampleStore {
 public:
  /// `bytes_max`: of all pieces together. The index counts with them.
  explicit MemoryStore(std::uint64_t bytes_max) : bytes_max_(bytes_max) {}
  ~MemoryStore() override;

  [[nodiscard]] bool find(const Fingerprint& key, std::size_t part, SampleParts& parts) override;
  [[nodiscard]] Kept add(const Fingerprint& key,
                         std::span<const std::byte> entry) noexcept override;
  [[nodiscard]] StoreTotals totals() const override;
  [[nodiscard]] std::string full() const override;

 private:
  using Entry = std::span<const std::byte>;
  struct Shelf {
    std::mutex mutex;
    std::unordered_map<Fingerprint, Entry, KeyHash> entries;
  };
  struct Piece {
    std::byte* data = nullptr;
    std::size_t bytes = 0;
  };

  [[nodiscard]] Shelf& shelf_of(const Fingerprint& key) noexcept {
    return shelves_[key.high % shelves_.size()];
  }
  [[nodiscard]] std::byte* room_for(std::size_t bytes);
  [[nodiscard]] std::byte* take_room(std::size_t bytes, std::span<std::byte>& unready);
  [[nodiscard]] std::byte* begin_piece(std::size_t bytes);

  const std::uint64_t bytes_max_;
  std::array<Shelf, 64> shelves_;
  mutable std::mutex mutex_;  // guards the rest
  std::vector<Piece> pieces_;
  std::size_t piece_used_ = 0;
  std::size_t piece_left_ = 0;
  std::size_t piece_ready_ = 0;  // of it, what the kernel was asked for
  std::uint64_t pieces_bytes_ = 0;
  std::string full_;
  std::atomic<std::uint64_t> entries_{0};
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace batchcast::inline v0_1::detail
