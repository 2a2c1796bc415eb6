// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// What consumer.hpp ends with: attaching, reading, and the group that a launcher tells. gpu.hpp and
// start.hpp bring the rest.
#include <batchcast/consumer/definitions.hpp>
#include <batchcast/launcher/launched_group.ipp>
#include <batchcast/launcher/launcher.ipp>
#include <batchcast/trainer/consumer.ipp>
