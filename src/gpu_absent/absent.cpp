// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// What src/cuda and src/gpu are to the rest of the library, in a build without CUDA.
#include <batchcast/consumer/delivery.hpp>
#include "cuda/device.hpp"
#include "further_ring.hpp"

#include <batchcast/core/error.hpp>

namespace batchcast {
namespace {

constexpr char absent[] =
    "this batchcast was built without CUDA: build it where CUDA's headers are, with "
    "-DBATCHCAST_CUDA=ON";

}  // namespace

namespace cuda {

std::vector<DeviceInfo> list_devices() { return {}; }
std::string why_no_driver() { return absent; }
int driver_version() noexcept { return 0; }

}  // namespace cuda

namespace detail {

std::unique_ptr<FurtherRing> make_device_ring(FurtherRing::Parts parts) {
  throw GpuUnavailable("batchcast: no ring on " + parts.placement.text() + ": " + absent);
}

std::unique_ptr<Delivery> make_delivery(unsigned device) {
  throw GpuUnavailable("batchcast: nothing can be delivered on " +
                       Placement::on_cuda(device).text() + ": " + absent);
}

}  // namespace detail
}  // namespace batchcast
