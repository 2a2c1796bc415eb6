// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/fault_message.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/process_symbol.hpp>
#include <batchcast/core/signals.hpp>
#include <batchcast/ring/futex.hpp>
#include <batchcast/ring/private_chunks.hpp>

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

namespace batchcast::inline v0_1 {
namespace detail {

struct FaultSlot {
  std::atomic<std::uint32_t> version{0};  ///< odd while the rest changes
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::uintptr_t> end{0};  ///< 0: free
  std::atomic<PrivateChunks*> chunks{nullptr};
  std::atomic<bool> explained{false};
  std::array<char, limits::stream_name_bytes_max + 1> stream{};
};

// What we know about the handler that was put before ours, and that we put ourselves before: there
// is none, or we know it. Any other value is the id of the process in which a thread is changing
// that. A child that was forked meanwhile sees a foreign id, and has no such handler.
inline constexpr std::uint32_t above_none = 0;
inline constexpr std::uint32_t above_known = ~std::uint32_t{0};

/// The one piece of process-wide state in the ring: a signal has one handler.
struct FaultState {
  std::array<FaultSlot, limits::fault_ranges_max> slots;
  std::mutex mutex;  ///< of each thread that changes anything here; the handler takes none
  bool installed = false;
  struct sigaction before {};  ///< constant once ours is installed
  std::atomic<std::uint32_t> above_is{above_none};
  struct sigaction above {};  ///< of the thread that is changing `above_is`
  /// The thread that last ran its instruction again because the handler above went back. 0: none.
  std::atomic<std::uint32_t> ran_again{0};
};
inline constinit FaultState fault_state;

}  // namespace detail

namespace detail::fault_message {

// From here on there is only what a signal handler may call.

inline FaultSlot* slot_of(std::uintptr_t address) noexcept {
  for (FaultSlot& slot : fault_state.slots) {
    const std::uint32_t version = slot.version.load(std::memory_order_acquire);
    const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
    const std::uintptr_t end = slot.end.load(std::memory_order_acquire);
    if (address < begin || address >= end) continue;
    if (version % 2 == 0 && slot.version.load(std::memory_order_acquire) == version) return &slot;
  }
  return nullptr;
}

/// Whether the fault is a write, and not an attempt to execute.
inline bool is_write([[maybe_unused]] const siginfo_t* info, const void* context) noexcept {
  [[maybe_unused]] const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  constexpr std::uint64_t write_bit = 2;
  return (static_cast<std::uint64_t>(machine.gregs[REG_ERR]) & write_bit) != 0;
#elif defined(__aarch64__)
  return machine.pc != reinterpret_cast<std::uintptr_t>(info->si_addr);
#else
  return true;
#endif
}

/// Uses one write, so that several processes' messages on one terminal stay apart.
inline void explain(FaultSlot& slot) noexcept {
  if (slot.explained.exchange(true)) return;
  const std::array<const char*, 3> parts = {
      "batchcast: this process wrote into a batch of stream `", slot.stream.data(),
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

inline bool is_function(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

/// The instruction runs again once the handler returns. A signal from a process has none.
inline void run_again(const siginfo_t& info) noexcept {
  if (info.si_code <= 0) ::raise(SIGSEGV);
}

/// Installs that handler: the instruction runs again, and meets it.
inline void give_way_to(const struct sigaction& action, const siginfo_t& info) noexcept {
  ::sigaction(SIGSEGV, &action, nullptr);
  run_again(info);
}

inline void on_fault(int signal, siginfo_t* info, void* context);

/// Whether the handler is this copy's.
inline bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fault;
}

/// Ends a change of `above_is`.
inline void set_above(std::uint32_t is) noexcept {
  fault_state.above_is.store(is);
  futex_wake(fault_state.above_is);
}

/// Gives its place back to the handler above, which knows ours: what it passes on comes back here.
/// False if it has its place already, or there is none. Otherwise it is in place once this returns.
inline bool give_back_place() noexcept {
  constexpr int look_again_ms = 100;
  const auto self = static_cast<std::uint32_t>(::getpid());
  const SignalsBlocked until_done;  // their handlers could fault, and wait here for ever
  std::uint32_t seen = above_known;
  while (!fault_state.above_is.compare_exchange_strong(seen, self)) {
    if (seen != self) return false;
    static_cast<void>(futex_wait(fault_state.above_is, seen, look_again_ms));
    seen = above_known;
  }
  ::sigaction(SIGSEGV, &fault_state.above, nullptr);
  fault_state.ran_again.store(static_cast<std::uint32_t>(::syscall(SYS_gettid)));
  set_above(above_none);
  return true;
}

/// Whether the kernel sent this thread here before another thread gave the handler above its place
/// back. That handler may also have called ours directly: then the same thread comes twice.
inline bool came_too_late() noexcept {
  struct sigaction now {};
  ::sigaction(SIGSEGV, nullptr, &now);
  if (is_ours(now)) return fault_state.above_is.load() == above_known;  // came first once more
  const auto thread = static_cast<std::uint32_t>(::syscall(SYS_gettid));
  const std::uint32_t last = fault_state.ran_again.load();
  if (last == 0 || last == thread) return false;
  fault_state.ran_again.store(thread);
  return true;
}

inline void hand_on(int signal, siginfo_t* info, void* context, bool explained) noexcept {
  if (give_back_place() || came_too_late()) {
    run_again(*info);
    return;
  }
  const struct sigaction& before = fault_state.before;
  if (explained || !is_function(before)) {
    give_way_to(before, *info);
    return;
  }
  if ((static_cast<unsigned>(before.sa_flags) & SA_RESETHAND) != 0) ::signal(SIGSEGV, SIG_DFL);
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    // It may mend its faults and continue; ours stays in place for the next fault.
    before.sa_sigaction(signal, info, context);
  } else {
    before.sa_handler(signal);
  }
}

inline void on_fault(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  FaultSlot* const slot = info->si_code == SEGV_ACCERR ? slot_of(address) : nullptr;
  PrivateChunks* const chunks =
      slot != nullptr && is_write(info, context) ? slot->chunks.load() : nullptr;
  if (chunks == nullptr || !chunks->make_private(address)) {
    if (slot != nullptr) explain(*slot);
    hand_on(signal, info, context, slot != nullptr);
  }
  errno = error;
}

// The code for signal handlers ends here.

/// One copy of this library in a process recognises another's handler by the signals that it
/// blocks. These pass faults on to each other, and none has to come first.
inline sigset_t signature() noexcept {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int offset : {3, 8, 14, 21}) sigaddset(&blocked, SIGRTMIN + offset);
  return blocked;
}

inline bool has_signature(const struct sigaction& action) noexcept {
  const sigset_t ours = signature();
  for (int number = 1; number <= SIGRTMAX; ++number) {
    if (sigismember(&ours, number) != sigismember(&action.sa_mask, number)) return false;
  }
  return is_function(action);
}

inline bool install(struct sigaction* replaced = nullptr) noexcept {
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  action.sa_mask = signature();
  return ::sigaction(SIGSEGV, &action, replaced) == 0;
}

/// The mutex is held.
inline bool install_once() noexcept {
  if (fault_state.installed) return true;
  keep_loaded(reinterpret_cast<const void*>(&on_fault));
  ::sigaction(SIGSEGV, nullptr, &fault_state.before);  // before the first fault can ask for it
  return fault_state.installed = install();
}

/// The mutex is held.
inline void change(FaultSlot& slot, const std::byte* begin, std::uint64_t bytes,
                   std::string_view stream, PrivateChunks* chunks) noexcept {
  slot.version.fetch_add(1, std::memory_order_relaxed);
  slot.begin.store(reinterpret_cast<std::uintptr_t>(begin), std::memory_order_release);
  slot.end.store(reinterpret_cast<std::uintptr_t>(begin) + bytes, std::memory_order_release);
  slot.chunks.store(chunks, std::memory_order_relaxed);
  slot.explained.store(false, std::memory_order_relaxed);
  const std::size_t length = std::min(stream.size(), slot.stream.size() - 1);
  std::copy_n(stream.data(), length, slot.stream.data());
  slot.stream[length] = '\0';
  slot.version.fetch_add(1, std::memory_order_release);
}

}  // namespace detail::fault_message

BATCHCAST_INLINE FaultRange::FaultRange(const std::byte* begin, std::uint64_t bytes,
                                        std::string_view stream, PrivateChunks* chunks)
    : slot_(-1) {
  {
    const std::lock_guard lock(detail::fault_state.mutex);
    if (!detail::fault_message::install_once()) return;
    for (std::size_t i = 0; i < detail::fault_state.slots.size(); ++i) {
      detail::FaultSlot& slot = detail::fault_state.slots[i];
      if (slot.end.load(std::memory_order_relaxed) != 0) continue;
      detail::fault_message::change(slot, begin, bytes, stream, chunks);
      slot_ = static_cast<int>(i);
      break;
    }
  }
  come_first();
}

BATCHCAST_INLINE FaultRange::~FaultRange() {
  if (slot_ < 0) return;
  const std::lock_guard lock(detail::fault_state.mutex);
  detail::fault_message::change(detail::fault_state.slots[static_cast<std::size_t>(slot_)], nullptr,
                                0, {}, nullptr);
}

BATCHCAST_INLINE FaultRange::FaultRange(FaultRange&& other) noexcept
    : slot_(std::exchange(other.slot_, -1)) {}

BATCHCAST_INLINE void FaultRange::come_first() noexcept {
  struct sigaction first {};
  ::sigaction(SIGSEGV, nullptr, &first);
  if (detail::fault_message::has_signature(first)) return;
  const std::lock_guard lock(detail::fault_state.mutex);
  if (!detail::fault_state.installed) return;
  const auto self = static_cast<std::uint32_t>(::getpid());
  const SignalsBlocked until_done;
  std::uint32_t is = detail::fault_state.above_is.load();
  // Where another thread is just giving the place back, a later batch comes first.
  if (is == self || !detail::fault_state.above_is.compare_exchange_strong(is, self)) return;
  if (!detail::fault_message::install(&first) || detail::fault_message::is_ours(first)) {
    detail::fault_message::set_above(is == detail::above_known ? is : detail::above_none);
    return;
  }
  // If an earlier handler was above, this one knows it, or it is gone.
  detail::fault_state.above = first;
  detail::fault_state.ran_again.store(0);
  detail::fault_message::set_above(detail::above_known);
}

}  // namespace batchcast::inline v0_1
