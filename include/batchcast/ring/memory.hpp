// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// Nameless memory: memfd segments, sealed before other processes see them, and their mappings.
namespace batchcast::inline v0_1 {

[[nodiscard]] std::uint64_t page_bytes() noexcept;
[[nodiscard]] std::uint64_t huge_page_bytes() noexcept;
namespace detail {
/// The number after `key` in /proc/meminfo, in its unit; 0 where there is none.
[[nodiscard]] std::uint64_t meminfo_number(const std::string& key);
}  // namespace detail

/// What no process can do to a segment any more.
enum class Seals : unsigned {
  none = 0,
  shrink = 1,
  grow = 2,
  future_write = 4,  ///< no new writable mapping, no write(); those made before stay
  seal = 8,          ///< no further seal
};
[[nodiscard]] constexpr Seals operator|(Seals a, Seals b) noexcept {
  return static_cast<Seals>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
[[nodiscard]] constexpr bool has(Seals all, Seals some) noexcept {
  return (static_cast<unsigned>(all) & static_cast<unsigned>(some)) == static_cast<unsigned>(some);
}

/// Which pages a ring is made of; `granularity` goes into its plan.
struct MemoryChoice {
  std::uint64_t granularity = 0;
  bool huge = false;         ///< explicit huge pages
  bool transparent = false;  ///< ask the kernel to merge them
};

/// `automatic` asks for huge pages above 4 GiB. Pages that the system lacks are reported, and
/// others are used.
[[nodiscard]] MemoryChoice choose_pages(HugePages wanted, std::uint64_t memory_bytes,
                                        const LogCallback& report);

/// One memfd. Move-only; the memory lives until its last descriptor and mapping are gone.
class Segment {
 public:
  /// Allocates all of it now, after it has checked that the memory exists. Nothing if there are not
  /// enough huge pages; throws OutOfMemory, SystemError.
  [[nodiscard]] static std::optional<Segment> create(const std::string& name, std::uint64_t bytes,
                                                     const MemoryChoice& choice);
  /// Makes a segment of ordinary pages.
  [[nodiscard]] static Segment create_small(const std::string& name, std::uint64_t bytes);
  /// Takes a peer's descriptor if it is a segment of that size with those seals. Throws Refused.
  [[nodiscard]] static Segment adopt(const std::string& name, FileDescriptor fd,
                                     std::uint64_t bytes, Seals required);

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::uint64_t granularity() const noexcept { return granularity_; }
  [[nodiscard]] bool transparent_huge() const noexcept { return transparent_huge_; }
  void seal(Seals seals);

 private:
  Segment(FileDescriptor fd, std::uint64_t bytes) noexcept;

  FileDescriptor fd_;
  std::uint64_t bytes_;
  std::uint64_t granularity_;
  bool transparent_huge_ = false;
};

/// Proof that the seal holds: no process can map the segment writable any more.
[[nodiscard]] bool writable_map_is_refused(const Segment& segment);

enum class MapMode { read_only, read_write };

/// A segment in this process's memory, once. Move-only.
class Mapping {
 public:
  Mapping(const Segment& segment, MapMode mode);
  ~Mapping();
  Mapping(Mapping&&) noexcept;
  Mapping& operator=(Mapping&&) noexcept;

  [[nodiscard]] std::byte* data() const noexcept;
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct Regions;
  std::unique_ptr<Regions> regions_;
};

/// The same twice, back to back: a window up to its size is contiguous, across the end too.
/// Move-only.
class DoubleMapping {
 public:
  DoubleMapping(const Segment& segment, MapMode mode);
  ~DoubleMapping();
  DoubleMapping(DoubleMapping&&) noexcept;
  DoubleMapping& operator=(DoubleMapping&&) noexcept;

  [[nodiscard]] std::byte* data() const noexcept;
  /// The bytes of one of the two.
  [[nodiscard]] std::uint64_t bytes() const noexcept;

 private:
  struct Regions;
  std::unique_ptr<Regions> regions_;
};

/// Fills in the page tables of mappings on a private thread of low priority. It goes in ring order,
/// the fields side by side, so that it stays ahead of readers. Pages that the kernel refuses are
/// left to be faulted in. It ends by itself, or within one megabyte when destroyed.
class Populator {
 public:
  /// The mappings must outlive this. `start_bytes`: where to begin in each, by default 0.
  Populator(const std::vector<DoubleMapping>& mappings, MapMode mode,
            const std::vector<std::uint64_t>& start_bytes = {});
  ~Populator();
  Populator(const Populator&) = delete;
  Populator& operator=(const Populator&) = delete;

  /// Call it in a forked child, before destruction: the thread is the parent's.
  void abandon() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Throws OutOfMemory, with the numbers, if the machine or this process's cgroup has less than that
/// left. `root` stands before /proc and /sys/fs/cgroup.
void check_memory_exists(std::uint64_t bytes, const std::string& root = "");

/// Raises the soft limit of open files to at least `count`; throws SystemError, with the line to
/// run, if the hard limit is lower.
void raise_open_files_limit(std::uint64_t count);

}  // namespace batchcast::inline v0_1
