// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/core/named_thread.hpp>

#include <batchcast/core/error.hpp>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <latch>
#include <vector>

namespace batchcast::inline v0_1 {
namespace {

/// Threads that wait until their end.
class IdleThreads {
 public:
  explicit IdleThreads(unsigned count) : ready_(count), ids_(count) {}
  ~IdleThreads() {
    go_.count_down();
    for (std::thread& thread : threads_) thread.join();
    // The kernel still counts a joined thread for a moment, and the next one may be one too many.
    constexpr int tries_max = 1'000;
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      for (int tries = 0; tries < tries_max && is_there(ids_[i].load()); ++tries) ::usleep(100);
    }
  }
  IdleThreads(const IdleThreads&) = delete;
  IdleThreads& operator=(const IdleThreads&) = delete;

  /// All threads run when this returns, and have the memory that a first allocation takes.
  void start() {
    threads_.reserve(ids_.size());
    for (std::atomic<pid_t>& id : ids_) {
      threads_.push_back(start_thread("bc-rehearsal", [this, &id] {
        void* volatile some = std::malloc(1);
        std::free(some);
        id.store(static_cast<pid_t>(::syscall(SYS_gettid)));
        ready_.count_down();
        go_.wait();
      }));
    }
    ready_.wait();
  }

 private:
  static bool is_there(pid_t id) noexcept {
    return id != 0 && ::syscall(SYS_tgkill, ::getpid(), id, 0) == 0;
  }

  std::latch ready_;
  std::latch go_{1};
  std::vector<std::atomic<pid_t>> ids_;
  std::vector<std::thread> threads_;
};

}  // namespace

bool address_space_is_limited() noexcept {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

void rehearse_threads(unsigned threads, std::size_t bytes, const std::string& what) {
  int failed = 0;
  {
    IdleThreads idle(threads);
    try {
      idle.start();
    } catch (const SystemError& error) {
      failed = error.code();
    }
    if (failed == 0 && bytes != 0 && address_space_is_limited()) {
      void* space = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (space == MAP_FAILED) {
        failed = errno;
      } else {
        ::munmap(space, bytes);
      }
    }
  }
  if (failed == 0) return;
  throw_no_threads(text("{}, which takes {} threads,", what, threads), failed);
}

}  // namespace batchcast::inline v0_1
