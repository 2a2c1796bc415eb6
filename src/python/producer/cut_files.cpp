// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/producer_bindings.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace nb = nanobind;

// Libraries of Python map files. The kernel raises SIGBUS in a thread that reads what was cut off
// such a file, which ends the process. Here zeros take the place of what is gone, in mappings whose
// reader asks afterwards whether the file is still what it was.
namespace batchcast::inline v0_1::python {
namespace {

/// Of addresses. Never freed, as a handler may look at it: one that is over is used again.
struct Range {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};  ///< 0: free
  Range* next = nullptr;
};

std::atomic<Range*> ranges{nullptr};
// Set before the handler is. What was there at first, and what was there when this one was set
// last, which hands on to this one itself where it came in between.
struct sigaction first {};
struct sigaction before {};
std::atomic<pid_t> handed_on_in{0};
std::uintptr_t page_bytes = 0;

[[nodiscard]] bool is_in_a_range(std::uintptr_t address) noexcept {
  for (const Range* one = ranges.load(); one != nullptr; one = one->next) {
    if (address >= one->begin.load() && address < one->end.load()) return true;
  }
  return false;
}

[[nodiscard]] bool put_zeros_at(std::uintptr_t address) noexcept {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address is what the kernel tells
  void* const page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
  return ::mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
         page;
}

void hand_on(const struct sigaction& to, int number, siginfo_t* info, void* context) {
  const bool was_sent = info->si_code <= 0;  // by a process; a fault comes again by itself
  if ((to.sa_flags & SA_SIGINFO) != 0) return to.sa_sigaction(number, info, context);
  if (to.sa_handler == SIG_IGN && was_sent) return;
  if (to.sa_handler != SIG_DFL && to.sa_handler != SIG_IGN) return to.sa_handler(number);
  ::signal(number, SIG_DFL);
  if (was_sent) ::raise(number);
}

void on_fault(int number, siginfo_t* info, void* context) {
  const int kept_errno = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool is_cut = info->si_code == BUS_ADRERR && is_in_a_range(address);
  if (!is_cut || !put_zeros_at(address)) {
    const pid_t self = ::gettid();
    if (handed_on_in.load() == self) {
      hand_on(first, number, info, context);
    } else {
      handed_on_in.store(self);
      hand_on(before, number, info, context);
      handed_on_in.store(0);
    }
  }
  errno = kept_errno;
}

/// Also where others have set a handler since. With the GIL.
void take_faults() {
  static bool was_taken = false;
  struct sigaction current {};
  ::sigaction(SIGBUS, nullptr, &current);
  const bool is_ours = (current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_fault;
  if (is_ours) return;
  if (!was_taken) first = current;
  was_taken = true;
  before = current;
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction own {};
  own.sa_sigaction = on_fault;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // one that is handed on may raise it again
  ::sigemptyset(&own.sa_mask);
  ::sigaction(SIGBUS, &own, nullptr);
}

/// For as long as it exists, reading there what was cut off the file gives zeros.
class ZerosWhereCut {
 public:
  ZerosWhereCut(std::uintptr_t begin, std::uintptr_t end) : range_(free_range()) {
    range_->begin.store(begin);
    range_->end.store(end);
    take_faults();
  }
  ~ZerosWhereCut() {
    range_->end.store(0);  // first: what has no begin would begin at 0
    range_->begin.store(0);
  }
  ZerosWhereCut(const ZerosWhereCut&) = delete;
  ZerosWhereCut& operator=(const ZerosWhereCut&) = delete;

 private:
  /// With the GIL, so that no two get the same one.
  [[nodiscard]] static Range* free_range() {
    for (Range* one = ranges.load(); one != nullptr; one = one->next) {
      if (one->end.load() == 0) return one;
    }
    auto* const made = new Range;
    made->next = ranges.load();
    ranges.store(made);
    return made;
  }

  Range* const range_;
};

}  // namespace

void add_cut_files(nb::module_& module) {
  nb::class_<ZerosWhereCut>(module, "ZerosWhereCut",
                            "While it exists, reading between these addresses what was cut off a "
                            "mapped file gives zeros, and ends no process.")
      .def(nb::init<std::uintptr_t, std::uintptr_t>(), nb::arg("begin"), nb::arg("end"))
      .def_static("go_on", &take_faults,
                  "Before such a look: others (faulthandler) may have taken the signal since.");
}

}  // namespace batchcast::inline v0_1::python
