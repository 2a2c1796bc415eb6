// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/directory_store.hpp"

#include "data/codec/jpeg/kept_form.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/text.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint64_t refresh_every_ns = 500'000'000;
// Room is taken in steps, so that the directory's lock is needed rarely.
constexpr std::array<std::uint64_t, 4> steps = {std::uint64_t{64} << 20, std::uint64_t{16} << 20,
                                                std::uint64_t{4} << 20, 0};
constexpr std::uint64_t segment_bytes_max = std::uint64_t{4} << 30;

/// 0, or why there is no room (errno). Where the file system cannot tell ahead, writing will.
int take_room(int file, std::uint64_t from, std::uint64_t to) noexcept {
  int result = 0;
  do {
    result = ::fallocate(file, 0, static_cast<off_t>(from), static_cast<off_t>(to - from)) == 0
                 ? 0
                 : errno;
  } while (result == EINTR);
  if (result != EOPNOTSUPP && result != ENOSYS) return result;
  return ::ftruncate(file, static_cast<off_t>(to)) == 0 ? 0 : errno;
}

}  // namespace

DirectoryStore::DirectoryStore(const std::string& path, std::uint64_t bytes_max)
    : bytes_max_(bytes_max), directory_(path, CacheDirectory::Missing::make) {
  {
    const auto lock = directory_.lock();
    for (const std::string& name : directory_.names()) directory_.trim(name);
  }
  refresh();
}

DirectoryStore::~DirectoryStore() {
  // What was taken and not used goes back, and each segment gets its index.
  std::vector<std::string> names;
  for (const std::unique_ptr<Segment>& segment : own_) {
    names.push_back(std::filesystem::path(segment->path()).filename().string());
  }
  // At once: the index takes as long as its segment is large, and the process may end meanwhile.
  if (!own_.empty()) {
    static_cast<void>(::ftruncate(own_.back()->get(), static_cast<off_t>(tail_)) == 0);
  }
  own_.clear();
  try {
    const auto lock = directory_.lock();
    for (const std::string& name : names) directory_.trim(name);
  } catch (const std::exception&) {
    return;  // the next process does it
  }
}

bool DirectoryStore::find(const Fingerprint& key, std::size_t part, SampleParts& parts) {
  Place place;
  if (!look_up(key, place)) refresh_now_and_then();
  while (look_up(key, place)) {
    const std::size_t bytes = place.record.byte_count;
    const std::span<std::byte> memory = parts.make(part, bytes + kept_slack);
    if (place.segment->read(key, place.record, memory.first(bytes))) {
      parts.set_kept(part, memory.first(bytes));
      return true;
    }
    leave_out(key, place);
  }
  return false;
}

bool DirectoryStore::look_up(const Fingerprint& key, Place& place) {
  Shelf& shelf = shelf_of(key);
  const std::lock_guard lock(shelf.mutex);
  const auto found = shelf.entries.find(key);
  if (found == shelf.entries.end()) return false;
  place = found->second;
  return true;
}

void DirectoryStore::enter(const Fingerprint& key, const Place& place) {
  Shelf& shelf = shelf_of(key);
  const std::lock_guard lock(shelf.mutex);
  if (!shelf.entries.emplace(key, place).second) {
    shelf.duplicates.emplace(key, place);
    return;
  }
  entries_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(place.record.byte_count, std::memory_order_relaxed);
}

void DirectoryStore::leave_out(const Fingerprint& key, const Place& place) {
  damaged_.fetch_add(1, std::memory_order_relaxed);
  Shelf& shelf = shelf_of(key);
  const std::lock_guard lock(shelf.mutex);
  const auto found = shelf.entries.find(key);
  const bool is_same = found != shelf.entries.end() && found->second.segment == place.segment &&
                       found->second.record.offset == place.record.offset;
  if (!is_same) return;
  bytes_.fetch_sub(place.record.byte_count, std::memory_order_relaxed);
  if (const auto other = shelf.duplicates.find(key); other != shelf.duplicates.end()) {
    found->second = other->second;
    bytes_.fetch_add(other->second.record.byte_count, std::memory_order_relaxed);
    shelf.duplicates.erase(other);
    return;
  }
  shelf.entries.erase(found);
  entries_.fetch_sub(1, std::memory_order_relaxed);
}

void DirectoryStore::refresh_now_and_then() {
  const std::uint64_t now = now_ns();
  std::uint64_t before = refreshed_ns_.load(std::memory_order_relaxed);
  if (now - before < refresh_every_ns) return;
  if (!refreshed_ns_.compare_exchange_strong(before, now)) return;
  refresh();
}

void DirectoryStore::refresh() {
  const std::lock_guard reading(reading_);
  refreshed_ns_ = now_ns();
  for (const std::string& name : directory_.names()) {
    if (!known_.insert(name).second) continue;
    std::unique_ptr<Segment> segment = directory_.open(name);
    if (segment == nullptr) continue;
    // One that was just made has no head yet.
    if (!segment->is_segment()) {
      if (segment->file_bytes() < segment_head_bytes) known_.erase(name);
      continue;
    }
    if (const auto index = directory_.index_of(name, *segment)) {
      for (const IndexRecord& record : index->records) {
        enter(record.key, {segment.get(), record.place()});
      }
      segment->go_on_at(index->end);
    }
    segments_.push_back(std::move(segment));
  }
  for (const std::unique_ptr<Segment>& segment : segments_) {
    segment->scan(false, [&](const Fingerprint& key, const RecordPlace& record) {
      enter(key, {segment.get(), record});
    });
  }
}

Kept DirectoryStore::add(const Fingerprint& key, std::span<const std::byte> entry) noexcept {
  try {
    Place place;
    if (look_up(key, place)) return Kept::present;
    const std::lock_guard writing(writing_);
    if (!full_.empty() || entry.size() > std::numeric_limits<std::uint32_t>::max()) {
      return Kept::no_room;
    }
    place.record = {tail_, static_cast<std::uint32_t>(entry.size())};
    if (!make_room(place.record.end() - place.record.offset)) return Kept::no_room;
    place.record.offset = tail_;
    place.segment = own_.back().get();
    if (const int failure = own_.back()->write(key, place.record, entry); failure != 0) {
      stop(text("{}: {}", directory_.path(), std::generic_category().message(failure)));
      return Kept::no_room;
    }
    tail_ = place.record.end();
    enter(key, place);
    return Kept::added;
  } catch (const std::exception& error) {
    const std::lock_guard writing(writing_);
    stop(error.what());
    return Kept::no_room;
  }
}

/// Room for `bytes` at the tail, perhaps in another segment.
bool DirectoryStore::make_room(std::uint64_t bytes) {
  if (!own_.empty() && tail_ + bytes <= reserved_) return true;
  const auto lock = directory_.lock();
  struct stat status = {};
  const bool is_gone =
      own_.empty() || ::fstat(own_.back()->get(), &status) != 0 || status.st_nlink == 0;
  if (is_gone || tail_ + bytes > segment_bytes_max) {
    if (!is_gone)
      static_cast<void>(::ftruncate(own_.back()->get(), static_cast<off_t>(tail_)) == 0);
    if (directory_.bytes() + segment_head_bytes + bytes > bytes_max_) {
      stop(text("{} of {} are full", bytes_text(bytes_max_), directory_.path()));
      return false;
    }
    own_.push_back(directory_.create());
    const std::lock_guard reading(reading_);
    known_.insert(std::filesystem::path(own_.back()->path()).filename().string());
    tail_ = reserved_ = segment_head_bytes;
  }
  return reserve(tail_ + bytes);
}

/// As much as the budget and the disk have, but up to `end` at least. With the directory's lock.
bool DirectoryStore::reserve(std::uint64_t end) {
  const std::uint64_t others = directory_.bytes() - own_.back()->file_bytes();
  int failure = 0;
  for (const std::uint64_t step : steps) {
    const std::uint64_t to = std::max(end, reserved_ + step);
    if (others + to > bytes_max_) continue;
    failure = take_room(own_.back()->get(), reserved_, to);
    if (failure == 0) {
      reserved_ = to;
      return true;
    }
    // A part may have been taken.
    static_cast<void>(::ftruncate(own_.back()->get(), static_cast<off_t>(reserved_)) == 0);
  }
  stop(failure == 0 ? text("{} of {} are full", bytes_text(bytes_max_), directory_.path())
                    : text("{}: {}", directory_.path(), std::generic_category().message(failure)));
  return false;
}

void DirectoryStore::stop(std::string why) {
  if (full_.empty()) full_ = std::move(why);
}

StoreTotals DirectoryStore::totals() const {
  return {entries_.load(std::memory_order_relaxed), bytes_.load(std::memory_order_relaxed),
          damaged_.load(std::memory_order_relaxed)};
}

std::string DirectoryStore::full() const {
  const std::lock_guard writing(writing_);
  return full_;
}

}  // namespace batchcast::inline v0_1::detail
