// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "child.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/ring/memory.hpp>

#include <fcntl.h>

#include <thread>
#include <vector>

using namespace batchcast;
using batchcast::testing::in_child;
using batchcast::testing::without_system_call;

namespace {

constexpr std::uint64_t MiB = std::uint64_t{1} << 20;
constexpr std::uint64_t patience_ns = 60'000'000'000;

/// Which pages of a range this process has in its page tables.
std::vector<bool> present(const std::byte* at, std::uint64_t bytes) {
  const FileDescriptor fd(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  std::vector<std::uint64_t> entries(bytes / page_bytes());
  const auto offset = reinterpret_cast<std::uintptr_t>(at) / page_bytes() * 8;
  const auto wanted = static_cast<ssize_t>(entries.size() * 8);
  std::vector<bool> pages;
  if (::pread(fd.get(), entries.data(), entries.size() * 8, static_cast<off_t>(offset)) != wanted) {
    return pages;
  }
  for (const std::uint64_t entry : entries) pages.push_back((entry >> 63) != 0);
  return pages;
}

std::uint64_t count_present(const DoubleMapping& mapping) {
  std::uint64_t count = 0;
  for (const bool page : present(mapping.data(), 2 * mapping.bytes())) count += page ? 1 : 0;
  return count;
}

std::vector<DoubleMapping> maps_of(const std::vector<std::uint64_t>& sizes, MapMode mode) {
  std::vector<DoubleMapping> mappings;
  for (const std::uint64_t bytes : sizes) {
    mappings.emplace_back(Segment::create_small("field", bytes), mode);
  }
  return mappings;
}

bool become_present(const std::vector<DoubleMapping>& mappings) {
  const std::uint64_t started = now_ns();
  for (const DoubleMapping& mapping : mappings) {
    while (count_present(mapping) != 2 * mapping.bytes() / page_bytes()) {
      if (now_ns() - started > patience_ns) return false;
      std::this_thread::yield();
    }
  }
  return true;
}

}  // namespace

TEST_CASE("a populator fills in both halves of every field, whatever their sizes") {
  for (const MapMode mode : {MapMode::read_only, MapMode::read_write}) {
    const auto mappings = maps_of({5 * MiB, page_bytes(), 3 * page_bytes()}, mode);
    CHECK(count_present(mappings[0]) == 0);
    const Populator populator(mappings, mode, {2 * MiB, page_bytes() / 2});
    CHECK(become_present(mappings));
  }
}

TEST_CASE("populating changes no byte") {
  const Segment segment = Segment::create_small("field", MiB);
  const Mapping writer(segment, MapMode::read_write);
  for (std::uint64_t i = 0; i < MiB; ++i) writer.data()[i] = static_cast<std::byte>(i % 253);
  std::vector<DoubleMapping> mappings;
  mappings.emplace_back(segment, MapMode::read_write);
  const Populator populator(mappings, MapMode::read_write);
  CHECK(become_present(mappings));
  bool same = true;
  for (std::uint64_t i = 0; i < MiB; ++i) {
    same = same && writer.data()[i] == static_cast<std::byte>(i % 253);
  }
  CHECK(same);
}

TEST_CASE("a populator goes in ring order from where it was told, and stops when destroyed") {
  const std::uint64_t bytes = 64 * MiB;
  const std::uint64_t start = 40 * MiB;
  const auto mappings = maps_of({bytes}, MapMode::read_only);
  const std::byte* data = mappings[0].data();
  {
    const Populator populator(mappings, MapMode::read_only, {start});
    const std::uint64_t started = now_ns();
    while (count_present(mappings[0]) == 0 && now_ns() - started < patience_ns) {
      std::this_thread::yield();
    }
  }
  const auto pages = present(data, 2 * bytes);
  REQUIRE(pages.size() == 2 * bytes / page_bytes());
  // Where it stopped is chance; that it left no hole behind is not.
  const std::uint64_t half = bytes / page_bytes();
  bool ended = false;
  bool hole = false;
  for (std::uint64_t i = 0; i < half; ++i) {
    const bool page = pages[(start / page_bytes() + i) % half];
    hole = hole || (page && ended);
    ended = ended || !page;
  }
  CHECK(pages[start / page_bytes()]);
  CHECK_FALSE(hole);
}

TEST_CASE("a populator that is destroyed leaves the rest undone") {
  // It may win a race or two against its destruction; one that does not stop wins them all.
  bool stopped = false;
  const std::uint64_t bytes = 64 * MiB;
  for (int i = 0; i < 100 && !stopped; ++i) {
    const auto mappings = maps_of({bytes}, MapMode::read_only);
    { const Populator populator(mappings, MapMode::read_only); }
    stopped = count_present(mappings[0]) < 2 * bytes / page_bytes();
  }
  CHECK(stopped);
}

TEST_CASE("a kernel that cannot populate gets the pages read instead") {
  for (const MapMode mode : {MapMode::read_only, MapMode::read_write}) {
    const auto end = in_child([&] {
      const std::uint32_t advice = mode == MapMode::read_only ? 22 : 23;
      if (!without_system_call(SYS_madvise, EINVAL, 2, advice)) return 1;
      const auto mappings = maps_of({MiB}, mode);
      const Populator populator(mappings, mode);
      return become_present(mappings) ? 0 : 2;
    });
    CHECK(end.exited_with(0));
  }
}

TEST_CASE("a forked child can drop the populator of its parent") {
  const auto mappings = maps_of({16 * MiB}, MapMode::read_only);
  auto populator = std::make_unique<Populator>(mappings, MapMode::read_only);
  const auto end = in_child([&] {
    populator->abandon();
    populator.reset();
    return 0;
  });
  CHECK(end.exited_with(0));
}
