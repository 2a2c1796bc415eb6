// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// libtorch's logging has a CHECK of its own, which ends the process; Catch's takes its place by
// coming second. The compiler is told to read this before every file of this folder.
#include <torch/torch.h>

#include "catch.hpp"
