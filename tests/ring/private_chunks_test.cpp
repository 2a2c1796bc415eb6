// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "guarded_ring.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/limits.hpp>

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;  // shadows are mapped as memory is used
#else
constexpr bool sanitized = false;
#endif

std::size_t mappings_of_this_process() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

}  // namespace

TEST_CASE("a write makes its chunk private, and goes on") {
  const Guarded ring;
  REQUIRE(PrivateChunks::possible(ring.segment));
  ring.write(5, 200);
  CHECK(ring.written == 1);
  CHECK(ring.read(5) == 200);
  CHECK(ring.read(6) == static_cast<int>(Guarded::byte_at(6)));
  CHECK(ring.ring_is_as_filled());
  // The other mapping of the same byte, and other chunks, are the ring's.
  CHECK(ring.read(ring.producer.bytes() + 5) == static_cast<int>(Guarded::byte_at(5)));
  ring.producer.data()[6] = ring.producer.data()[chunk + 6] = std::byte{99};
  CHECK(ring.read(6) == static_cast<int>(Guarded::byte_at(6)));
  CHECK(ring.read(chunk + 6) == 99);
}

TEST_CASE("a first write takes milliseconds") {
  const Guarded ring(8 * chunk);
  std::vector<double> ms;
  for (std::uint64_t at = 0; at < ring.bytes(); at += chunk) {
    const std::uint64_t started_ns = now_ns();
    ring.write(at + 5, 200);
    ms.push_back(static_cast<double>(now_ns() - started_ns) / 1e6);
  }
  std::sort(ms.begin(), ms.end());
  std::printf("first write into 2 MiB: %.2f ms at best, median %.2f, %.2f at worst\n", ms.front(),
              ms[ms.size() / 2], ms.back());
  CHECK(ms[ms.size() / 2] < 100);
}

TEST_CASE("a window across the ring's end stays one when it is written") {
  const Guarded ring;
  const std::uint64_t end = ring.producer.bytes();
  std::memset(ring.batch->data() + end - 100, 0xEE, 200);
  for (std::uint64_t at = end - 102; at < end + 102; ++at) {
    const bool written = at >= end - 100 && at < end + 100;
    CHECK(ring.read(at) == (written ? 0xEE : static_cast<int>(Guarded::byte_at(at % end))));
  }
  ring.write(ring.bytes() - 1, 1);  // a last chunk that is shorter
  CHECK(ring.read(ring.bytes() - 1) == 1);
  CHECK(ring.ring_is_as_filled());
}

TEST_CASE("threads that write at once lose nothing") {
  constexpr std::uint64_t threads = 4;
  for (int round = 0; round < 30; ++round) {
    const Guarded ring(chunk / 2);
    const std::uint64_t bytes = round == 0 ? ring.bytes() : chunk / 64;
    std::vector<std::thread> writers;
    std::atomic<std::uint64_t> ready{0};
    for (std::uint64_t t = 0; t < threads; ++t) {
      writers.emplace_back([&ring, &ready, bytes, t] {
        ++ready;
        while (ready < threads) continue;
        for (std::uint64_t at = t; at < bytes; at += threads) ring.write(at, 250);
      });
    }
    for (std::thread& writer : writers) writer.join();
    std::uint64_t lost = 0;
    for (std::uint64_t at = 0; at < bytes; ++at) lost += ring.read(at) == 250 ? 0 : 1;
    REQUIRE(lost == 0);
    REQUIRE(ring.ring_is_as_filled());
  }
}

TEST_CASE("threads that write into different chunks at once lose nothing") {
  constexpr std::uint64_t threads = 4;
  const Guarded ring;
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < threads; ++t) {
    writers.emplace_back([&ring, t] {
      const std::uint64_t start = t * ring.bytes() / threads;
      for (std::uint64_t i = 0; i < ring.bytes(); i += threads) {
        ring.write((start + i) % ring.bytes() / threads * threads + t, 250);
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::uint64_t lost = 0;
  for (std::uint64_t at = 0; at < ring.bytes(); ++at) lost += ring.read(at) == 250 ? 0 : 1;
  CHECK(lost == 0);
  CHECK(ring.ring_is_as_filled());
}

TEST_CASE("a child writes into pages of its own, whenever it was forked") {
  Guarded ring(8 * chunk);
  std::atomic<bool> over{false};
  std::thread writer([&] {
    for (std::uint64_t at = 0; at < ring.bytes(); at += chunk) ring.write(at, 1);
    over = true;
  });
  int forks = 0;
  do {
    const auto end = in_child([&ring] {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // should it wait for ever, with its signals blocked
      FaultRange::come_first();            // `in_child` took the handler away
      for (std::uint64_t at = 1; at < ring.bytes(); at += chunk) ring.write(at, 2);
      for (std::uint64_t at = 1; at < ring.bytes(); at += chunk) {
        if (ring.read(at) != 2) return 1;
      }
      return 0;
    });
    CHECK(end.exited_with(0));
  } while (!over && ++forks < 50);
  writer.join();
  for (std::uint64_t at = 1; at < ring.bytes(); at += chunk) {
    REQUIRE(ring.read(at) == static_cast<int>(Guarded::byte_at(at % ring.producer.bytes())));
  }
  CHECK(ring.ring_is_as_filled());
}

TEST_CASE("nothing is left of what was written, and places are used again") {
  const auto before = mappings_of_this_process();
  for (std::size_t i = 0; i < limits::fault_ranges_max + 10; ++i) {
    const Guarded ring(page_bytes());
    REQUIRE(ring.range->in_effect());
    ring.write(1, 2);
    REQUIRE(ring.read(1) == 2);
  }
  {
    const Guarded ring;
    std::memset(ring.batch->data(), 1, ring.bytes());
  }
  if (!sanitized) CHECK(mappings_of_this_process() <= before + 2);
}

TEST_CASE("what was private can be given back before the mapping goes") {
  Guarded ring;
  ring.write(1, 2);
  ring.chunks->give_back();
  CHECK(ring.read(1) == 0);
  CHECK(ring.read(chunk) == static_cast<int>(Guarded::byte_at(chunk % ring.producer.bytes())));
  CHECK(ring.ring_is_as_filled());
}

TEST_CASE("where the kernel refuses, it is known before, or said at the write") {
  const auto refused = [](bool (*refuse)()) {
    return in_child([refuse] {
      const Guarded ring;
      if (!PrivateChunks::possible(ring.segment)) return 1;
      if (!refuse()) return 2;
      if (PrivateChunks::possible(ring.segment)) return 3;
      ring.write(1, 2);
      return 4;
    });
  };
  const auto by_filter = refused([] { return without_system_call(SYS_mremap, EPERM); });
  const auto by_limit = refused([] {
    const rlimit none{0, 0};
    return ::setrlimit(RLIMIT_AS, &none) == 0;
  });
  for (const ChildEnd& end : {by_filter, sanitized ? by_filter : by_limit}) {
    INFO(end.output << end.status);
    CHECK(end.died_of(SIGSEGV));
    CHECK(says(end, "`imagenet-train`"));
    CHECK(says(end, "access = private"));
  }
}

TEST_CASE("rings of huge pages are written as others are") {
  const MemoryChoice pages = choose_pages(HugePages::explicit_pages, 4 * huge_page_bytes(), {});
  if (!pages.huge || pages.granularity > chunk) {
    WARN("skipped: no huge pages are free (`sysctl vm.nr_hugepages=8`)");
    return;
  }
  const Guarded ring(2 * pages.granularity, pages);
  REQUIRE(PrivateChunks::possible(ring.segment));
  ring.write(1, 2);
  ring.write(2 * pages.granularity - 1, 3);
  CHECK(ring.read(1) == 2);
  CHECK(ring.read(2 * pages.granularity - 1) == 3);
  CHECK(ring.ring_is_as_filled());
}
