// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "data/cache/segment_index.hpp"

#include <batchcast/core/file_descriptor.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <span>
#include <string_view>

namespace batchcast::inline v0_1::detail {
namespace {

struct IndexHead {
  std::array<char, 32> magic{'b', 'a', 't', 'c', 'h', 'c', 'a', 's', 't', ' ',
                             'i', 'n', 'd', 'e', 'x', ',', ' ', '1', '\n'};
  std::uint64_t end = 0;
  std::uint64_t count = 0;
  Fingerprint sum;  ///< of the records
};
static_assert(sizeof(IndexHead) == 64);

Fingerprint sum_of(std::span<const IndexRecord> records) noexcept {
  return fingerprint_of(
      std::string_view(reinterpret_cast<const char*>(records.data()), records.size_bytes()));
}

bool read_all(int file, void* out, std::size_t count) noexcept {
  auto* to = static_cast<char*>(out);
  while (count > 0) {
    const ssize_t got = ::read(file, to, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

bool write_all(int file, const void* bytes, std::size_t count) noexcept {
  const auto* from = static_cast<const char*>(bytes);
  while (count > 0) {
    const ssize_t got = ::write(file, from, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    from += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

std::optional<SegmentIndex> read_index(int folder, const std::string& name,
                                       std::uint64_t segment_bytes) {
  const FileDescriptor file(
      ::openat(folder, name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status = {};
  IndexHead head;
  const IndexHead expected;
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  if (!read_all(file.get(), &head, sizeof head) || head.magic != expected.magic) {
    return std::nullopt;
  }
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  const bool fits = head.count <= file_bytes / sizeof(IndexRecord) && head.end <= segment_bytes &&
                    file_bytes == sizeof head + head.count * sizeof(IndexRecord);
  if (!fits) return std::nullopt;
  SegmentIndex index{head.end, std::vector<IndexRecord>(static_cast<std::size_t>(head.count))};
  if (!read_all(file.get(), index.records.data(), index.records.size() * sizeof(IndexRecord)) ||
      sum_of(index.records) != head.sum) {
    return std::nullopt;
  }
  return index;
}

void write_index(int folder, const std::string& name, const SegmentIndex& index) noexcept {
  try {
    const std::string draft = name + ".new";
    bool is_written = false;
    {
      const FileDescriptor file(::openat(
          folder, draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
      if (!file) return;
      IndexHead head;
      head.end = index.end;
      head.count = index.records.size();
      head.sum = sum_of(index.records);
      is_written =
          write_all(file.get(), &head, sizeof head) &&
          write_all(file.get(), index.records.data(), index.records.size() * sizeof(IndexRecord));
    }
    if (!is_written || ::renameat(folder, draft.c_str(), folder, name.c_str()) != 0) {
      ::unlinkat(folder, draft.c_str(), 0);
    }
  } catch (const std::exception&) {
    return;  // no memory for a name
  }
}

}  // namespace batchcast::inline v0_1::detail
