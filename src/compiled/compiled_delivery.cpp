// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// What a consumer has to do with a GPU.
#include <batchcast/delivery/gpu_delivery.ipp>
#include <batchcast/delivery/release_poller.ipp>
