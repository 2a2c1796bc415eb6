// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/consumer/delivery.hpp>

#include <batchcast/consumer/brought.hpp>
#include <batchcast/consumer_options.hpp>
#include <batchcast/core/inline.hpp>

#include <batchcast/core/error.hpp>

#include <atomic>
#include <string>

namespace batchcast::inline v0_1::detail {
namespace delivery {

/// `needs_it`: which option of a consumer.
[[gnu::visibility("hidden")]] inline const GpuCode& code_for_gpus(const std::string& needs_it) {
  if (const GpuCode* code = brought_gpu.load(std::memory_order_acquire)) return *code;
  throw InvalidArgument(
      text("batchcast: {} needs code for GPUs, which this program was built without. Add `#include "
           "<batchcast/gpu.hpp>` to one of its source files.",
           needs_it));
}

}  // namespace delivery

BATCHCAST_INLINE Placement settled(Placement placement) {
  if (!placement.is_own_cuda()) return placement;
  return Placement::on_cuda(delivery::code_for_gpus("placement cuda").own_device());
}

BATCHCAST_INLINE std::unique_ptr<Delivery> delivery_for(const ConsumerOptions& options) {
  if (options.placement.is_host()) {
    if (!options.pin) return nullptr;
    return delivery::code_for_gpus("`pin`").make_delivery(options.pin_device, options.log);
  }
  if (options.pin) {
    throw InvalidArgument(
        text("batchcast: `pin` is for consumers in host memory: batches with placement {} are on "
             "the GPU already. Leave it out.",
             options.placement.text()));
  }
  return delivery::code_for_gpus(text("placement {}", options.placement.text()))
      .make_delivery(settled(options.placement).device(), options.log);
}

}  // namespace batchcast::inline v0_1::detail
