// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// Batches on a GPU (ConsumerOptions::placement), or page-locked for one (`pin`). One file of a
// trainer that asks for either includes this header; consumer.hpp alone has no code that calls
// CUDA's driver. Programs that link the library have it, and so has torch.hpp.
#include <batchcast/core/language.hpp>

#ifndef BATCHCAST_COMPILED
#include <batchcast/delivery/definitions.hpp>
#endif
