// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/memory_store.hpp"

#include "data/codec/jpeg/kept_form.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/text.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t piece_bytes = std::size_t{64} << 20;
constexpr std::size_t page_bytes = std::size_t{4} << 10;
constexpr std::size_t alignment = 64;
/// What is asked of the kernel beyond an entry, for the next ones.
constexpr std::size_t ahead_bytes = std::size_t{256} << 10;
constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, which Debian 12's headers may lack
/// What finding an entry takes: a node of the map, and its places in the table, which doubles.
constexpr std::size_t index_bytes = 96;

constexpr std::size_t aligned(std::size_t bytes, std::size_t to) noexcept {
  return (bytes + to - 1) / to * to;
}

}  // namespace

MemoryStore::~MemoryStore() {
  for (const Piece& piece : pieces_) ::munmap(piece.data, piece.bytes);
}

bool MemoryStore::find(const Fingerprint& key, std::size_t part, SampleParts& parts) {
  Shelf& shelf = shelf_of(key);
  const std::lock_guard lock(shelf.mutex);
  const auto found = shelf.entries.find(key);
  if (found == shelf.entries.end()) return false;
  parts.set_kept(part, found->second);
  return true;
}

Kept MemoryStore::add(const Fingerprint& key, std::span<const std::byte> entry) noexcept {
  try {
    Shelf& shelf = shelf_of(key);
    {
      const std::lock_guard lock(shelf.mutex);
      if (shelf.entries.contains(key)) return Kept::present;
    }
    std::byte* const place = room_for(aligned(entry.size() + kept_slack, alignment));
    if (place == nullptr) return Kept::no_room;
    std::memcpy(place, entry.data(), entry.size());
    const std::lock_guard lock(shelf.mutex);
    // Another thread may have been quicker. Its entry is as good, and this room is lost.
    if (!shelf.entries.emplace(key, Entry(place, entry.size())).second) return Kept::present;
  } catch (const std::bad_alloc&) {
    const std::lock_guard lock(mutex_);
    full_ = "there is no more memory for it";
    return Kept::no_room;
  }
  entries_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(entry.size(), std::memory_order_relaxed);
  return Kept::added;
}

std::byte* MemoryStore::room_for(std::size_t bytes) {
  std::span<std::byte> unready;
  std::byte* const place = take_room(bytes, unready);
  // Many pages at once cost less than a fault for each. An older kernel refuses, and has faults.
  if (!unready.empty()) ::madvise(unready.data(), unready.size(), populate_write);
  return place;
}

std::byte* MemoryStore::take_room(std::size_t bytes, std::span<std::byte>& unready) {
  const std::lock_guard lock(mutex_);
  if (!full_.empty()) return nullptr;
  std::byte* place = nullptr;
  // Room for the index is taken off the piece's end, which is not used then.
  if (pieces_.empty() || piece_left_ < bytes + index_bytes) {
    place = begin_piece(bytes);
    if (place == nullptr) return nullptr;
  } else {
    place = pieces_.back().data + piece_used_;
    piece_used_ += bytes;
    piece_left_ -= bytes + index_bytes;
  }
  if (piece_used_ > piece_ready_) {
    const Piece& piece = pieces_.back();
    const std::size_t ready = std::min(aligned(piece_used_ + ahead_bytes, page_bytes), piece.bytes);
    unready = {piece.data + piece_ready_, ready - piece_ready_};
    piece_ready_ = ready;
  }
  return place;
}

/// With room for the first `bytes`; null where there is none. Every entry has its slack, so that no
/// reader leaves the piece.
std::byte* MemoryStore::begin_piece(std::size_t bytes) {
  const std::uint64_t left = bytes_max_ - pieces_bytes_;
  const std::size_t size = std::max(aligned(bytes + index_bytes, page_bytes),
                                    static_cast<std::size_t>(std::min<std::uint64_t>(
                                        piece_bytes, left / page_bytes * page_bytes)));
  if (size > left) {
    full_ = text("{} are full", bytes_text(bytes_max_));
    return nullptr;
  }
  void* const made =
      ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (made == MAP_FAILED) {
    full_ = text("there is no more memory for it: {}", std::generic_category().message(errno));
    return nullptr;
  }
  ::madvise(made, size, MADV_DONTDUMP);
  pieces_.push_back({static_cast<std::byte*>(made), size});
  pieces_bytes_ += size;
  piece_used_ = bytes;
  piece_ready_ = 0;
  piece_left_ = size - bytes - index_bytes;
  return pieces_.back().data;
}

StoreTotals MemoryStore::totals() const {
  return {entries_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed), 0};
}

std::string MemoryStore::full() const {
  const std::lock_guard lock(mutex_);
  return full_;
}

}  // namespace batchcast::inline v0_1::detail
