// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "process.hpp"
#include "session.hpp"

#include <signal.h>

#include <exception>
#include <string>

int main(int argc, char** argv) {
  ::signal(SIGPIPE, SIG_IGN);  // a child may be dead before it reads
  try {
    if (const auto code = batchcast::testing::run_role(argc, argv)) return *code;
  } catch (const std::exception& error) {
    batchcast::testing::say(std::string("threw ") + error.what());
    return 98;
  }
  return batchcast::testing::run_tests(argc, argv);
}
