// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "guarded_ring.hpp"

#include <batchcast/core/named_thread.hpp>

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

// The handler that makes chunks private, and others beside it.
namespace {

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

/// Pages whose writes fault until a handler of their own allows them, as runtimes have them.
struct MendedPages {
  static constexpr std::size_t pages = 16;
  explicit MendedPages() { forbid(); }
  void forbid() const { ::mprotect(memory, bytes(), PROT_NONE); }
  [[nodiscard]] std::size_t bytes() const { return pages * page; }
  [[nodiscard]] char* at(std::size_t index) const { return memory + index * page; }
  void write(std::size_t index) const { *static_cast<volatile char*>(at(index)) = 1; }

  const std::size_t page = static_cast<std::size_t>(page_bytes());
  char* const memory = static_cast<char*>(
      ::mmap(nullptr, pages* page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
};

const MendedPages* mended = nullptr;
struct sigaction before_mender;
/// What is not its own it hands on without giving its place up.
void mend(int signal, siginfo_t* info, void* context) {
  auto* const address = static_cast<char*>(info->si_addr);
  if (address >= mended->memory && address < mended->memory + mended->bytes()) {
    const auto index = static_cast<std::size_t>(address - mended->memory) / mended->page;
    ::mprotect(mended->at(index), mended->page, PROT_READ | PROT_WRITE);
  } else {
    before_mender.sa_sigaction(signal, info, context);
  }
}
void install_mender(const MendedPages& pages) {
  mended = &pages;
  struct sigaction action {};
  action.sa_sigaction = mend;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, &before_mender);
}
bool mender_is_first() {
  struct sigaction now {};
  ::sigaction(SIGSEGV, nullptr, &now);
  return now.sa_sigaction == mend;
}

}  // namespace

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

// ThreadSanitizer holds signals back until the thread makes a system call.
#if !defined(__SANITIZE_THREAD__)
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

#endif

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

TEST_CASE("threads may fault at one time for a handler installed after ours") {
  const auto end = in_child([] {
    ::alarm(60);
    const Guarded ring;
    const MendedPages pages;
    install_mender(pages);
    for (int round = 0; round < 2'000; ++round) {
      FaultRange::come_first();
      pages.forbid();
      std::atomic<int> ready{0};
      std::vector<std::thread> threads;
      for (std::size_t i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
          ++ready;
          while (ready != 4) std::this_thread::yield();  // there may be fewer processors
          pages.write(i);
        });
      }
      for (std::thread& thread : threads) thread.join();
      if (!mender_is_first()) return 1;
    }
    ring.write(1, 2);
    return ring.read(1);
  });
  INFO(end.output);
  CHECK(end.exited_with(2));
}

TEST_CASE("a fault that comes to our handler too late runs again, and once only") {
  const auto end = in_child([] {
    ::alarm(20);
    install_crash_reporter();
    const Guarded ring;
    struct sigaction ours {};
    ::sigaction(SIGSEGV, nullptr, &ours);
    const MendedPages pages;
    install_mender(pages);
    FaultRange::come_first();
    pages.write(0);
    if (!mender_is_first()) return 1;
    // The kernel has sent another thread to ours before that.
    std::thread([&] {
      siginfo_t info{};
      info.si_signo = SIGSEGV;
      info.si_code = SEGV_ACCERR;
      info.si_addr = pages.at(1);
      ucontext_t context{};
      ours.sa_sigaction(SIGSEGV, &info, &context);
      if (!mender_is_first()) ::_exit(2);
      say("again\n");
      *reinterpret_cast<volatile int*>(std::uintptr_t{8}) = 1;  // the mender hands it on
    }).join();
    return 3;
  });
  CHECK(end.output == "again\ncrash\n");
  CHECK(end.died_of(SIGSEGV));
}

TEST_CASE("a handler for one time that was installed before ours is called one time") {
  const auto end = in_child([] {
    ::alarm(20);
    struct sigaction action {};
    action.sa_handler = [](int) {
      say("crash\n");
      ::raise(SIGSEGV);
    };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    ::sigaction(SIGSEGV, &action, nullptr);
    const Guarded ring;
    ring.write(1, 2);
    *reinterpret_cast<volatile int*>(std::uintptr_t{8}) = 1;
    return 0;
  });
  CHECK(end.output == "crash\n");
  CHECK(end.died_of(SIGSEGV));
}

TEST_CASE("a thread of ours that runs the program's code may write") {
  const auto end = in_child([] {
    const Guarded ring;
    start_thread("bc-maker", [&ring] { ring.write(1, 2); }).join();
    return ring.read(1);
  });
  CHECK(end.exited_with(2));
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
