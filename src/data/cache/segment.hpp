// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/data/fingerprint.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

// A file of a cache's directory: records, one after the other. One process appends to it, which has
// it locked (flock) as long as it lives; all read it.
namespace batchcast::inline v0_1::detail {

inline constexpr std::size_t segment_alignment = 64;  ///< where records begin
inline constexpr std::uint64_t segment_head_bytes = 64;

/// What stands before an entry.
struct RecordHead {
  std::uint32_t magic = 0;
  std::uint32_t byte_count = 0;  ///< of the entry
  Fingerprint key;
  std::uint64_t entry_sum = 0;
  std::uint64_t head_sum = 0;  ///< of all before
};
static_assert(sizeof(RecordHead) == 40);

/// Where an entry lies.
struct RecordPlace {
  std::uint64_t offset = 0;  ///< of its head
  std::uint32_t byte_count = 0;

  [[nodiscard]] std::uint64_t end() const noexcept {
    const std::uint64_t bytes = offset + sizeof(RecordHead) + byte_count;
    return (bytes + segment_alignment - 1) / segment_alignment * segment_alignment;
  }
};

class Segment {
 public:
  /// `path` is open for reading, or for both where this process appends to it.
  Segment(std::string path, FileDescriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int get() const noexcept { return file_.get(); }
  /// 0 where it cannot be looked at.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;

  /// Whether it begins as a segment of this version.
  [[nodiscard]] bool is_segment() const noexcept;
  [[nodiscard]] bool write_head() const noexcept;

  /// Calls `found` for each record from `scanned` on, and moves `scanned` behind the last. Where a
  /// head is damaged, it goes on at the next one that is whole, if `passes_damage`; else it stops
  /// there. It reads no entries.
  void scan(bool passes_damage,
            const std::function<void(const Fingerprint&, const RecordPlace&)>& found);
  [[nodiscard]] std::uint64_t scanned() const noexcept { return scanned_; }
  /// The records before are known.
  void go_on_at(std::uint64_t offset) noexcept { scanned_ = offset; }

  /// Reads an entry into `out`, which has its size. False unless it is whole and that key's.
  [[nodiscard]] bool read(const Fingerprint& key, const RecordPlace& place,
                          std::span<std::byte> out) const noexcept;

  /// Writes a record at that place: what it holds first, and then its head. 0, or why not (errno).
  [[nodiscard]] int write(const Fingerprint& key, const RecordPlace& place,
                          std::span<const std::byte> entry) const noexcept;

 private:
  [[nodiscard]] std::optional<RecordHead> head_at(std::uint64_t offset,
                                                  std::uint64_t file_bytes) const noexcept;
  [[nodiscard]] std::optional<std::uint64_t> next_head(std::uint64_t from,
                                                       std::uint64_t file_bytes) const;

  std::string path_;
  FileDescriptor file_;
  std::uint64_t scanned_ = segment_head_bytes;
};

}  // namespace batchcast::inline v0_1::detail
