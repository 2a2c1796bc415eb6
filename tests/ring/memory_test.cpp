// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "child.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/ring/memory.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using batchcast::testing::in_child;

namespace {

constexpr Seals sample_seals = Seals::shrink | Seals::grow | Seals::future_write | Seals::seal;
constexpr Seals desk_seals = Seals::shrink | Seals::grow | Seals::seal;

std::string text_of(const std::function<void()>& thrower) {
  try {
    thrower();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::uint64_t free_huge_pages() {
  std::ifstream meminfo("/proc/meminfo");
  std::string word;
  std::uint64_t count = 0;
  while (meminfo >> word) {
    if (word == "HugePages_Free:") meminfo >> count;
  }
  return count;
}

std::size_t maps_of_this_process() {
  std::ifstream maps("/proc/self/maps");
  std::size_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

bool is_mapped(const std::byte* at) {
  return ::msync(const_cast<std::byte*>(at), page_bytes(), MS_ASYNC) == 0;
}

/// Every way that a process with a descriptor and a read-only map has to change a segment. Each
/// says whether it did.
struct Attack {
  const char* name;
  std::function<bool(int fd, std::byte* map)> works;
};

int reopened(int fd) {
  return ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC);
}

bool write_through_map(int fd) {
  void* at = ::mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return false;
  *static_cast<volatile char*>(at) = 'x';
  return true;
}

const std::vector<Attack>& attacks_on_bytes() {
  static const std::vector<Attack> all = {
      {"mmap", [](int fd, std::byte*) { return write_through_map(fd); }},
      {"mmap of the reopened file",
       [](int fd, std::byte*) {
         const int again = reopened(fd);
         return again >= 0 && write_through_map(again);
       }},
      {"mprotect",
       [](int, std::byte* map) {
         return ::mprotect(map, page_bytes(), PROT_READ | PROT_WRITE) == 0;
       }},
      {"pwrite", [](int fd, std::byte*) { return ::pwrite(fd, "x", 1, 0) == 1; }},
      {"pwrite to the reopened file",
       [](int fd, std::byte*) {
         const int again = reopened(fd);
         return again >= 0 && ::pwrite(again, "x", 1, 0) == 1;
       }},
      {"punching a hole",
       [](int fd, std::byte*) {
         return ::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                            static_cast<off_t>(page_bytes())) == 0;
       }},
  };
  return all;
}

const std::vector<Attack>& attacks_on_size() {
  static const std::vector<Attack> all = {
      {"shrinking", [](int fd, std::byte*) { return ::ftruncate(fd, 0) == 0; }},
      {"growing", [](int fd, std::byte*) { return ::ftruncate(fd, 1 << 20) == 0; }},
      {"shrinking the reopened file",
       [](int fd, std::byte*) {
         const int again = reopened(fd);
         return again >= 0 && ::ftruncate(again, 0) == 0;
       }},
      {"sealing more",
       [](int fd, std::byte*) { return ::fcntl(fd, F_ADD_SEALS, F_SEAL_GROW) == 0; }},
  };
  return all;
}

/// Whether the attack works from a forked child that holds the descriptor and a read-only map.
bool works(const Attack& attack, const Segment& segment) {
  const auto end = in_child([&] {
    const Mapping map(segment, MapMode::read_only);
    return attack.works(segment.fd(), map.data()) ? 1 : 0;
  });
  REQUIRE(WIFEXITED(end.status));
  return WEXITSTATUS(end.status) != 0;
}

}  // namespace

TEST_CASE("samples are sealed against writing, by every way there is") {
  const std::uint64_t bytes = 4 * page_bytes();
  for (const auto* attacks : {&attacks_on_bytes(), &attacks_on_size()}) {
    for (const Attack& attack : *attacks) {
      INFO(attack.name);
      // The attack is a real one: it works where nothing is sealed.
      CHECK(works(attack, Segment::create_small("open", bytes)));

      Segment segment = Segment::create_small("sealed", bytes);
      const DoubleMapping mine(segment, MapMode::read_write);
      std::memset(mine.data(), 'a', bytes);
      segment.seal(sample_seals);
      CHECK_FALSE(works(attack, segment));
      CHECK(mine.data()[0] == std::byte{'a'});
      std::memset(mine.data(), 'b', 2 * bytes);
      CHECK(mine.data()[bytes - 1] == std::byte{'b'});
    }
  }
}

TEST_CASE("a desk can be written, and keeps its size") {
  for (const Attack& attack : attacks_on_size()) {
    INFO(attack.name);
    Segment desk = Segment::create_small("desk", page_bytes());
    desk.seal(desk_seals);
    CHECK_FALSE(works(attack, desk));
    const Mapping mine(desk, MapMode::read_write);
    mine.data()[1] = std::byte{3};
  }
}

TEST_CASE("the producer sees whether the seal holds") {
  Segment segment = Segment::create_small("samples", page_bytes());
  CHECK_FALSE(writable_map_is_refused(segment));
  segment.seal(sample_seals);
  CHECK(writable_map_is_refused(segment));
  CHECK_THROWS_AS(segment.seal(Seals::grow), SystemError);  // it is sealed against sealing
}

TEST_CASE("a segment is there in whole, has no name in a folder, and is not inherited by exec") {
  const std::uint64_t bytes = 16 * page_bytes();
  const Segment segment = Segment::create_small("image", bytes);
  CHECK(segment.bytes() == bytes);
  struct stat status {};
  REQUIRE(::fstat(segment.fd(), &status) == 0);
  CHECK(static_cast<std::uint64_t>(status.st_size) == bytes);
  CHECK(static_cast<std::uint64_t>(status.st_blocks) * 512 >= bytes);
  CHECK(status.st_nlink == 0);
  CHECK((::fcntl(segment.fd(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("more memory than there is is refused before any of it is taken") {
  // Should the refusal be broken, the limit on file sizes stands between this test and the machine.
  const auto end = in_child([] {
    const rlimit harmless{64 << 20, 64 << 20};
    if (::setrlimit(RLIMIT_FSIZE, &harmless) != 0) return 1;
    static_cast<void>(Segment::create_small("image", std::uint64_t{1} << 60));
    return 2;
  });
  CHECK(end.exited_with(99));
  CHECK(contains(end.output, std::to_string(std::uint64_t{1} << 40) + " MiB"));
}

TEST_CASE("a segment above the limit on file sizes is refused before the kernel ends the process") {
  const auto end = in_child([] {
    const rlimit small{8192, 8192};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 1;
    static_cast<void>(Segment::create_small("fits", 8192));
    static_cast<void>(Segment::create_small("image", 16384));
    return 2;
  });
  CHECK(end.exited_with(99));
  CHECK(contains(end.output, "`image`"));
  CHECK(contains(end.output, "ulimit -f"));
}

TEST_CASE("adopting takes a segment of that size with those seals, and nothing else") {
  const std::uint64_t bytes = 2 * page_bytes();
  const auto copy_of = [](const Segment& segment) {
    return FileDescriptor(::fcntl(segment.fd(), F_DUPFD_CLOEXEC, 0));
  };
  const auto refusal = [&](FileDescriptor fd, std::uint64_t expected, Seals required) {
    return text_of(
        [&] { static_cast<void>(Segment::adopt("image", std::move(fd), expected, required)); });
  };
  Segment sealed = Segment::create_small("sealed", bytes);
  const Mapping mine(sealed, MapMode::read_write);
  sealed.seal(sample_seals);
  Segment desk = Segment::create_small("desk", bytes);
  desk.seal(desk_seals);

  const Segment adopted = Segment::adopt("image", copy_of(sealed), bytes, sample_seals);
  CHECK(adopted.bytes() == bytes);
  const Mapping theirs(adopted, MapMode::read_only);
  mine.data()[bytes - 1] = std::byte{9};
  CHECK(theirs.data()[bytes - 1] == std::byte{9});

  CHECK(contains(refusal(copy_of(sealed), bytes + page_bytes(), sample_seals), "`image`"));
  CHECK(contains(refusal(copy_of(sealed), bytes - page_bytes(), sample_seals), "bytes instead of"));
  CHECK(contains(refusal(copy_of(desk), bytes, sample_seals), "not sealed"));
  CHECK(contains(refusal(copy_of(Segment::create_small("open", bytes)), bytes, Seals::shrink),
                 "not sealed"));
  CHECK(contains(refusal(FileDescriptor(), bytes, sample_seals), "no open file"));
  CHECK(contains(refusal(FileDescriptor(::open("/dev/null", O_RDWR | O_CLOEXEC)), 0, sample_seals),
                 "not sealed"));
  CHECK_THROWS_AS(Segment::adopt("image", copy_of(desk), bytes, sample_seals), Refused);
}

TEST_CASE("windows are contiguous across the wrap, for both ends of a stream") {
  const std::uint64_t bytes = 3 * page_bytes();
  Segment segment = Segment::create_small("image", bytes);
  const DoubleMapping writer(segment, MapMode::read_write);
  segment.seal(sample_seals);
  const DoubleMapping reader(segment, MapMode::read_only);
  CHECK(writer.bytes() == bytes);

  std::vector<std::byte> window(bytes);
  for (const std::uint64_t begin : {std::uint64_t{0}, std::uint64_t{1}, bytes / 2, bytes - 1}) {
    for (std::uint64_t i = 0; i < bytes; ++i) {
      window[i] = static_cast<std::byte>((i * 7 + begin) % 251);
    }
    std::memcpy(writer.data() + begin, window.data(), bytes);
    CHECK(std::memcmp(reader.data() + begin, window.data(), bytes) == 0);
    CHECK(std::memcmp(reader.data(), reader.data() + bytes, bytes) == 0);
    CHECK(std::memcmp(writer.data(), reader.data(), 2 * bytes) == 0);
  }
}

TEST_CASE("mappings move, and leave nothing behind") {
  const std::uint64_t bytes = 2 * page_bytes();
  const Segment segment = Segment::create_small("image", bytes);
  const std::byte* at = nullptr;
  {
    DoubleMapping first(segment, MapMode::read_write);
    at = first.data();
    DoubleMapping second(std::move(first));
    CHECK(second.data() == at);
    DoubleMapping third(segment, MapMode::read_only);
    const std::byte* gone = third.data();
    third = std::move(second);
    CHECK(third.data() == at);
    CHECK_FALSE(is_mapped(gone));
    CHECK(is_mapped(at + bytes));
  }
  for (std::uint64_t offset = 0; offset < 2 * bytes; offset += page_bytes()) {
    CHECK_FALSE(is_mapped(at + offset));
  }
}

TEST_CASE("a mapping that fails leaves nothing behind, not even its reservation") {
  Segment segment = Segment::create_small("image", 2 * page_bytes());
  segment.seal(sample_seals);
  CHECK_THROWS_AS(DoubleMapping(segment, MapMode::read_write), SystemError);
  const std::size_t before = maps_of_this_process();
  for (int i = 0; i < 100; ++i) {
    CHECK_THROWS_AS(DoubleMapping(segment, MapMode::read_write), SystemError);
  }
  CHECK(maps_of_this_process() < before + 50);
  CHECK(contains(text_of([&] { Mapping(segment, MapMode::read_write); }),
                 bytes_text(segment.bytes())));
}

TEST_CASE("mappings begin where the granularity says") {
  // Coarser than what the kernel aligns to by itself.
  const std::uint64_t granularity = std::uint64_t{16} << 20;
  const auto segment = Segment::create("image", granularity, {granularity, false, false});
  REQUIRE(segment);
  CHECK(segment->granularity() == granularity);
  for (int i = 0; i < 8; ++i) {
    const DoubleMapping mapping(*segment, MapMode::read_write);
    CHECK(reinterpret_cast<std::uintptr_t>(mapping.data()) % granularity == 0);
    mapping.data()[0] = static_cast<std::byte>(i);
    CHECK(mapping.data()[granularity] == static_cast<std::byte>(i));
  }
}

TEST_CASE("which pages: what is not asked for is not reported, and what is missing is") {
  std::vector<std::string> reports;
  const LogCallback report = [&](LogLevel, std::string_view text) { reports.emplace_back(text); };
  CHECK(choose_pages(HugePages::off, std::uint64_t{1} << 40, report).granularity == page_bytes());
  CHECK(choose_pages(HugePages::automatic, 1 << 30, report).granularity == page_bytes());
  CHECK(reports.empty());

  const MemoryChoice choice =
      choose_pages(HugePages::explicit_pages, std::uint64_t{1} << 60, report);
  CHECK(choice.granularity == page_bytes());
  CHECK_FALSE(choice.huge);
  REQUIRE(reports.size() == 1);
  CHECK(contains(reports[0], "vm.nr_hugepages"));
  static_cast<void>(choose_pages(HugePages::explicit_pages, std::uint64_t{1} << 60, {}));
}

TEST_CASE("huge pages that there are not enough of are no segment, and no error") {
  const MemoryChoice huge{huge_page_bytes(), true, false};
  CHECK_FALSE(Segment::create("image", (free_huge_pages() + 1) * huge_page_bytes(), huge));
  if (auto segment = Segment::create("image", huge_page_bytes(), huge)) {
    const DoubleMapping mapping(*segment, MapMode::read_write);
    mapping.data()[5] = std::byte{5};
    CHECK(mapping.data()[5 + mapping.bytes()] == std::byte{5});
    segment->seal(sample_seals);
    if (writable_map_is_refused(*segment)) {
      const Segment adopted =
          Segment::adopt("image", FileDescriptor(::fcntl(segment->fd(), F_DUPFD_CLOEXEC, 0)),
                         huge_page_bytes(), sample_seals);
      const DoubleMapping theirs(adopted, MapMode::read_only);
      CHECK(theirs.data()[5] == std::byte{5});
    }
  }
}
