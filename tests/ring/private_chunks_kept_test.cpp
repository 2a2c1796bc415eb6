// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "guarded_ring.hpp"

#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

// Chunks that become private since what they show is kept.
namespace {

AddressRange range_in(const Guarded& ring, std::uint64_t begin, std::uint64_t end) {
  const auto at = reinterpret_cast<std::uintptr_t>(ring.batch->data());
  return {at + begin, at + end};
}

int filled(const Guarded& ring, std::uint64_t offset) {
  return static_cast<int>(Guarded::byte_at(offset % ring.producer.bytes()));
}

bool shows_filled(const Guarded& ring, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin; at < end; ++at) {
    if (ring.read(at) != filled(ring, at)) return false;
  }
  return true;
}

/// Pages of the mapping that take memory of this process's own or of the ring.
std::uint64_t resident_pages(const Guarded& ring, std::uint64_t begin, std::uint64_t end) {
  std::vector<unsigned char> pages((end - begin + page_bytes() - 1) / page_bytes());
  REQUIRE(::mincore(ring.batch->data() + begin, end - begin, pages.data()) == 0);
  return static_cast<std::uint64_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return page & 1U; }));
}

std::uint64_t pages_of(std::uint64_t begin, std::uint64_t end) {
  return (end + page_bytes() - 1) / page_bytes() - begin / page_bytes();
}

}  // namespace

TEST_CASE("what is kept is private, with its pages alone, and can be written") {
  Guarded ring;
  const std::array live = {range_in(ring, 5'000, 105'000)};
  REQUIRE(ring.chunks->keep(live[0], live));
  CHECK(ring.written == private_word::kept);
  CHECK(ring.chunks->is_private(live[0]));
  CHECK_FALSE(ring.chunks->is_private(range_in(ring, chunk, chunk + 1)));
  std::memset(ring.producer.data(), 0x55, ring.producer.bytes());
  CHECK(shows_filled(ring, 5'000, 105'000));
  CHECK(resident_pages(ring, 0, chunk) == 105'000 / page_bytes() - 5'000 / page_bytes() + 1);
  ring.write(5'000, 200);
  CHECK(ring.read(5'000) == 200);
  CHECK(ring.written == private_word::kept);  // no fault
  CHECK(ring.producer.data()[5'000] == std::byte{0x55});
}

TEST_CASE("two that are kept over many chunks take their own pages alone") {
  Guarded ring(16 * chunk);
  const std::array live = {range_in(ring, 5'000, 9 * chunk + 5'000),
                           range_in(ring, 9 * chunk + 300'000, 11 * chunk)};
  REQUIRE(ring.chunks->keep(live[0], live));
  std::memset(ring.producer.data(), 0x55, ring.producer.bytes());
  CHECK(shows_filled(ring, 5'000, 9 * chunk + 5'000));
  CHECK(shows_filled(ring, 9 * chunk + 300'000, 10 * chunk));
  // The pages between the two are none.
  const std::uint64_t wanted =
      pages_of(5'000, 9 * chunk + 5'000) + pages_of(9 * chunk + 300'000, 10 * chunk);
  CHECK(resident_pages(ring, 0, 10 * chunk) == wanted);
  // Half of it goes back.
  ring.chunks->give_back(live[0], std::array{live[1]});
  CHECK(resident_pages(ring, 0, 10 * chunk) == pages_of(9 * chunk + 300'000, 10 * chunk));
  CHECK(shows_filled(ring, 9 * chunk + 300'000, 10 * chunk));
}

TEST_CASE("neighbours come along, over the border of the halves too") {
  Guarded ring;
  const std::uint64_t end = ring.producer.bytes();
  const std::array live = {range_in(ring, end - 300'000, end - 50'000),
                           range_in(ring, end - 50'000, end + 70'000)};
  REQUIRE(ring.chunks->keep(live[1], live));
  std::memset(ring.producer.data(), 0x55, end);
  CHECK(shows_filled(ring, end - 300'000, end + 70'000));
}

TEST_CASE("the ring is shown again where nothing lives, in two pieces at its end") {
  Guarded ring;
  const DoubleMapping apart(ring.segment, MapMode::read_only);
  const std::uint64_t end = ring.producer.bytes();
  const std::array kept = {range_in(ring, 10, 20), range_in(ring, end - 10, end + 10),
                           range_in(ring, 2 * end - 10, 2 * end)};
  for (const AddressRange& one : kept) REQUIRE(ring.chunks->keep(one, kept));
  const std::array live = {kept[0]};
  CHECK(ring.chunks->show_ring_again(apart.data(), live) == 1);  // the first: the others are shared
  CHECK(ring.chunks->is_private(kept[0]));
  CHECK_FALSE(ring.chunks->is_private(kept[1]));
  std::memset(ring.producer.data(), 0x66, end);
  for (std::uint64_t at = chunk; at < 2 * end; at += 97) REQUIRE(ring.read(at) == 0x66);
  CHECK(ring.read(10) == filled(ring, 10));
  CHECK(ring.chunks->show_ring_again(apart.data(), {}) == 0);
  for (std::uint64_t at = 0; at < 2 * end; at += 97) REQUIRE(ring.read(at) == 0x66);
  // As before: read-only, and private after the next write.
  ring.write(end - 1, 3);
  CHECK(ring.read(end - 1) == 3);
  CHECK(ring.producer.data()[end - 1] == std::byte{0x66});
}

TEST_CASE("a chunk stays private where the kernel maps the ring there no more") {
  Guarded ring;
  const std::array kept = {range_in(ring, 10, 20)};
  REQUIRE(ring.chunks->keep(kept[0], kept));
  // Pages that the kernel does not map twice, as those of 2 MiB.
  void* const refused =
      ::mmap(nullptr, ring.bytes(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(refused != MAP_FAILED);
  CHECK(ring.chunks->show_ring_again(static_cast<const std::byte*>(refused), {}) == 1);
  CHECK(ring.chunks->is_private(kept[0]));
  CHECK(shows_filled(ring, 10, 20));
  ring.write(10, 200);
  CHECK(ring.read(10) == 200);
  CHECK(ring.ring_is_as_filled());
  REQUIRE(::munmap(refused, ring.bytes()) == 0);
  const DoubleMapping apart(ring.segment, MapMode::read_only);
  CHECK(ring.chunks->show_ring_again(apart.data(), {}) == 0);
  CHECK(ring.read(10) == filled(ring, 10));
}

TEST_CASE("pages that nobody shows any more go back, and no others") {
  Guarded ring;
  const std::array live = {range_in(ring, 0, 50'000), range_in(ring, 50'000, 100'000)};
  REQUIRE(ring.chunks->keep(live[0], live));
  const std::uint64_t both = resident_pages(ring, 0, chunk);
  ring.chunks->give_back(live[0], std::array{live[1]});
  CHECK(shows_filled(ring, 50'000, 100'000));
  CHECK(resident_pages(ring, 0, chunk) == both - 50'000 / page_bytes());
  ring.chunks->give_back(live[1], {});
  CHECK(resident_pages(ring, 0, chunk) == 0);
  ring.chunks->give_back(range_in(ring, chunk, chunk + 100), {});  // the ring's own
  CHECK(ring.read(chunk + 5) == filled(ring, chunk + 5));
}

TEST_CASE("only what lives stays when the rest is reserved") {
  const auto end = in_child([] {
    Guarded ring;
    const std::array live = {range_in(ring, 5'000, 9'000)};
    if (!ring.chunks->keep(live[0], live)) return 1;
    ring.chunks->reserve(live);
    if (!shows_filled(ring, 5'000, 9'000)) return 2;
    ring.write(5'000, 1);
    say("sound\n");
    return ring.read(chunk) == 0 ? 3 : 4;
  });
  CHECK(end.died_of(SIGSEGV));
  CHECK(says(end, "sound"));
}

TEST_CASE("threads that write while what they write into is being kept lose nothing") {
  for (int round = 0; round < 20; ++round) {
    Guarded ring(3 * chunk);
    const std::array live = {range_in(ring, 1'000, 3 * chunk + 1'000)};
    std::atomic<bool> begun{false};
    std::thread writer([&] {
      begun = true;
      for (std::uint64_t at = 1'000; at < 3 * chunk + 1'000; at += 4'096) ring.write(at, 250);
    });
    while (!begun) std::this_thread::yield();
    REQUIRE(ring.chunks->keep(live[0], live));
    writer.join();
    std::uint64_t lost = 0;
    for (std::uint64_t at = 1'000; at < 3 * chunk + 1'000; ++at) {
      const int wanted = (at - 1'000) % 4'096 == 0 ? 250 : filled(ring, at);
      lost += ring.read(at) == wanted ? 0 : 1;
    }
    REQUIRE(lost == 0);
    REQUIRE(ring.ring_is_as_filled());
  }
}

TEST_CASE("where the kernel refuses, what is kept stays the ring's") {
  const auto end = in_child([] {
    Guarded ring;
    const std::array live = {range_in(ring, 0, 100)};
    if (!without_system_call(SYS_mremap, EPERM)) return 1;
    if (ring.chunks->keep(live[0], live)) return 2;
    if (ring.chunks->is_private(live[0])) return 3;
    return shows_filled(ring, 0, 100) ? 7 : 4;
  });
  INFO(end.output);
  CHECK(end.exited_with(7));
}
