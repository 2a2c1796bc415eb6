// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Consumer and Checkpoint. What headers bring one by one, the library has whole: each file that
// includes consumer.hpp for the library links this one, which says so.
#include <batchcast/delivery/gpu_delivery.hpp>
#include <batchcast/starting/start_attach.hpp>
#include <batchcast/trainer/checkpoint.ipp>
#include <batchcast/trainer/consumer.ipp>

namespace batchcast::inline v0_1::detail {

bool library_brings() noexcept { return bring_gpu() && bring_start(); }

}  // namespace batchcast::inline v0_1::detail
