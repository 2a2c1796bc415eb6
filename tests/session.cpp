// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "session.hpp"

#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

int batchcast::testing::run_tests(int argc, char** argv) {
  return Catch::Session().run(argc, argv);
}
