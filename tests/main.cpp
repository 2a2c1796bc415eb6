// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "session.hpp"

int main(int argc, char** argv) { return batchcast::testing::run_tests(argc, argv); }
