// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

// libtorch's logging has a CHECK of its own, which ends the process: the tests keep Catch's.
#include "catch.hpp"
#pragma push_macro("CHECK")
#include <torch/torch.h>
#pragma pop_macro("CHECK")
