// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Streams and events.
#include "world.hpp"

#include <algorithm>
#include <memory>
#include <utility>

using namespace batchcast::fake_cuda;

namespace {

constexpr int greatest_priority = -5;  // an H100's

template <class Body>
CUresult with_stream(CUstream handle, Body&& body) {
  return with_context([&](World& world, Lock& lock, Context& context) -> CUresult {
    const auto stream = find_stream(world, context, handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->context->error != CUDA_SUCCESS) return stream->context->error;
    if (const CUresult barred = barred_use(world, *stream); barred != CUDA_SUCCESS) return barred;
    return body(world, lock, stream);
  });
}

/// What a question about a stream's progress, or a wait for it, returns.
CUresult barred_wait(World& world, const Stream& stream) {
  if (const CUresult barred = barred_use(world, stream); barred != CUDA_SUCCESS) return barred;
  if (stream.capture) {
    stream.capture->spoiled = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return barred_by_captures(world);
}

/// The same of an event, which may be a point of a graph.
CUresult barred_wait(World& world, const Event& event) {
  if (!event.point.capture) return barred_by_captures(world);
  event.point.capture->spoiled = true;
  return CUDA_ERROR_CAPTURED_EVENT;
}

/// Joins a capture, or is barred by it.
CUresult wait_in_capture(Stream& stream, const Event& event) {
  const std::shared_ptr<Capture>& other = event.point.capture;
  if (other && !other->active) return CUDA_ERROR_CAPTURED_EVENT;
  if (other && other->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!stream.capture) stream.capture = other;
  if (stream.capture == other || event.point.stream == nullptr) return CUDA_SUCCESS;
  stream.capture->spoiled = true;
  if (other) other->spoiled = true;
  return other ? CUDA_ERROR_STREAM_CAPTURE_MERGE : CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
}

/// Needs no current context.
template <class Body>
CUresult with_event(CUevent handle, Body&& body) {
  return with_driver([&](World& world, Lock& lock) -> CUresult {
    const auto at = world.events.find(number_of(handle));
    if (at == world.events.end()) return CUDA_ERROR_INVALID_HANDLE;
    return body(world, lock, at->second);
  });
}

}  // namespace

extern "C" {

CUresult cuStreamCreateWithPriority(CUstream* made, unsigned flags, int priority) {
  return with_context([&](World& world, Lock&, Context& context) {
    if ((flags & ~unsigned{CU_STREAM_NON_BLOCKING}) != 0) return CUDA_ERROR_INVALID_VALUE;
    const auto stream = make_stream(world, context, flags != CU_STREAM_NON_BLOCKING);
    stream->priority = std::clamp(priority, greatest_priority, 0);
    world.streams.emplace(stream->handle, stream);
    *made = to_handle<CUstream>(stream->handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamCreate(CUstream* made, unsigned flags) {
  return cuStreamCreateWithPriority(made, flags, 0);
}

CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return with_context([&](World&, Lock&, Context&) {
    if (least != nullptr) *least = 0;
    if (greatest != nullptr) *greatest = greatest_priority;
    return CUDA_SUCCESS;
  });
}

/// Returns at once; what is enqueued is still done.
CUresult cuStreamDestroy_v2(CUstream handle) {
  return with_context<Kind::undo>([&](World& world, Lock&, Context&) {
    const auto at = world.streams.find(number_of(handle));
    if (at == world.streams.end()) return CUDA_ERROR_INVALID_HANDLE;
    at->second->ending = true;
    world.streams.erase(at);
    world.changed.notify_all();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return with_stream(handle, [&](World&, Lock&, const std::shared_ptr<Stream>& stream) {
    *context = reinterpret_cast<CUcontext>(stream->context);
    return CUDA_SUCCESS;
  });
}

/// Of a stream that is captured nothing can be asked; that spoils the capture.
CUresult cuStreamQuery(CUstream handle) {
  return with_stream(
      handle, [](World& world, Lock&, const std::shared_ptr<Stream>& stream) -> CUresult {
        if (const CUresult barred = barred_wait(world, *stream); barred != CUDA_SUCCESS) {
          return barred;
        }
        return idle(world, *stream) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
      });
}

// Of a context that has failed too: what the stream was just doing comes to its end.
CUresult cuStreamSynchronize(CUstream handle) {
  return with_context<Kind::undo>([&](World& world, Lock& lock, Context& context) -> CUresult {
    if (world.answer != CUDA_SUCCESS) return world.answer;
    const auto stream = find_stream(world, context, handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult barred = barred_wait(world, *stream); barred != CUDA_SUCCESS) return barred;
    return wait(world, lock, enqueue(world, stream, {}));
  });
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned) {
  return with_stream(handle, [&](World& world, Lock&, const std::shared_ptr<Stream>& stream) {
    const auto at = world.events.find(number_of(event));
    if (at == world.events.end()) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture || at->second->point.capture) {
      return wait_in_capture(*stream, *at->second);
    }
    Operation waiting;
    if (at->second->point.stream) waiting.after.push_back(at->second->point);
    enqueue(world, stream, std::move(waiting));
    return CUDA_SUCCESS;
  });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return with_stream(handle, [&](World& world, Lock&, const std::shared_ptr<Stream>& stream) {
    enqueue(world, stream, {[=](World&, Lock& held) {
              held.unlock();
              set_in_callback(true);
              function(data);
              set_in_callback(false);
              held.lock();
              return CUDA_SUCCESS;
            }});
    return CUDA_SUCCESS;
  });
}

CUresult cuEventCreate(CUevent* made, unsigned) {
  return with_context([&](World& world, Lock&, Context& context) {
    const std::uint64_t handle = world.new_handle();
    auto event = std::make_shared<Event>();
    event->context = &context;
    world.events.emplace(handle, std::move(event));
    *made = to_handle<CUevent>(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy_v2(CUevent handle) {
  return with_driver([&](World& world, Lock&) {
    const bool known = world.events.erase(number_of(handle)) == 1;
    return known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuEventRecord(CUevent handle, CUstream on) {
  return with_stream(on,
                     [&](World& world, Lock&, const std::shared_ptr<Stream>& stream) -> CUresult {
                       if (world.answer != CUDA_SUCCESS) return world.answer;
                       const auto at = world.events.find(number_of(handle));
                       if (at == world.events.end() || at->second->context != stream->context) {
                         return CUDA_ERROR_INVALID_HANDLE;
                       }
                       at->second->point = enqueue(world, stream, {});
                       return CUDA_SUCCESS;
                     });
}

CUresult cuEventQuery(CUevent handle) {
  return with_event(
      handle, [](World& world, Lock&, const std::shared_ptr<Event>& event) -> CUresult {
        if (world.answer != CUDA_SUCCESS) return world.answer;
        if (const CUresult barred = barred_wait(world, *event); barred != CUDA_SUCCESS)
          return barred;
        if (event->context->error != CUDA_SUCCESS) return event->context->error;
        return event->point.passed() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
      });
}

CUresult cuEventSynchronize(CUevent handle) {
  return with_event(handle, [](World& world, Lock& lock, const std::shared_ptr<Event>& event) {
    const std::shared_ptr<Event> kept = event;
    if (const CUresult barred = barred_wait(world, *kept); barred != CUDA_SUCCESS) return barred;
    const CUresult result = wait(world, lock, Point(kept->point));
    return result != CUDA_SUCCESS ? result : kept->context->error;
  });
}

}  // extern "C"
