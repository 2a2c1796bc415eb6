// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "support.hpp"

#include <thread>
#include <vector>

using namespace batchcast::fake_cuda;

namespace {

CUresult in_mode(CUstreamCaptureMode mode, CUresult (*call)()) {
  cuThreadExchangeStreamCaptureMode(&mode);
  const CUresult result = call();
  cuThreadExchangeStreamCaptureMode(&mode);
  return result;
}

CUresult allocates() {
  CUdeviceptr address = 0;
  const CUresult result = cuMemAlloc(&address, 4096);
  if (result == CUDA_SUCCESS) cuMemFree(address);
  return result;
}

/// The same by a thread of its own, with that context.
CUresult elsewhere(CUcontext context, CUstreamCaptureMode mode, CUresult (*call)()) {
  CUresult result = CUDA_SUCCESS;
  std::thread([&] {
    cuCtxPushCurrent(context);
    result = in_mode(mode, call);
    CUcontext popped = nullptr;
    cuCtxPopCurrent(&popped);
  }).join();
  return result;
}

void begin(CUstream stream, CUstreamCaptureMode mode) {
  REQUIRE(cuStreamBeginCapture(stream, mode) == CUDA_SUCCESS);
}
CUresult end(CUstream stream) {
  CUgraph graph = nullptr;
  const CUresult result = cuStreamEndCapture(stream, &graph);
  if (graph != nullptr) cuGraphDestroy(graph);
  return result;
}

constexpr auto global = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr auto of_thread = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

}  // namespace

TEST_CASE("Fake CUDA: what is captured is done when its graph is launched, each time") {
  const InUse fake;
  const CUdeviceptr memory = allocate(4096);
  const CUstream stream = new_stream();
  begin(stream, global);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CHECK(cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  REQUIRE(cuMemsetD8Async(memory, 7, 4096, stream) == CUDA_SUCCESS);
  CUgraph graph = nullptr;
  REQUIRE(cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS);
  const auto* const seen = static_cast<unsigned char*>(batchcast_fake_cuda_look(memory, 4096));
  CUgraphExec made = nullptr;
  REQUIRE(cuGraphInstantiate(&made, graph, 0) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
  CHECK(seen[5] == 0);
  for (int i = 0; i < 2; ++i) {
    REQUIRE(cuGraphLaunch(made, stream) == CUDA_SUCCESS);
    REQUIRE(cuStreamSynchronize(stream) == CUDA_SUCCESS);
    CHECK(seen[5] == 7);
    REQUIRE(cuMemsetD8(memory, 0, 4096) == CUDA_SUCCESS);
    REQUIRE(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
  }
  cuGraphExecDestroy(made);
  cuGraphDestroy(graph);
  cuStreamDestroy(stream);
  cuMemFree(memory);
}

TEST_CASE("Fake CUDA: a capture forbids calls to the threads that its mode and theirs say") {
  const InUse fake;
  const CUstream stream = new_stream();
  struct Case {
    CUstreamCaptureMode capture, thread;
    bool own, other;  ///< whether the call may be made
  };
  for (const Case& one : {Case{global, global, false, false}, Case{global, of_thread, false, true},
                          Case{global, relaxed, true, true}, Case{of_thread, global, false, true},
                          Case{relaxed, global, true, true}}) {
    CAPTURE(one.capture, one.thread);
    begin(stream, one.capture);
    CHECK((elsewhere(fake.context(), one.thread, allocates) == CUDA_SUCCESS) == one.other);
    CHECK((end(stream) == CUDA_SUCCESS) == one.other);
    begin(stream, one.capture);
    CHECK((in_mode(one.thread, allocates) == CUDA_SUCCESS) == one.own);
    CHECK((end(stream) == CUDA_SUCCESS) == one.own);
  }
  cuStreamDestroy(stream);
}

TEST_CASE("Fake CUDA: a captured event, stream or context cannot be asked in any mode") {
  const InUse fake;
  const CUstream stream = new_stream();
  const CUstream other = new_stream();
  CUstreamCaptureMode mode = relaxed;
  cuThreadExchangeStreamCaptureMode(&mode);
  CUevent event = nullptr;
  REQUIRE(cuEventCreate(&event, 0) == CUDA_SUCCESS);
  const auto spoils = [&](CUresult expected, auto&& call) {
    begin(stream, global);
    REQUIRE(cuEventRecord(event, stream) == CUDA_SUCCESS);
    CHECK(call() == expected);
    CHECK(cuEventRecord(event, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(end(stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  };
  spoils(CUDA_ERROR_CAPTURED_EVENT, [&] { return cuEventQuery(event); });
  spoils(CUDA_ERROR_CAPTURED_EVENT, [&] { return cuEventSynchronize(event); });
  spoils(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamSynchronize(stream); });
  spoils(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamQuery(stream); });
  spoils(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [] { return cuCtxSynchronize(); });
  // Nor once the capture is over.
  begin(stream, global);
  REQUIRE(cuEventRecord(event, stream) == CUDA_SUCCESS);
  // A stream that waits for such an event is captured too.
  REQUIRE(cuStreamWaitEvent(other, event, 0) == CUDA_SUCCESS);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CHECK(cuStreamIsCapturing(other, &status) == CUDA_SUCCESS);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(end(other) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  CHECK(end(stream) == CUDA_SUCCESS);
  CHECK(cuEventQuery(event) == CUDA_ERROR_CAPTURED_EVENT);
  REQUIRE(cuEventRecord(event, stream) == CUDA_SUCCESS);
  CHECK(cuEventSynchronize(event) == CUDA_SUCCESS);
  cuThreadExchangeStreamCaptureMode(&mode);
  cuEventDestroy(event);
  for (const CUstream each : {stream, other}) cuStreamDestroy(each);
}

TEST_CASE("Fake CUDA: the legacy stream cannot be used beside the capture of one it waits for") {
  const InUse fake;
  const CUdeviceptr memory = allocate(4096);
  CUstream blocking = nullptr;
  REQUIRE(cuStreamCreate(&blocking, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
  begin(blocking, relaxed);
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CHECK(cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(end(blocking) == CUDA_SUCCESS);
  begin(blocking, relaxed);
  CHECK(cuMemsetD8Async(memory, 1, 4096, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(end(blocking) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(cuStreamBeginCapture(nullptr, relaxed) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  cuStreamDestroy(blocking);
  cuMemFree(memory);
}
