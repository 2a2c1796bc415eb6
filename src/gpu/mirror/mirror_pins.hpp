// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/host_pin.hpp>

#include <batchcast/core/log.hpp>
#include <batchcast/ring/window.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// The host ring, page-locked once for all mirrors of a producer: the driver refuses to do it
/// twice. It lives as long as the last mirror, and not as long as the memory.
class HostPins {
 public:
  /// Locks the first of the two mappings of each window. The first caller does it, with its GPU,
  /// and the others wait. Where it cannot be done, copies come from pageable memory, and the log
  /// says so.
  void pin(const std::shared_ptr<detail::cuda::Device>& device,
           const std::vector<FieldWindow>& windows, const LogCallback& log);

 private:
  std::once_flag once_;
  std::vector<detail::cuda::HostPin> pins_;
};

}  // namespace batchcast::inline v0_1::detail
