// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

// A webdataset's files: shards that are read in place, and unpacked compressed ones.
namespace batchcast::inline v0_1::detail {

/// Reads exactly `out.size()` bytes; throws BadSample.
void read_at(int fd, std::uint64_t offset, std::span<std::byte> out);

/// Holds unpacked members: an unnamed file, which vanishes with the process, on disk or in memory.
/// One thread fills it; afterwards any thread reads it.
class UnpackedFile {
 public:
  enum class Place : std::uint8_t { disk, memory };
  explicit UnpackedFile(Place place) : place_(place) {}
  ~UnpackedFile();
  UnpackedFile(const UnpackedFile&) = delete;
  UnpackedFile& operator=(const UnpackedFile&) = delete;

  /// Appends bytes; the first makes the file. Throws SystemError, which says where room is missing.
  void append(std::span<const std::byte> bytes);
  /// Moves the next byte's offset to a multiple of 8.
  void align();
  /// Ends the appending: writes the rest, and maps the file where it is in memory.
  void finish();

  [[nodiscard]] std::uint64_t byte_count() const noexcept { return byte_count_; }
  [[nodiscard]] int get() const noexcept { return file_.get(); }
  /// Empty unless it is in memory and finished.
  [[nodiscard]] std::span<const std::byte> mapped() const noexcept { return mapped_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }

 private:
  void open();
  void write_out();

  Place place_;
  FileDescriptor file_;
  std::string folder_;
  std::uint64_t byte_count_ = 0;
  std::vector<std::byte> pending_;
  std::span<const std::byte> mapped_;
};

/// The shards: all open where the process may open as many; otherwise those used last.
class ShardFiles {
 public:
  struct Shard {
    std::string path;
    std::string name;  ///< without its folders
    std::uint64_t byte_count = 0;
  };
  /// A shard that stays open while this lives.
  class Lease {
   public:
    Lease(int fd, std::shared_ptr<const FileDescriptor> owner)
        : fd_(fd), owner_(std::move(owner)) {}
    [[nodiscard]] int get() const noexcept { return fd_; }

   private:
    int fd_;
    std::shared_ptr<const FileDescriptor> owner_;
  };

  explicit ShardFiles(std::vector<std::string> paths);

  [[nodiscard]] std::size_t size() const noexcept { return shards_.size(); }
  [[nodiscard]] const Shard& operator[](std::size_t shard) const noexcept { return shards_[shard]; }

  /// Opens a shard for the index; one thread calls it. Throws BadDataset that names the shard.
  [[nodiscard]] FileDescriptor open_first(std::size_t shard);
  /// Keeps the shard after the index, to be read again.
  void keep(std::size_t shard, FileDescriptor file);

  /// From any thread. Throws BadSample where the shard is gone or has another size.
  [[nodiscard]] Lease acquire(std::size_t shard) const;

 private:
  [[nodiscard]] std::shared_ptr<const FileDescriptor> reopen(std::size_t shard) const;

  std::vector<Shard> shards_;
  std::size_t open_max_;
  bool all_open_;
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const FileDescriptor>> open_;
  mutable std::deque<std::size_t> opened_;  ///< in that order; not used where all are open
};

}  // namespace batchcast::inline v0_1::detail
