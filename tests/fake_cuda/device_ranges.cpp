// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "device_ranges.hpp"

#include "world.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <set>
#include <utility>

namespace batchcast::fake_cuda {

namespace {

constexpr auto name_begin = "/memfd:fake-cuda:";

std::string name_of(int physical) { return session() + ":" + std::to_string(physical); }

std::string target_of(const std::string& link) {
  std::array<char, 256> target{};
  const ssize_t length = ::readlink(link.c_str(), target.data(), target.size());
  return length < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(length));
}

template <class Each>
void for_each_entry(const std::string& folder, Each&& each) {
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) return;
  while (const dirent* const entry = ::readdir(open)) {
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') {
      each(folder + "/" + static_cast<const char*>(entry->d_name));
    }
  }
  ::closedir(open);
}

std::byte* reserve_host(std::uint64_t bytes) {
  void* const at =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

}  // namespace

Memory::~Memory() {
  if (descriptor >= 0) ::close(descriptor);
}

std::shared_ptr<Memory> Memory::make(World& world, int physical, std::uint64_t bytes,
                                     bool exportable) {
  const Settings& settings = world.settings;
  ++world.counters.allocations;
  if (++world.since.allocations == settings.alloc_fails) return nullptr;
  if (settings.alloc_limit != 0 && bytes > settings.alloc_limit) return nullptr;
  if (bytes > settings.memory || used_bytes(physical) > settings.memory - bytes) return nullptr;
  auto memory = std::make_shared<Memory>();
  memory->descriptor = ::memfd_create(("fake-cuda:" + name_of(physical)).c_str(), MFD_CLOEXEC);
  struct stat about {};
  if (memory->descriptor < 0 || ::ftruncate(memory->descriptor, static_cast<off_t>(bytes)) != 0 ||
      ::fstat(memory->descriptor, &about) != 0) {
    return nullptr;
  }
  memory->bytes = bytes;
  memory->physical = physical;
  memory->exportable = exportable;
  memory->inode = about.st_ino;
  return memory;
}

std::shared_ptr<Memory> Memory::take(int descriptor) {
  const std::string target = target_of("/proc/self/fd/" + std::to_string(descriptor));
  const std::size_t colon = target.rfind(':');
  struct stat about {};
  if (target.rfind(name_begin, 0) != 0 || ::fstat(descriptor, &about) != 0) return nullptr;
  auto memory = std::make_shared<Memory>();
  memory->descriptor = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (memory->descriptor < 0) return nullptr;
  memory->bytes = static_cast<std::uint64_t>(about.st_size);
  memory->physical = std::atoi(target.c_str() + colon + 1);
  memory->exportable = true;
  memory->inode = about.st_ino;
  return memory;
}

std::uint64_t used_bytes(int physical) {
  const std::string wanted = name_begin + name_of(physical) + " (deleted)";
  std::set<std::uint64_t> seen;
  std::uint64_t bytes = 0;
  for_each_entry("/proc", [&](const std::string& process) {
    for_each_entry(process + "/fd", [&](const std::string& link) {
      struct stat about {};
      if (target_of(link) != wanted || ::stat(link.c_str(), &about) != 0) return;
      if (seen.insert(about.st_ino).second) bytes += static_cast<std::uint64_t>(about.st_size);
    });
  });
  return bytes;
}

std::uintptr_t DeviceRanges::reserve(std::uint64_t bytes, std::uint64_t alignment) {
  std::byte* const raw = reserve_host(bytes + alignment);
  std::byte* const alias = reserve_host(bytes);
  if (raw == nullptr || alias == nullptr) {
    if (raw != nullptr) ::munmap(raw, bytes + alignment);
    if (alias != nullptr) ::munmap(alias, bytes);
    return 0;
  }
  const auto begin = reinterpret_cast<std::uintptr_t>(raw);
  const std::uintptr_t base = (begin + alignment - 1) / alignment * alignment;
  if (base != begin) ::munmap(raw, base - begin);
  if (const std::uintptr_t behind = begin + alignment - base; behind != 0) {
    ::munmap(raw + (base - begin) + bytes, behind);
  }
  Range range;
  range.bytes = bytes;
  range.alias = alias;
  ranges_.emplace(base, std::move(range));
  return base;
}

void DeviceRanges::free(std::uintptr_t base) {
  const auto at = ranges_.find(base);
  ::munmap(reinterpret_cast<void*>(base), at->second.bytes);
  ::munmap(at->second.alias, at->second.bytes);
  ranges_.erase(at);
}

bool DeviceRanges::map(Range& range, std::uint64_t offset, Mapping mapping) {
  const int protection = mapping.access == Access::none ? PROT_NONE : PROT_READ | PROT_WRITE;
  if (::mmap(range.alias + offset, mapping.bytes, protection, MAP_SHARED | MAP_FIXED,
             mapping.memory->descriptor, 0) == MAP_FAILED) {
    return false;
  }
  range.mapped.emplace(offset, std::move(mapping));
  return true;
}

void DeviceRanges::unmap(Range& range, std::uint64_t offset) {
  const auto at = range.mapped.find(offset);
  ::mmap(range.alias + offset, at->second.bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  range.mapped.erase(at);
}

bool DeviceRanges::set_access(Range& range, std::uint64_t offset, Access access) {
  Mapping& mapping = range.mapped.at(offset);
  const int protection = access == Access::none   ? PROT_NONE
                         : access == Access::read ? PROT_READ
                                                  : PROT_READ | PROT_WRITE;
  if (::mprotect(range.alias + offset, mapping.bytes, protection) != 0) return false;
  mapping.access = access;
  return true;
}

DeviceRanges::Map::iterator DeviceRanges::find(std::uintptr_t address) {
  auto at = ranges_.upper_bound(address);
  if (at == ranges_.begin()) return ranges_.end();
  --at;
  return address - at->first < at->second.bytes ? at : ranges_.end();
}

DeviceRanges::Place DeviceRanges::look(std::uintptr_t address, std::uint64_t bytes, Access access) {
  const auto at = find(address);
  if (at == ranges_.end()) return {};
  Range& range = at->second;
  const std::uint64_t begin = address - at->first;
  Place place{Found::yes, range.alias + begin, &range, -1};
  if (bytes > range.bytes - begin) return {Found::unmapped, nullptr, &range, -1};
  // The mapping that this lies in, and those that follow it without a gap.
  auto mapping = range.mapped.upper_bound(begin);
  if (mapping == range.mapped.begin()) return {Found::unmapped, nullptr, &range, -1};
  --mapping;
  std::uint64_t reached = mapping->first;
  for (; mapping != range.mapped.end() && mapping->first == reached; ++mapping) {
    const bool touched = reached < begin + bytes && reached + mapping->second.bytes > begin;
    if (touched && mapping->second.access < access) place.found = Found::not_allowed;
    place.physical = mapping->second.memory->physical;
    reached += mapping->second.bytes;
    if (reached >= begin + bytes) break;
  }
  if (reached < begin + bytes || reached <= begin) return {Found::unmapped, nullptr, &range, -1};
  return place;
}

bool DeviceRanges::overlaps(std::uintptr_t address, std::uint64_t bytes) {
  if (find(address) != ranges_.end()) return true;
  const auto next = ranges_.lower_bound(address);
  return next != ranges_.end() && next->first - address < bytes;
}

}  // namespace batchcast::fake_cuda
