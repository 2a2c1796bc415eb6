// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "simulation/kernel.hpp"

#include "simulation/scheduler.hpp"

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/ring/memory.hpp>
#include "life/life.hpp"
#include "life/life_files.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace batchcast::simulation::kernel {
namespace {

enum class Kind : std::uint8_t { closed, other, segment, lock };

struct Descriptor {
  Kind kind = Kind::closed;
  std::size_t of = 0;  ///< the segment, or the lock
  std::size_t process = 0;
};

constexpr int first_fd = 1000;
constexpr std::size_t descriptors_max = 1024;
constexpr std::size_t segments_max = 512;
constexpr std::size_t segment_bytes = 1024;
constexpr std::size_t locks_max = 256;
constexpr std::size_t name_bytes_max = 48;

struct Kernel {
  std::array<Descriptor, descriptors_max> descriptors;
  std::size_t descriptor_count = 0;
  std::size_t segment_count = 0;
  std::array<std::array<char, name_bytes_max>, locks_max> locks;
  std::size_t lock_count = 0;
  std::optional<detail::Life> life;
  std::uint64_t writes = 0;
} it;

alignas(64) std::array<std::byte, segments_max * segment_bytes> segments;

int open(Kind kind, std::size_t of, std::size_t process) noexcept {
  if (it.descriptor_count == descriptors_max) std::abort();
  it.descriptors[it.descriptor_count] = {kind, of, process};
  return first_fd + static_cast<int>(it.descriptor_count++);
}

Descriptor& descriptor(int fd) noexcept {
  const auto index = static_cast<std::size_t>(fd - first_fd);
  if (index >= it.descriptor_count) std::abort();
  return it.descriptors[index];
}

std::optional<std::size_t> lock_of(const std::string& name) noexcept {
  for (std::size_t i = 0; i < it.lock_count; ++i) {
    if (name == it.locks[i].data()) return i;
  }
  return std::nullopt;
}

int open_segment() noexcept {
  if (it.segment_count == segments_max) std::abort();
  std::memset(segments.data() + it.segment_count * segment_bytes, 0, segment_bytes);
  return open(Kind::segment, it.segment_count++, current_process());
}

/// A file of that name, and its lock.
int open_lock(const std::string& name) noexcept {
  if (it.lock_count == locks_max || name.size() >= name_bytes_max) std::abort();
  std::strcpy(it.locks[it.lock_count].data(), name.c_str());
  return open(Kind::lock, it.lock_count++, current_process());
}

bool is_held(std::size_t lock) noexcept {
  for (std::size_t i = 0; i < it.descriptor_count; ++i) {
    const Descriptor& one = it.descriptors[i];
    if (one.kind == Kind::lock && one.of == lock && !is_dead(one.process)) return true;
  }
  return false;
}

}  // namespace

void begin() noexcept {
  it.descriptor_count = it.segment_count = it.lock_count = 0;
  it.writes = 0;
  it.life.reset();
}

std::byte* memory_of(int fd) noexcept {
  const Descriptor& one = descriptor(fd);
  if (one.kind != Kind::segment) std::abort();
  return segments.data() + one.of * segment_bytes;
}

int sent_to(std::size_t process, int fd) noexcept {
  const Descriptor one = descriptor(fd);
  return open(one.kind, one.of, process);
}

std::uint64_t writes() noexcept { return it.writes; }

}  // namespace batchcast::simulation::kernel

namespace batchcast::inline v0_1 {

namespace kernel = simulation::kernel;

// ---- descriptors and memory

void FileDescriptor::reset() noexcept {
  const int fd = std::exchange(fd_, -1);
  if (fd >= 0) kernel::descriptor(fd).kind = kernel::Kind::closed;
}

int moved_above_standard_streams(int fd) noexcept { return fd; }

FileDescriptor own_pidfd() {
  return FileDescriptor(kernel::open(kernel::Kind::other, 0, simulation::current_process()));
}

std::uint64_t page_bytes() noexcept { return kernel::segment_bytes; }

Segment::Segment(FileDescriptor fd, std::uint64_t bytes) noexcept
    : fd_(std::move(fd)), bytes_(bytes), granularity_(bytes) {}

Segment Segment::create_small(const std::string&, std::uint64_t bytes) {
  return {FileDescriptor(kernel::open_segment()), bytes};
}

void Segment::seal(Seals) {}

struct Mapping::Regions {
  std::byte* at;
  std::uint64_t bytes;
};

Mapping::Mapping(const Segment& segment, MapMode)
    : regions_(new Regions{kernel::memory_of(segment.fd()), segment.bytes()}) {}
Mapping::~Mapping() = default;
std::byte* Mapping::data() const noexcept { return regions_->at; }

// ---- the files of lives: a death comes before a change of them, or after it

namespace detail {

std::optional<Life> read_life(const std::string&) {
  simulation::kernel_step();
  return kernel::it.life;
}

void write_life(const std::string&, const Life& life) {
  simulation::kernel_step();
  {
    const simulation::Outside outside;
    kernel::it.life = life;
    ++kernel::it.writes;
  }
  simulation::tell("writes the life file");
  simulation::kernel_step();
}

void remove_lives(const std::string&) noexcept {
  simulation::kernel_step();
  const simulation::Outside outside;
  kernel::it.life.reset();
}

FileDescriptor make_member_lock(const std::string&, const std::string& name) {
  simulation::kernel_step();
  return FileDescriptor(kernel::open_lock(name));
}

bool is_member_alive(const std::string&, const std::string& name) noexcept {
  simulation::kernel_step();
  const auto lock = kernel::lock_of(name);
  return lock && kernel::is_held(*lock);
}

void remove_member_lock(const std::string&, const std::string& name) noexcept {
  simulation::kernel_step();
  if (const auto lock = kernel::lock_of(name)) kernel::it.locks[*lock][0] = '\0';
}

}  // namespace detail
}  // namespace batchcast::inline v0_1
