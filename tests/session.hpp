// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::testing {

/// Runs the tests that the arguments of main() ask for, all by default; returns its exit code.
int run_tests(int argc, char** argv);

}  // namespace batchcast::testing
