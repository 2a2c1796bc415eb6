// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// A plug-in that shows all its symbols, and asks for what only start.hpp brings. start.cpp beside
// it includes that, where it is linked.
#include <batchcast/consumer.hpp>

#include <cstdio>
#include <exception>

extern "C" void start_from_plugin(const char* name, const char* stream, const char* command) {
  try {
    const batchcast::Consumer consumer(
        {.stream = stream,
         .start = {
             .source = "synthetic:8", .memory = 1 << 20, .idle_exit_s = 1, .command = command}});
    std::printf("%s: attached\n", name);
  } catch (const std::exception& error) {
    std::printf("%s: %s\n", name, error.what());
  }
}
