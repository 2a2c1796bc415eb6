// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// For trainers that use libtorch, 1.13 or 2.x: tensors over batches, and torch's own shapes of a
// data loader. Headers over the trainer's own libtorch; nothing of batchcast is linked. Streams of
// what torch's loaders make are in torch_serve.hpp.
#include <batchcast/core/language.hpp>

#include <batchcast/consumer.hpp>
#include <batchcast/gpu.hpp>
#include <batchcast/start.hpp>
#include <batchcast/torch/batch.hpp>
#include <batchcast/torch/language.hpp>
#include <batchcast/torch/ragged.hpp>
#include <batchcast/torch/shared_data_loader.hpp>
#include <batchcast/torch/shared_dataset.hpp>
#include <batchcast/torch/tensor.hpp>
