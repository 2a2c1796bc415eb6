// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "guarded_ring.hpp"

#include <dlfcn.h>
#include <signal.h>

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
