// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Captures of graphs, and graphs.
#include "world.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace batchcast::fake_cuda {

namespace {

thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

bool forbids(const Capture& capture) {
  if (thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) {
    return capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED;
  }
  return capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
         thread_mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

/// Spoils those captures; whether there were any.
template <class Which>
bool spoil(World& world, Which&& which) {
  bool any = false;
  for (const auto& capture : world.captures) {
    if (!which(*capture)) continue;
    capture->spoiled = any = true;
  }
  return any;
}

void end(World& world, const std::shared_ptr<Capture>& capture) {
  capture->active = false;
  for (const auto& [handle, stream] : world.streams) {
    if (stream->capture == capture) stream->capture = nullptr;
  }
  for (Context& context : world.contexts) {
    for (const auto& [thread, stream] : context.of_thread) {
      if (stream->capture == capture) stream->capture = nullptr;
    }
  }
  std::erase(world.captures, capture);
}

}  // namespace

CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode mode) {
  return std::exchange(thread_mode, mode);
}

CUresult barred_by_captures(World& world) {
  return spoil(world, forbids) ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

bool spoils_captures_of(World& world, const Context& context) {
  return spoil(world, [&](const Capture& one) { return one.origin->context == &context; });
}

bool blocks_legacy(const World& world, const Context& context) {
  return std::any_of(world.captures.begin(), world.captures.end(), [&](const auto& capture) {
    return capture->origin->context == &context && capture->origin->blocking;
  });
}

CUresult barred_use(World& world, const Stream& stream) {
  if (stream.capture && stream.capture->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.context->legacy.get() != &stream) return CUDA_SUCCESS;
  const bool spoiled = spoil(world, [&](const Capture& capture) {
    return capture.origin->context == stream.context && capture.origin->blocking;
  });
  return spoiled ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT : CUDA_SUCCESS;
}

void end_captures(World& world) {
  while (!world.captures.empty()) end(world, std::shared_ptr(world.captures.back()));
}

}  // namespace batchcast::fake_cuda

using namespace batchcast::fake_cuda;

extern "C" {

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  *mode = exchange_capture_mode(*mode);
  return CUDA_SUCCESS;
}

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  return with_context([&](World& world, Lock&, Context& context) -> CUresult {
    const auto stream = find_stream(world, context, handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream == context.legacy) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (stream->capture) return CUDA_ERROR_ILLEGAL_STATE;
    stream->capture = std::make_shared<Capture>();
    stream->capture->mode = mode;
    stream->capture->thread = std::this_thread::get_id();
    stream->capture->origin = stream;
    world.captures.push_back(stream->capture);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  return with_context([&](World& world, Lock&, Context& context) -> CUresult {
    *graph = nullptr;
    const auto stream = find_stream(world, context, handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture) return CUDA_ERROR_ILLEGAL_STATE;
    if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
        capture->thread != std::this_thread::get_id()) {
      return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    }
    end(world, capture);
    if (capture->spoiled) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    const std::uint64_t made = world.new_handle();
    world.graphs.emplace(made, std::move(capture->operations));
    *graph = to_handle<CUgraph>(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  return with_context([&](World& world, Lock&, Context& context) -> CUresult {
    const auto stream = find_stream(world, context, handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    if (stream == stream->context->legacy && blocks_legacy(world, *stream->context)) {
      return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    *status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
              : stream->capture->spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                         : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* made, CUgraph graph, unsigned long long) {
  return unsafe_with_driver([&](World& world, Lock&) -> CUresult {
    const auto at = world.graphs.find(number_of(graph));
    if (at == world.graphs.end()) return CUDA_ERROR_INVALID_VALUE;
    const std::uint64_t handle = world.new_handle();
    world.graphs.emplace(handle, at->second);
    *made = to_handle<CUgraphExec>(handle);
    return CUDA_SUCCESS;
  });
}

/// One operation after the other, though a graph may have branches.
CUresult cuGraphLaunch(CUgraphExec graph, CUstream handle) {
  return with_context([&](World& world, Lock&, Context& context) -> CUresult {
    const auto at = world.graphs.find(number_of(graph));
    const auto stream = find_stream(world, context, handle);
    if (at == world.graphs.end() || !stream) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult barred = barred_use(world, *stream); barred != CUDA_SUCCESS) return barred;
    for (const Operation& operation : at->second) enqueue(world, stream, operation);
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return with_driver([&](World& world, Lock&) {
    return world.graphs.erase(number_of(graph)) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec graph) {
  return with_driver([&](World& world, Lock&) {
    return world.graphs.erase(number_of(graph)) == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // extern "C"
