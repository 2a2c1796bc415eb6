// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// Streams of what torch's loaders and datasets make: `serve(*loader, …)`. This is a producer, and
// needs batchcast::batchcast beside libtorch.
#include <batchcast/core/language.hpp>

#include <batchcast/batchcast.hpp>
#include <batchcast/torch.hpp>
#include <batchcast/torch/serve.hpp>
