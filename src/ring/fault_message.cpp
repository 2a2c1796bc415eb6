// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/ring/fault_message.hpp>

#include <batchcast/core/limits.hpp>

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
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

void say(const char* text) noexcept {
  if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
}

void on_fault(int, siginfo_t* info, void*) {
  const int error = errno;
  if (info->si_code == SEGV_ACCERR) {
    if (const Range* range = range_of(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
      say("batchcast: this process wrote into a batch of stream `");
      say(range->stream.data());
      say("`, whose memory is the ring's own and read-only: every trainer reads it.\n"
          "batchcast: clone() what you want to change, or attach with access = private.\n");
    }
  }
  // Back to what was there before: the instruction runs again, and meets it.
  ::sigaction(SIGSEGV, &previous_action, nullptr);
  errno = error;
}

void install_once() {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGSEGV, &action, &previous_action) == 0;
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
