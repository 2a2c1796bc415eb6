// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cuda/probe.hpp"

#include "cuda/device.hpp"

namespace batchcast::cuda {

Trial try_device(unsigned /*number*/) {
  Trial trial;
  trial.open = why_no_driver();
  return trial;
}

}  // namespace batchcast::cuda
