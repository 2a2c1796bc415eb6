// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/segment.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::uint32_t record_magic = 0x52434342;
// The last digits are the version of entries, too.
constexpr std::string_view segment_magic = "batchcast cache segment, form 1\n";
static_assert(segment_magic.size() <= segment_head_bytes);

std::uint64_t sum_of(const void* bytes, std::size_t count) noexcept {
  return XXH3_64bits(bytes, count);
}

std::uint64_t head_sum_of(const RecordHead& head) noexcept {
  return sum_of(&head, offsetof(RecordHead, head_sum));
}

bool read_all(int file, std::uint64_t offset, void* out, std::size_t count) noexcept {
  auto* to = static_cast<char*>(out);
  while (count > 0) {
    const ssize_t got = ::pread(file, to, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

int write_all(int file, std::uint64_t offset, const void* bytes, std::size_t count) noexcept {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t got = ::pwrite(file, from, count, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno;
    if (got == 0) return ENOSPC;
    from += got;
    offset += static_cast<std::uint64_t>(got);
    count -= static_cast<std::size_t>(got);
  }
  return 0;
}

bool is_whole(const RecordHead& head, std::uint64_t offset, std::uint64_t file_bytes) noexcept {
  return head.magic == record_magic && head.head_sum == head_sum_of(head) &&
         head.byte_count <= file_bytes - offset - sizeof head;
}

}  // namespace

std::uint64_t Segment::file_bytes() const noexcept {
  struct stat status = {};
  return ::fstat(file_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

bool Segment::is_segment() const noexcept {
  std::array<char, segment_magic.size()> found{};
  return read_all(file_.get(), 0, found.data(), found.size()) &&
         std::string_view(found.data(), found.size()) == segment_magic;
}

bool Segment::write_head() const noexcept {
  return write_all(file_.get(), 0, segment_magic.data(), segment_magic.size()) == 0;
}

std::optional<RecordHead> Segment::head_at(std::uint64_t offset,
                                           std::uint64_t file_bytes) const noexcept {
  RecordHead head;
  if (offset > file_bytes || file_bytes - offset < sizeof head) return std::nullopt;
  if (!read_all(file_.get(), offset, &head, sizeof head)) return std::nullopt;
  return is_whole(head, offset, file_bytes) ? std::optional(head) : std::nullopt;
}

std::optional<std::uint64_t> Segment::next_head(std::uint64_t from,
                                                std::uint64_t file_bytes) const {
  constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
  std::vector<std::byte> chunk(chunk_bytes);
  for (; from < file_bytes; from += chunk_bytes) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(chunk_bytes, file_bytes - from));
    if (!read_all(file_.get(), from, chunk.data(), count)) return std::nullopt;
    for (std::size_t at = 0; at + sizeof(RecordHead) <= count; at += segment_alignment) {
      RecordHead head;
      std::memcpy(&head, chunk.data() + at, sizeof head);
      if (is_whole(head, from + at, file_bytes)) return from + at;
    }
  }
  return std::nullopt;
}

void Segment::scan(bool passes_damage,
                   const std::function<void(const Fingerprint&, const RecordPlace&)>& found) {
  const std::uint64_t bytes = file_bytes();
  for (;;) {
    const std::optional<RecordHead> head = head_at(scanned_, bytes);
    if (!head) {
      const auto next =
          passes_damage && scanned_ < bytes ? next_head(scanned_, bytes) : std::nullopt;
      if (!next) return;
      scanned_ = *next;
      continue;
    }
    const RecordPlace place{scanned_, head->byte_count};
    found(head->key, place);
    scanned_ = place.end();
  }
}

bool Segment::read(const Fingerprint& key, const RecordPlace& place,
                   std::span<std::byte> out) const noexcept {
  RecordHead head;
  const std::uint64_t entry = place.offset + sizeof head;
  return read_all(file_.get(), place.offset, &head, sizeof head) && head.magic == record_magic &&
         head.head_sum == head_sum_of(head) && head.key == key && head.byte_count == out.size() &&
         read_all(file_.get(), entry, out.data(), out.size()) &&
         sum_of(out.data(), out.size()) == head.entry_sum;
}

int Segment::write(const Fingerprint& key, const RecordPlace& place,
                   std::span<const std::byte> entry) const noexcept {
  RecordHead head;
  head.magic = record_magic;
  head.byte_count = place.byte_count;
  head.key = key;
  head.entry_sum = sum_of(entry.data(), entry.size());
  head.head_sum = head_sum_of(head);
  const int failure =
      write_all(file_.get(), place.offset + sizeof head, entry.data(), entry.size());
  return failure != 0 ? failure : write_all(file_.get(), place.offset, &head, sizeof head);
}

}  // namespace batchcast::inline v0_1::detail
