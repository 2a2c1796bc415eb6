// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "../catch.hpp"
#include "../fake_cuda/control.hpp"
#include "process.hpp"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace batchcast::testing {

/// The fake driver for this test's processes, whose memory is counted apart from all others'.
class Gpus {
 public:
  explicit Gpus(const char* settings) {
    static int number = 0;
    const std::string session =
        "device-test-" + std::to_string(::getpid()) + "-" + std::to_string(++number);
    ::setenv("BATCHCAST_FAKE_CUDA_SESSION", session.c_str(), 1);
    ::setenv("BATCHCAST_FAKE_CUDA", settings, 1);
    batchcast_fake_cuda_configure(nullptr);
  }
  ~Gpus() {
    CHECK(eventually([] { return batchcast_fake_cuda_used_bytes(0) == 0; }));
    ::unsetenv("BATCHCAST_FAKE_CUDA_SESSION");
    ::unsetenv("BATCHCAST_FAKE_CUDA");
  }
  Gpus(const Gpus&) = delete;
  Gpus& operator=(const Gpus&) = delete;
};

}  // namespace batchcast::testing
