// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/cache/segment.hpp"
#include "data/cache/segment_index.hpp"

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/data/cache_options.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The directory of a cache: its lock, and its segments as files.
class CacheDirectory {
 public:
  /// The lock of the whole directory; short, since every process waits for it.
  class Lock {
   public:
    explicit Lock(int file) noexcept;
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int file_;
  };

  enum class Missing : std::uint8_t { make, refuse };

  /// `make`: makes the directory with mode 0700 where it is missing, and the cache's lock in it.
  /// `refuse`: makes no file, and refuses a directory that holds no cache. Throws InvalidArgument
  /// for one that is another user's, or that others may enter, or on a network; SystemError.
  CacheDirectory(std::string path, Missing missing);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] Lock lock() const { return Lock(lock_.get()); }
  /// The names of its segments, sorted.
  [[nodiscard]] std::vector<std::string> names() const;
  /// Null where it is gone, or is no file of this user's.
  [[nodiscard]] std::unique_ptr<Segment> open(const std::string& name) const;
  /// Makes a segment that this process has locked. With the lock. Throws SystemError.
  [[nodiscard]] std::unique_ptr<Segment> create() const;
  /// Bytes of all segments. With the lock.
  [[nodiscard]] std::uint64_t bytes() const;
  /// Whether a process appends to it.
  [[nodiscard]] bool is_in_use(const std::string& name) const;
  /// Cuts off what follows a segment's last whole record, and lists its records in an index. It
  /// removes a segment without records, and leaves one to which a process appends. With the lock.
  void trim(const std::string& name) const;
  /// The index of a segment; nothing where there is none that is whole.
  [[nodiscard]] std::optional<SegmentIndex> index_of(const std::string& name,
                                                     const Segment& segment) const;
  void remove(const std::string& name) const noexcept;

 private:
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }
  void check_place() const;

  std::string path_;
  FileDescriptor folder_;
  FileDescriptor lock_;
};

/// The memory that such a cache may take beside what it has. That is 0 on a disk. Where its files
/// lie in memory (a tmpfs such as /dev/shm), it is its bytes less those of its segments.
[[nodiscard]] std::uint64_t memory_to_come(const CacheOptions& cache);

}  // namespace batchcast::inline v0_1::detail
