// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "child.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/ring/fault_message.hpp>
#include <batchcast/ring/memory.hpp>
#include <batchcast/ring/private_chunks.hpp>

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using batchcast::testing::ChildEnd;
using batchcast::testing::in_child;
using batchcast::testing::without_system_call;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;  // shadows are mapped as memory is used
#else
constexpr bool sanitized = false;
#endif

constexpr std::uint64_t chunk = std::uint64_t{2} << 20;

/// A ring as a producer and a consumer see it. Its end lies in the middle of a chunk.
struct Guarded {
  explicit Guarded(std::uint64_t ring_bytes = 3 * chunk / 2, MemoryChoice pages = {page_bytes()})
      : segment(Segment::create("image", ring_bytes, pages).value()),
        producer(segment, MapMode::read_write) {
    for (std::uint64_t at = 0; at < ring_bytes; ++at) producer.data()[at] = byte_at(at);
    segment.seal(Seals::shrink | Seals::grow | Seals::future_write);
    batch.emplace(segment, MapMode::read_only);
    chunks.emplace(batch->data(), bytes(), written);
    range.emplace(batch->data(), bytes(), "imagenet-train", &*chunks);
  }

  static std::byte byte_at(std::uint64_t offset) { return static_cast<std::byte>(offset * 7 >> 3); }
  [[nodiscard]] std::uint64_t bytes() const { return 2 * producer.bytes(); }
  void write(std::uint64_t offset, int value) const {
    reinterpret_cast<volatile unsigned char*>(batch->data())[offset] =
        static_cast<unsigned char>(value);
  }
  [[nodiscard]] int read(std::uint64_t offset) const {
    return reinterpret_cast<const volatile unsigned char*>(batch->data())[offset];
  }
  [[nodiscard]] bool ring_is_as_filled() const {
    for (std::uint64_t at = 0; at < producer.bytes(); ++at) {
      if (producer.data()[at] != byte_at(at)) return false;
    }
    return true;
  }

  Segment segment;
  DoubleMapping producer;
  std::optional<DoubleMapping> batch;
  std::atomic<std::uint32_t> written{0};
  std::optional<PrivateChunks> chunks;
  std::optional<FaultRange> range;
};

void say(const char* text) {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) ::_exit(97);
}

bool says(const ChildEnd& end, const char* text) {
  return end.output.find(text) != std::string::npos;
}

std::size_t mappings_of_this_process() {
  std::ifstream maps("/proc/self/maps");
  std::size_t count = 0;
  for (std::string line; std::getline(maps, line);) ++count;
  return count;
}

struct sigaction before_crash;
/// As Python's faulthandler does it: a report, then to whoever was there before.
void report_crash(int) {
  ::sigaction(SIGSEGV, &before_crash, nullptr);
  say("crash\n");
  ::raise(SIGSEGV);
}
void install_crash_reporter() {
  struct sigaction action {};
  action.sa_handler = report_crash;
  action.sa_flags = SA_NODEFER | SA_ONSTACK;
  ::sigaction(SIGSEGV, &action, &before_crash);
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

TEST_CASE("errno, the signals blocked and a small alternative stack survive a write") {
  const Guarded ring;
  std::thread([&ring] {
    std::vector<char> memory(static_cast<std::size_t>(SIGSTKSZ));
    const stack_t stack{memory.data(), 0, memory.size()};
    ::sigaltstack(&stack, nullptr);
    errno = 77;
    ring.write(1, 2);
    const int error = errno;
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    const stack_t none{nullptr, SS_DISABLE, 0};
    ::sigaltstack(&none, nullptr);
    CHECK(error == 77);
    CHECK(sigismember(&blocked, SIGALRM) == 0);
    CHECK(sigismember(&blocked, SIGSEGV) == 0);
  }).join();
}

TEST_CASE("a signal's handler may write where its thread is just writing") {
  const auto end = in_child([] {
    ::alarm(20);
    static const Guarded* written = nullptr;
    const Guarded ring(16 * chunk);
    written = &ring;
    struct sigaction action {};
    action.sa_handler = [](int) {
      for (std::uint64_t at = 1; at < written->bytes(); at += chunk) {
        if (written->read(at - 1) == 2) written->write(at, 3);
      }
      // The one that is just being copied, if any, is the first that has no such byte yet.
      for (std::uint64_t at = 1; at < written->bytes(); at += chunk) {
        if (written->read(at) != 3) return written->write(at, 3);
      }
    };
    action.sa_flags = SA_RESTART;
    ::sigaction(SIGUSR1, &action, nullptr);
    const pthread_t self = pthread_self();
    std::atomic<bool> over{false};
    std::thread sender([&] {
      while (!over) {
        pthread_kill(self, SIGUSR1);
        std::this_thread::sleep_for(std::chrono::microseconds(300));
      }
    });
    for (std::uint64_t at = 0; at < ring.bytes(); at += chunk) ring.write(at, 2);
    over = true;
    sender.join();
    return 0;
  });
  CHECK(end.exited_with(0));
}

TEST_CASE("a handler installed before ours gets what is not ours") {
  const auto end = in_child([] {
    install_crash_reporter();
    const Guarded ring;
    ring.write(1, 2);
    say("wrote\n");
    const Segment other = Segment::create_small("other", page_bytes());
    const Mapping mapping(other, MapMode::read_only);
    *const_cast<volatile std::byte*>(mapping.data()) = std::byte{1};
    return 0;
  });
  CHECK(end.output == "wrote\ncrash\n");
  CHECK(end.died_of(SIGSEGV));
}

TEST_CASE("a handler installed after ours that hands on does not end writing") {
  const auto end = in_child([] {
    const Guarded ring;
    static struct sigaction before;
    struct sigaction action {};
    action.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
      before.sa_sigaction(signal, info, context);
    };
    action.sa_flags = SA_SIGINFO;
    ::sigaction(SIGSEGV, &action, &before);
    ring.write(1, 2);
    ring.write(chunk, 2);
    FaultRange::come_first();
    ring.write(ring.bytes() - 1, 2);
    return ring.read(1) + ring.read(chunk) + ring.read(ring.bytes() - 1);
  });
  CHECK(end.exited_with(6));
}

TEST_CASE("a crash reporter installed after ours reports crashes, and no writes") {
  for (const bool crashes : {false, true}) {
    const auto end = in_child([crashes] {
      const Guarded ring;
      install_crash_reporter();
      FaultRange::come_first();
      FaultRange::come_first();
      ring.write(1, 2);
      say("wrote\n");
      if (crashes) *reinterpret_cast<volatile int*>(std::uintptr_t{8}) = 1;
      ::raise(SIGSEGV);
      return 0;
    });
    CHECK(end.output.starts_with("wrote\ncrash\n"));
    CHECK(end.output.rfind("crash") == end.output.find("crash"));
    CHECK(end.died_of(SIGSEGV));
  }
}

TEST_CASE("copies of this library in one process write each their own, also after one is closed") {
  const auto end = in_child([] {
    ::alarm(20);
    const auto program = std::filesystem::read_symlink("/proc/self/exe");
    const auto path = program.parent_path() / "batchcast_guarding_copy.so";
    void* const copy = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (copy == nullptr) throw std::runtime_error(::dlerror());
    const auto guard = reinterpret_cast<void* (*)(const std::byte*, std::uint64_t)>(
        ::dlsym(copy, "guard_in_copy"));
    const auto unguard = reinterpret_cast<void (*)(void*)>(::dlsym(copy, "unguard_in_copy"));
    const auto come_first = reinterpret_cast<void (*)()>(::dlsym(copy, "come_first_in_copy"));
    const Guarded mine;
    Guarded theirs;
    theirs.range.reset();
    void* const guarded = guard(theirs.batch->data(), theirs.bytes());
    std::uint64_t at = 0;
    for (; at < 2; ++at) {
      mine.write(at * chunk, 2);
      theirs.write(at * chunk, 2);
      FaultRange::come_first();
      come_first();
    }
    if (theirs.written != 0) return 1;  // it was our copy that did it
    unguard(guarded);
    ::dlclose(copy);
    mine.write(at * chunk, 2);
    say("wrote\n");
    theirs.write(at * chunk, 2);
    return 0;
  });
  CHECK(end.output == "wrote\n");
  CHECK(end.died_of(SIGSEGV));
}

TEST_CASE("executing a batch is no write") {
  const auto end = in_child([] {
    ::alarm(20);
    const Guarded ring;
    reinterpret_cast<void (*)()>(reinterpret_cast<std::uintptr_t>(ring.batch->data()))();
    return 0;
  });
  CHECK(end.died_of(SIGSEGV));
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
