// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A new kernel: `extern const Kernel name;`, defined in a file of its own, and a line in the table.
#include "kernels.hpp"

#include <cstring>

namespace batchcast::fake_cuda {

extern const Kernel finish_kernel;

namespace {

/// For tests of the fake itself: fills `bytes` at `to` with `value`.
constexpr std::size_t fill_parameters[] = {sizeof(std::uint64_t), sizeof(std::uint64_t),
                                           sizeof(unsigned char)};

void run_fill(const Launch&, void* const* parameters) {
  const auto to = *static_cast<const std::uint64_t*>(parameters[0]);
  const auto bytes = *static_cast<const std::uint64_t*>(parameters[1]);
  std::memset(device_write(to, bytes), *static_cast<const unsigned char*>(parameters[2]), bytes);
}

constexpr Kernel fill = {"fake_fill", fill_parameters, run_fill};

constexpr const Kernel* table[] = {
    &fill,
    &finish_kernel,
};

}  // namespace

std::span<const Kernel* const> kernels() { return table; }

}  // namespace batchcast::fake_cuda
