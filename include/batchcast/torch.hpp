// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// For trainers that use libtorch, 1.13 or 2.x: tensors over batches, torch's own shapes of a data
// loader, and streams of what torch's loaders make. Core never includes torch.
#include <batchcast/adapt/shared_data_loader.hpp>
#include <batchcast/adapt/shared_dataset.hpp>
#include <batchcast/adapt/torch_batch.hpp>
#include <batchcast/adapt/torch_serve.hpp>
#include <batchcast/adapt/torch_tensor.hpp>
#include <batchcast/batchcast.hpp>
