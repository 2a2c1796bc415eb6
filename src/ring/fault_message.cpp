// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/ring/fault_message.hpp>

#include <batchcast/core/limits.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

// The one piece of process-wide state in the ring: a signal has one handler.
namespace batchcast {
namespace {

struct Range {
  std::atomic<std::uintptr_t> begin{0};  ///< 0: free; stored last
  std::uintptr_t end = 0;
  std::array<char, limits::stream_name_bytes_max + 1> stream{};
};

std::array<Range, limits::fault_ranges_max> ranges;
std::mutex ranges_mutex;
struct sigaction previous_action;

// From here on only what a signal handler may call.

const Range* range_of(std::uintptr_t address) noexcept {
  for (const Range& range : ranges) {
    const std::uintptr_t begin = range.begin.load(std::memory_order_acquire);
    if (begin != 0 && address >= begin && address < range.end) return &range;
  }
  return nullptr;
}

/// In one write, so that several processes' messages on one terminal stay apart.
void explain(const Range& range) noexcept {
  const std::array<const char*, 3> parts = {
      "batchcast: this process wrote into a batch of stream `", range.stream.data(),
      "`, whose memory is the ring's own and read-only: every trainer reads it.\n"
      "batchcast: clone() what you want to change, or attach with access = private.\n"};
  std::array<char, 512> text;
  std::size_t length = 0;
  for (const char* part : parts) {
    const std::size_t bytes = std::min(std::strlen(part), text.size() - length);
    std::memcpy(text.data() + length, part, bytes);
    length += bytes;
  }
  if (::write(STDERR_FILENO, text.data(), length) < 0) return;
}

bool previous_is_a_function() noexcept {
  return (previous_action.sa_flags & SA_SIGINFO) != 0 ||
         (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN);
}

void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const Range* range = info->si_code == SEGV_ACCERR
                           ? range_of(reinterpret_cast<std::uintptr_t>(info->si_addr))
                           : nullptr;
  if (range != nullptr) explain(*range);
  if (range == nullptr && previous_is_a_function()) {
    // It may be one that mends faults of its own and goes on; ours stays in place for the next.
    if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
      previous_action.sa_sigaction(signal, info, context);
    } else {
      previous_action.sa_handler(signal);
    }
  } else {
    // Back to what was there before: the instruction runs again, and meets it. A signal that
    // somebody sent has no instruction.
    ::sigaction(SIGSEGV, &previous_action, nullptr);
    if (info->si_code <= 0) ::raise(SIGSEGV);
  }
  errno = error;
}

void install_once() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGSEGV, nullptr, &previous_action);  // before the first fault can ask for it
    return ::sigaction(SIGSEGV, &action, nullptr) == 0;
  }();
  static_cast<void>(installed);
}

}  // namespace

FaultRange::FaultRange(const std::byte* begin, std::uint64_t bytes, std::string_view stream)
    : slot_(-1) {
  install_once();
  const std::lock_guard lock(ranges_mutex);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    Range& range = ranges[i];
    if (range.begin.load(std::memory_order_relaxed) != 0) continue;
    const std::size_t length = std::min(stream.size(), range.stream.size() - 1);
    std::memcpy(range.stream.data(), stream.data(), length);
    range.stream[length] = '\0';
    range.end = reinterpret_cast<std::uintptr_t>(begin) + bytes;
    range.begin.store(reinterpret_cast<std::uintptr_t>(begin), std::memory_order_release);
    slot_ = static_cast<int>(i);
    return;
  }
}

FaultRange::~FaultRange() {
  if (slot_ < 0) return;
  const std::lock_guard lock(ranges_mutex);
  ranges[static_cast<std::size_t>(slot_)].begin.store(0, std::memory_order_release);
}

FaultRange::FaultRange(FaultRange&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

}  // namespace batchcast
