// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/memory.hpp>

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>

#include <boost/interprocess/mapped_region.hpp>

#include <sys/mman.h>

#include <utility>

namespace batchcast::inline v0_1 {
namespace detail::mapping {

namespace ip = boost::interprocess;

/// What mapped_region maps: anything that has a handle.
struct Mappable {
  int fd;
  ip::mode_t mode;
  [[nodiscard]] ip::mapping_handle_t get_mapping_handle() const noexcept { return {fd, false}; }
  [[nodiscard]] ip::mode_t get_mode() const noexcept { return mode; }
};

inline ip::mode_t mode_of(MapMode mode) noexcept {
  return mode == MapMode::read_only ? ip::read_only : ip::read_write;
}

inline ip::mapped_region map(const Segment& segment, MapMode mode, void* at) {
  try {
    const Mappable mappable{segment.fd(), mode_of(mode)};
    if (at == nullptr) return {mappable, mappable.mode, 0, segment.bytes()};
    return {mappable, mappable.mode, 0, segment.bytes(), at, MAP_SHARED | MAP_FIXED};
  } catch (const ip::interprocess_exception& error) {
    throw SystemError(
        text("batchcast: mapping {} of shared memory (see `ulimit -v` and vm.max_map_count)",
             bytes_text(segment.bytes())),
        error.get_native_error());
  }
}

}  // namespace detail::mapping

struct Mapping::Regions {
  detail::mapping::ip::mapped_region region;
};

BATCHCAST_INLINE Mapping::Mapping(const Segment& segment, MapMode mode)
    : regions_(std::make_unique<Regions>()) {
  regions_->region = detail::mapping::map(segment, mode, nullptr);
}
BATCHCAST_INLINE Mapping::~Mapping() = default;
BATCHCAST_INLINE Mapping::Mapping(Mapping&&) noexcept = default;
BATCHCAST_INLINE Mapping& Mapping::operator=(Mapping&&) noexcept = default;

BATCHCAST_INLINE std::byte* Mapping::data() const noexcept {
  return static_cast<std::byte*>(regions_->region.get_address());
}
BATCHCAST_INLINE std::uint64_t Mapping::bytes() const noexcept {
  return regions_->region.get_size();
}

struct DoubleMapping::Regions {
  detail::mapping::ip::mapped_region first;
  detail::mapping::ip::mapped_region second;
};

BATCHCAST_INLINE DoubleMapping::DoubleMapping(const Segment& segment, MapMode mode)
    : regions_(std::make_unique<Regions>()) {
  // Address space for both halves, aligned and empty. The regions then replace it half by half.
  // Once they have, they unmap their halves, and we unmap only what they never took.
  const std::uint64_t bytes = segment.bytes();
  // Merged pages are huge only where address and offset agree about a huge page's boundaries.
  const std::uint64_t alignment =
      segment.transparent_huge() ? huge_page_bytes() : segment.granularity();
  const std::uint64_t reserved = 2 * bytes + alignment;
  void* reservation =
      ::mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reservation == MAP_FAILED) {
    throw SystemError(
        text("batchcast: reserving {} of address space (see `ulimit -v`)", bytes_text(reserved)),
        errno);
  }
  auto* const begin = static_cast<std::byte*>(reservation);
  const auto misaligned = reinterpret_cast<std::uintptr_t>(begin) % alignment;
  std::byte* const first = begin + (misaligned == 0 ? 0 : alignment - misaligned);
  std::byte* const end = first + 2 * bytes;
  if (first != begin) ::munmap(begin, static_cast<std::size_t>(first - begin));
  if (end != begin + reserved) {
    ::munmap(end, static_cast<std::size_t>(begin + reserved - end));
  }
  std::byte* untaken = first;
  try {
    regions_->first = detail::mapping::map(segment, mode, first);
    untaken = first + bytes;
    regions_->second = detail::mapping::map(segment, mode, first + bytes);
  } catch (...) {
    ::munmap(untaken, static_cast<std::size_t>(end - untaken));
    throw;
  }
  if (segment.transparent_huge()) ::madvise(first, 2 * bytes, MADV_HUGEPAGE);
}
BATCHCAST_INLINE DoubleMapping::~DoubleMapping() = default;
BATCHCAST_INLINE DoubleMapping::DoubleMapping(DoubleMapping&&) noexcept = default;
BATCHCAST_INLINE DoubleMapping& DoubleMapping::operator=(DoubleMapping&&) noexcept = default;

BATCHCAST_INLINE std::byte* DoubleMapping::data() const noexcept {
  return static_cast<std::byte*>(regions_->first.get_address());
}
BATCHCAST_INLINE std::uint64_t DoubleMapping::bytes() const noexcept {
  return regions_->first.get_size();
}

}  // namespace batchcast::inline v0_1
