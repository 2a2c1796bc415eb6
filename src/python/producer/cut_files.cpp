// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "python/producer/bindings.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace nb = nanobind;

// Libraries of Python map files. The kernel raises SIGBUS in whoever reads what was cut off such a
// file, which ends the process. Here zeros take the place of what is gone, in mappings whose reader
// asks afterwards whether the file is still what it was.
namespace batchcast::inline v0_1::python {
namespace {

/// Of addresses. Never freed, as a handler may look at it: one that is over is used again.
struct Range {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};  ///< 0: free
  Range* next = nullptr;
};

std::atomic<Range*> ranges{nullptr};
// Set before the handler is.
struct sigaction before {};
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

/// A handler that has said what it has to say raises the signal again, for the one before it. That
/// may be the one here: then it would be handed on to it for ever.
[[nodiscard]] bool is_raised_again(const siginfo_t& info) noexcept {
  static std::atomic<bool> was_handed_on{false};
  return was_handed_on.exchange(true) && info.si_code <= 0 && info.si_pid == ::getpid();
}

void hand_on(int number, siginfo_t* info, void* context) {
  const bool takes_all = (before.sa_flags & SA_SIGINFO) != 0;
  const bool is_sent = info->si_code <= 0;
  if (!takes_all && before.sa_handler == SIG_IGN && is_sent) return;
  const bool is_none = !takes_all && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN);
  if (is_none || is_raised_again(*info)) {
    ::signal(number, SIG_DFL);
    if (is_sent) ::raise(number);  // else the fault comes again
    return;
  }
  if (takes_all) return before.sa_sigaction(number, info, context);
  before.sa_handler(number);
}

void on_fault(int number, siginfo_t* info, void* context) {
  const int kept_errno = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  const bool is_cut = info->si_code == BUS_ADRERR && is_in_a_range(address);
  if (!is_cut || !put_zeros_at(address)) hand_on(number, info, context);
  errno = kept_errno;
}

void take_faults() {
  struct sigaction current {};
  ::sigaction(SIGBUS, nullptr, &current);
  const bool is_ours = (current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_fault;
  if (is_ours) return;
  before = current;
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction own {};
  own.sa_sigaction = on_fault;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK;
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
      .def(nb::init<std::uintptr_t, std::uintptr_t>(), nb::arg("begin"), nb::arg("end"));
}

}  // namespace batchcast::inline v0_1::python
