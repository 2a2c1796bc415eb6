// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <atomic>
#include <memory>

// What a trainer can do only where one of its files includes the header that brings the code:
// gpu.hpp and start.hpp. That header says so here before main (docs/decisions/0030), so the other
// files need not know. Null: this executable or shared object has not included it.
namespace batchcast::inline v0_1 {

struct ConsumerOptions;

namespace detail {

class ConsumerCore;
struct GpuCode;  // consumer/delivery.hpp

/// Starts the stream where no producer serves it, and attaches to it.
using StartAndAttach = std::shared_ptr<ConsumerCore> (*)(const ConsumerOptions& options);
/// Starts the stream where no producer serves it; throws what `ensure_served` does.
using StartAlone = void (*)(const ConsumerOptions& options, int timeout_ms);

// Each executable and each shared object has its own, however it was built. Other versions of the
// headers may be in the same process, and must not find the code of this one.
[[gnu::visibility("hidden")]] inline constinit std::atomic<const GpuCode*> brought_gpu{nullptr};
[[gnu::visibility("hidden")]] inline constinit std::atomic<StartAndAttach> brought_start{nullptr};
[[gnu::visibility("hidden")]] inline constinit std::atomic<StartAlone> brought_start_alone{nullptr};

}  // namespace detail
}  // namespace batchcast::inline v0_1
