// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/limits.hpp>
#include <batchcast/ring/spinner.hpp>

#include "../catch.hpp"

#include <cstdint>

using namespace batchcast;

TEST_CASE("a look that is asked for takes no longer than a sleep, however large the number") {
  CHECK(spin_ns_of(0) == 0);
  CHECK(spin_ns_of(50) == 50'000);
  for (const std::uint64_t us : {std::uint64_t{100'000}, std::uint64_t{1} << 54,
                                 std::uint64_t{1} << 62, ~std::uint64_t{0}}) {
    CHECK(spin_ns_of(us) == limits::sleep_ms_max * std::uint64_t{1'000'000});
  }
}
