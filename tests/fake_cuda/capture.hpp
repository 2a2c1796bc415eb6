// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "stream.hpp"

#include <cuda.h>

#include <memory>
#include <thread>
#include <vector>

// Graphs that are captured: what is enqueued on a stream meanwhile is kept instead of done.
namespace batchcast::fake_cuda {

struct Capture {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;  ///< that began it
  std::shared_ptr<Stream> origin;
  bool active = true;
  bool spoiled = false;  ///< CU_STREAM_CAPTURE_STATUS_INVALIDATED
  std::vector<Operation> operations;
};

/// What the thread's mode was before.
[[nodiscard]] CUstreamCaptureMode exchange_capture_mode(CUstreamCaptureMode mode);

/// What a call that is "potentially unsafe" returns on this thread. Captures that forbid it are
/// spoiled by it.
[[nodiscard]] CUresult barred_by_captures(World& world);
/// A call that no capture in the context bears, whatever the thread's mode: whether there was one.
[[nodiscard]] bool spoils_captures_of(World& world, const Context& context);
/// What the use of a stream returns while captures are under way. That of the legacy stream spoils
/// those of streams that it would have to wait for.
[[nodiscard]] CUresult barred_use(World& world, const Stream& stream);
/// Whether a capture on a stream that waits for the legacy one is under way.
[[nodiscard]] bool blocks_legacy(const World& world, const Context& context);
/// Without graphs.
void end_captures(World& world);

}  // namespace batchcast::fake_cuda
