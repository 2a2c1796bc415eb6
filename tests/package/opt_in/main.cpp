// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// opt_in STREAM COMMAND: asks for what only gpu.hpp and start.hpp bring, and says what came of
// each. This file includes neither; gpu.cpp and start.cpp beside it do, where they are linked.
#include <batchcast/consumer.hpp>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

namespace {

void attempt(const char* what, batchcast::ConsumerOptions options) {
  std::string outcome = "attached";
  try {
    const batchcast::Consumer consumer(std::move(options));
  } catch (const batchcast::InvalidArgument& error) {
    outcome = std::string("InvalidArgument: ") + error.what();
  } catch (const std::exception& error) {
    outcome = error.what();
  }
  std::printf("%s: %s\n", what, outcome.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  attempt("placement", {.stream = argv[1], .placement = "cuda:0"});
  attempt("own GPU", {.stream = argv[1], .placement = "cuda"});
  attempt("pin", {.stream = argv[1], .pin = true});
  attempt("start",
          {.stream = "package-opt-in",
           .start = {
               .source = "synthetic:8", .memory = 1 << 20, .idle_exit_s = 1, .command = argv[2]}});
  attempt("neither", {.stream = argv[1]});
  return 0;
}
