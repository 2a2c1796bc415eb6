// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <atomic>
#include <memory>

// What a trainer can do only where one of its files includes the header that brings the code:
// gpu.hpp and start.hpp. That header says so here before main (docs/decisions/0030), so the other
// files need not know. Null: this program has not included it.
namespace batchcast::inline v0_1 {

struct ConsumerOptions;

namespace detail {

class ConsumerCore;
struct GpuCode;  // consumer/delivery.hpp

/// Starts the stream where no producer serves it, and attaches to it.
using StartAndAttach = std::shared_ptr<ConsumerCore> (*)(const ConsumerOptions& options);

inline constinit std::atomic<const GpuCode*> brought_gpu{nullptr};
inline constinit std::atomic<StartAndAttach> brought_start{nullptr};

}  // namespace detail
}  // namespace batchcast::inline v0_1
