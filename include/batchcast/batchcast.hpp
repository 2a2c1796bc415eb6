// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// The map, in the order in which data flows.
#include <batchcast/core/language.hpp>

#include <batchcast/core/dtype.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/log.hpp>
#include <batchcast/core/options.hpp>
#include <batchcast/core/schema.hpp>
#include <batchcast/core/view.hpp>

#include <batchcast/data/pipeline.hpp>
#include <batchcast/data/recipe.hpp>
#include <batchcast/data/source.hpp>
#include <batchcast/data/stage.hpp>

#include <batchcast/feeder.hpp>
#include <batchcast/finish_stage.hpp>
#include <batchcast/producer.hpp>

#include <batchcast/batch.hpp>
#include <batchcast/consumer.hpp>
#include <batchcast/gpu.hpp>
#include <batchcast/start.hpp>
