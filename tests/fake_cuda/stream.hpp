// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cuda.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <vector>

namespace batchcast::fake_cuda {

struct World;
struct Context;
struct Stream;
struct Capture;
using Lock = std::unique_lock<std::mutex>;

/// "All that was enqueued on that stream until then."
struct Point {
  std::shared_ptr<Stream> stream;
  std::uint64_t ticket = 0;
  std::shared_ptr<Capture> capture = nullptr;  ///< whose point it is: not to be asked
  [[nodiscard]] bool passed() const;
};

struct Operation {
  /// Called with the world locked; may unlock while it moves bytes. An error is the context's end.
  std::function<CUresult(World&, Lock&)> work;
  std::vector<Point> after = {};
  bool is_copy = false;
};

/// A queue and the thread that works it off. Guarded by the world's mutex.
struct Stream {
  Context* context = nullptr;
  std::uint64_t handle = 0;
  int priority = 0;      ///< smaller goes first
  bool blocking = true;  ///< waits for the legacy default stream, and it for this one
  bool held = false;
  bool busy = false;
  bool ending = false;
  std::uint64_t enqueued = 0, done = 0;
  std::deque<Operation> queue;
  std::shared_ptr<Capture> capture = nullptr;  ///< that it is part of
  std::minstd_rand random;
};

/// With its thread, which ends once the stream is `ending` and empty.
[[nodiscard]] std::shared_ptr<Stream> make_stream(World& world, Context& context, bool blocking);
/// Of the handle, with CUDA's two default streams; nullptr if there is none such.
[[nodiscard]] std::shared_ptr<Stream> find_stream(World& world, Context& current, CUstream handle);

/// In the order that CUDA promises, with the legacy default stream's. What is captured is kept.
Point enqueue(World& world, const std::shared_ptr<Stream>& stream, Operation operation);
/// CUDA_SUCCESS, or what ended the context.
CUresult wait(World& world, Lock& lock, const Point& point);
/// For all streams of the context.
CUresult wait_all(World& world, Lock& lock, Context& context);
/// Whether all that was enqueued has been done, as a query of this stream sees it.
[[nodiscard]] bool idle(World& world, const Stream& stream);

}  // namespace batchcast::fake_cuda
