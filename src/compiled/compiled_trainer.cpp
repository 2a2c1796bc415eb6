// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Consumer and Checkpoint. What headers bring one by one, the library has whole: who links its
// Consumer links this file, which says so.
#include <batchcast/delivery/gpu_delivery.hpp>
#include <batchcast/starting/start_attach.hpp>
#include <batchcast/trainer/checkpoint.ipp>
#include <batchcast/trainer/consumer.ipp>

namespace batchcast::inline v0_1::detail {
namespace {

[[maybe_unused]] const bool gpu_is_here = bring_gpu();
[[maybe_unused]] const bool start_is_here = bring_start();

}  // namespace
}  // namespace batchcast::inline v0_1::detail
