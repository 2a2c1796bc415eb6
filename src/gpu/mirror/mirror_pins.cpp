// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "gpu/mirror/mirror_pins.hpp"

#include <batchcast/core/error.hpp>

#include <string>

namespace batchcast::inline v0_1::detail {

void HostPins::pin(const std::shared_ptr<detail::cuda::Device>& device,
                   const std::vector<FieldWindow>& windows, const LogCallback& log) {
  std::call_once(once_, [&] {
    try {
      for (const FieldWindow& window : windows) {
        pins_.emplace_back(device, detail::cuda::HostPin::Range{
                                       window.base, window.capacity * window.stride_bytes, false});
      }
    } catch (const Error& error) {
      if (!log) return;
      log(LogLevel::warning, text("the host ring could not be page-locked: copies to GPUs are "
                                  "slower, and each takes a processor's time. {}",
                                  error.what()));
    }
  });
}

}  // namespace batchcast::inline v0_1::detail
