// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "stream.hpp"

#include "world.hpp"

#include <unistd.h>

#include <chrono>
#include <thread>
#include <utility>

namespace batchcast::fake_cuda {

namespace {

using std::chrono::microseconds;

bool is_held(const World& world, const Stream& stream) {
  if (stream.held || world.all_held) return true;
  return !world.settings.hold.empty() && ::access(world.settings.hold.c_str(), F_OK) == 0;
}

bool may_run(const World& world, const Stream& stream) {
  if (stream.queue.empty()) return false;
  if (world.ended || stream.context->error != CUDA_SUCCESS) return true;
  for (const Point& point : stream.queue.front().after) {
    if (!point.passed()) return false;
  }
  return !is_held(world, stream);
}

void wait_for_change(World& world, Lock& lock) {
  if (world.settings.hold.empty()) {
    world.changed.wait(lock);
  } else {
    // system_clock: ThreadSanitizer of g++ 12 does not know the wait that steady_clock makes.
    world.changed.wait_until(lock, std::chrono::system_clock::now() + microseconds(1000));
  }
}

void run_one(World& world, Lock& lock, Stream& stream) {
  const Operation operation = std::move(stream.queue.front());
  stream.queue.pop_front();
  if (!world.ended && stream.context->error == CUDA_SUCCESS && operation.work) {
    stream.busy = true;
    std::uint64_t pause_us = operation.is_copy ? world.settings.copy_us : 0;
    if (const std::uint64_t most = world.settings.delay_us; most != 0) {
      pause_us += stream.random() % (most + 1);
    }
    lock.unlock();
    if (pause_us != 0) std::this_thread::sleep_for(microseconds(pause_us));
    lock.lock();
    CUresult result = stream.context->error;
    if (result == CUDA_SUCCESS) result = operation.work(world, lock);
    if (stream.context->error == CUDA_SUCCESS) stream.context->error = result;
    stream.busy = false;
  }
  ++stream.done;
  world.changed.notify_all();
}

void run(World& world, const std::shared_ptr<Stream>& stream) {
  Lock lock(world.mutex);
  for (;;) {
    if (may_run(world, *stream)) {
      run_one(world, lock, *stream);
    } else if (stream->ending && stream->queue.empty()) {
      return;
    } else {
      wait_for_change(world, lock);
    }
  }
}

Point last(const std::shared_ptr<Stream>& stream) { return {stream, stream->enqueued}; }

void order_with_legacy(World& world, const std::shared_ptr<Stream>& stream, Operation& operation) {
  Context& context = *stream->context;
  if (stream == context.legacy) {
    for (const auto& [handle, other] : world.streams) {
      if (other->context == &context && other->blocking) operation.after.push_back(last(other));
    }
    for (const auto& [thread, other] : context.of_thread) operation.after.push_back(last(other));
  } else if (stream->blocking && context.legacy) {
    operation.after.push_back(last(context.legacy));
  }
}

}  // namespace

bool Point::passed() const { return stream == nullptr || stream->done >= ticket; }

std::shared_ptr<Stream> make_stream(World& world, Context& context, bool blocking) {
  auto stream = std::make_shared<Stream>();
  stream->context = &context;
  stream->handle = world.new_handle();
  stream->blocking = blocking;
  stream->random.seed(static_cast<unsigned>(seed() * 7919 + stream->handle));
  std::thread([&world, stream] { run(world, stream); }).detach();
  return stream;
}

std::shared_ptr<Stream> find_stream(World& world, Context& current, CUstream handle) {
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    if (!current.legacy) current.legacy = make_stream(world, current, true);
    return current.legacy;
  }
  if (handle == CU_STREAM_PER_THREAD) {
    auto& stream = current.of_thread[std::this_thread::get_id()];
    if (!stream) stream = make_stream(world, current, true);
    return stream;
  }
  const auto at = world.streams.find(number_of(handle));
  return at == world.streams.end() ? nullptr : at->second;
}

Point enqueue(World& world, const std::shared_ptr<Stream>& stream, Operation operation) {
  if (stream->capture) {
    if (operation.work) stream->capture->operations.push_back(std::move(operation));
    return {stream, 0, stream->capture};
  }
  order_with_legacy(world, stream, operation);
  stream->queue.push_back(std::move(operation));
  ++stream->enqueued;
  world.changed.notify_all();
  return last(stream);
}

CUresult wait(World& world, Lock& lock, const Point& point) {
  while (!point.passed() && !world.ended) world.changed.wait(lock);
  if (world.ended) return CUDA_ERROR_DEINITIALIZED;
  return point.stream ? point.stream->context->error : CUDA_SUCCESS;
}

CUresult wait_all(World& world, Lock& lock, Context& context) {
  std::vector<Point> points;
  if (context.legacy) points.push_back(last(context.legacy));
  for (const auto& [thread, stream] : context.of_thread) points.push_back(last(stream));
  for (const auto& [handle, stream] : world.streams) {
    if (stream->context == &context) points.push_back(last(stream));
  }
  for (const Point& point : points) {
    if (wait(world, lock, point) == CUDA_ERROR_DEINITIALIZED) return CUDA_ERROR_DEINITIALIZED;
  }
  return context.error;
}

bool idle(World& world, const Stream& stream) {
  const auto done = [](const Stream& of) { return of.done == of.enqueued; };
  if (!done(stream)) return false;
  if (stream.context->legacy.get() != &stream) return true;
  for (const auto& [handle, other] : world.streams) {
    if (other->context == stream.context && other->blocking && !done(*other)) return false;
  }
  return true;
}

}  // namespace batchcast::fake_cuda
