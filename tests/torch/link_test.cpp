// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The headers and the library that were found are those of one libtorch.
#include "catch.hpp"

#include <ATen/Version.h>
#include <torch/version.h>

#include <string>

TEST_CASE("the headers and the library are of one version of libtorch", "[torch]") {
  const std::string linked = at::show_config();
  CAPTURE(linked);
  CHECK(linked.find("TORCH_VERSION=" TORCH_VERSION) != std::string::npos);
}
