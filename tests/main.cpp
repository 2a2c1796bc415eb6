// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#define CATCH_CONFIG_RUNNER
#include "catch.hpp"

int main(int argc, char** argv) { return Catch::Session().run(argc, argv); }
