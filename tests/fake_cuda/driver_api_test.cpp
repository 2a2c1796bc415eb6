// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Ours first: driver_api_check.cpp has them the other way round.
#include <batchcast/cuda/driver.hpp>
//
#include <cuda.h>

#include "../catch.hpp"

using batchcast::detail::cuda::Driver;

TEST_CASE("A program may include cuda.h besides the library's own declarations", "[cuda]") {
  const Driver& driver = batchcast::detail::cuda::need_driver();
  const auto device = batchcast::detail::cuda::Device::open(0);
  const batchcast::detail::cuda::Device::Current current(*device);
  ::CUcontext theirs = nullptr;
  REQUIRE(cuCtxGetCurrent(&theirs) == ::CUDA_SUCCESS);
  batchcast::detail::cuda::CUcontext ours = nullptr;
  REQUIRE(driver.ctx_get_current(&ours) == batchcast::detail::cuda::CUDA_SUCCESS);
  CHECK(static_cast<void*>(theirs) == static_cast<void*>(ours));
  CHECK(static_cast<void*>(theirs) == device->context());
}

// The exact versions, whatever cuda.h makes of the names without.
TEST_CASE("Every function of the table is the one of its own name", "[cuda]") {
  const Driver& driver = batchcast::detail::cuda::need_driver();
#define BATCHCAST_SAME(member, symbol, ...) \
  CHECK(reinterpret_cast<void*>(driver.member) == reinterpret_cast<void*>(&::symbol));
  BATCHCAST_CUDA_FUNCTIONS(BATCHCAST_SAME)
#undef BATCHCAST_SAME
}
