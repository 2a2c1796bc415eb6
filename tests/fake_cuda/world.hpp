// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "capture.hpp"
#include "control.hpp"
#include "device_ranges.hpp"
#include "settings.hpp"
#include "stream.hpp"

#include <cuda.h>
#include <sys/types.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace batchcast::fake_cuda {

/// A device's primary context; there are no others.
struct Context {
  int device = 0;  ///< in this process's numbering
  unsigned retained = 0;
  CUresult error = CUDA_SUCCESS;  ///< sticky: what every later call returns
  bool lost = false;              ///< the device itself, which then cannot be asked either
  std::shared_ptr<Stream> legacy;
  std::map<std::thread::id, std::shared_ptr<Stream>> of_thread;
};

struct Event {
  Context* context = nullptr;
  Point point;  ///< without a stream: never recorded
};

struct Registered {
  std::uint64_t bytes = 0;
  bool read_only = false;
  bool allocated = false;  ///< by cuMemHostAlloc
};

struct Kernel;
struct Module {
  Context* context = nullptr;
};
struct Function {
  Context* context = nullptr;
  std::uint64_t module = 0;
  const Kernel* kernel = nullptr;
};

/// All that the driver knows in this process. Never destroyed: its threads outlive main().
struct World {
  static World& get();

  std::atomic<pid_t> process{0};   ///< that called cuInit; 0 before
  std::atomic<bool> ended{false};  ///< by the process's exit
  std::mutex mutex;
  std::condition_variable changed;

  Settings settings = Settings::of_environment();
  batchcast_fake_cuda_counters since{};  ///< the settings were given: what faults are counted by
  std::uint64_t reservations = 0, maps = 0, registrations = 0, host_allocations = 0;
  bool all_held = false;
  CUresult answer = CUDA_SUCCESS;  ///< to questions about streams, unless it is CUDA_SUCCESS
  batchcast_fake_cuda_counters counters{};

  std::vector<int> visible;  ///< which of the machine's devices are this process's
  std::array<Context, 8> contexts;
  std::uint64_t last_handle = 0x1000;
  std::map<std::uint64_t, std::shared_ptr<Stream>> streams;
  std::map<std::uint64_t, std::shared_ptr<Event>> events;
  std::vector<std::shared_ptr<Capture>> captures;          ///< under way
  std::map<std::uint64_t, std::vector<Operation>> graphs;  ///< and what is made of them
  std::map<std::uint64_t, Module> modules;
  std::map<std::uint64_t, Function> functions;
  std::map<std::uint64_t, std::shared_ptr<Memory>> allocations;  ///< cuMemCreate's handles
  DeviceRanges ranges;
  std::map<std::uintptr_t, Registered> registered;

  /// Handles are numbers that are never given twice: a stale one is found out.
  [[nodiscard]] std::uint64_t new_handle() { return last_handle += 16; }
  [[nodiscard]] int devices() const { return static_cast<int>(visible.size()); }
  /// As the settings and CUDA_VISIBLE_DEVICES have it.
  void see_devices();
  /// This process's number of a device of the machine; -1 if it does not see it.
  [[nodiscard]] int number_of(int physical) const;
  /// Counts what `lost_after` counts; the device may be lost by it.
  CUresult count_operation(Context& context);
};

/// Why no call may be made at all.
[[nodiscard]] CUresult refusal(const World& world);
/// Of this thread, which runs a function of cuLaunchHostFunc's: it may make no calls.
void set_in_callback(bool is);
/// The thread's current one.
[[nodiscard]] Context* current_context();

/// A call that needs cuInit only.
template <class Body>
CUresult with_driver(Body&& body) {
  World& world = World::get();
  if (const CUresult refused = refusal(world); refused != CUDA_SUCCESS) return refused;
  Lock lock(world.mutex);
  return body(world, lock);
}

/// A call that needs a current context. With `undo` it is done though the context has failed, whose
/// error it returns then.
enum class Kind { normal, undo };
template <Kind kind = Kind::normal, class Body>
CUresult with_context(Body&& body) {
  return with_driver([&](World& world, Lock& lock) -> CUresult {
    Context* const context = current_context();
    if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->retained == 0) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (kind == Kind::normal && context->error != CUDA_SUCCESS) return context->error;
    const CUresult result = body(world, lock, *context);
    return result == CUDA_SUCCESS && kind == Kind::undo ? context->error : result;
  });
}

/// The same for calls that a capture forbids (capture.hpp).
template <class Body>
CUresult unsafe_with_driver(Body&& body) {
  return with_driver([&](World& world, Lock& lock) -> CUresult {
    const CUresult barred = barred_by_captures(world);
    return barred != CUDA_SUCCESS ? barred : body(world, lock);
  });
}
template <Kind kind = Kind::normal, class Body>
CUresult unsafe_with_context(Body&& body) {
  return with_context<kind>([&](World& world, Lock& lock, Context& context) -> CUresult {
    const CUresult barred = barred_by_captures(world);
    return barred != CUDA_SUCCESS ? barred : body(world, lock, context);
  });
}

template <class Handle>
[[nodiscard]] Handle to_handle(std::uint64_t number) {
  return reinterpret_cast<Handle>(number);
}
template <class Handle>
[[nodiscard]] std::uint64_t number_of(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

}  // namespace batchcast::fake_cuda
