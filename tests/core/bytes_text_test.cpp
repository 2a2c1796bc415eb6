// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include <batchcast/core/bytes_in.hpp>
#include <batchcast/core/bytes_text.hpp>

#include <cstdint>

using batchcast::bytes_in;
using batchcast::bytes_text;
using batchcast::memory_argument;

TEST_CASE("amounts of memory have units") {
  CHECK(bytes_text(0) == "0 bytes");
  CHECK(bytes_text(1023) == "1023 bytes");
  CHECK(bytes_text(1024) == "1.0 KiB");
  CHECK(bytes_text(std::uint64_t{3} << 19) == "1.5 MiB");
  CHECK(bytes_text(std::uint64_t{5} << 28) == "1.25 GiB");
}

TEST_CASE("an amount to be given to --memory is never too little") {
  CHECK(memory_argument(1) == "1KiB");
  CHECK(memory_argument(101'000) == "99KiB");
  CHECK(memory_argument(4096) == "4KiB");
  CHECK(memory_argument(4097) == "5KiB");
  CHECK(memory_argument(std::uint64_t{16} << 20) == "16MiB");
  CHECK(memory_argument((std::uint64_t{16} << 20) + 1) == "17MiB");
  CHECK(memory_argument(~std::uint64_t{0}) == "17592186044416MiB");
}

TEST_CASE("an amount of memory is read in any of its units") {
  CHECK(bytes_in("4096") == 4096);
  CHECK(bytes_in("12b") == 12);
  CHECK(bytes_in("64k") == 64 << 10);
  CHECK(bytes_in("64KiB") == 64 << 10);
  CHECK(bytes_in("64kB") == 64'000);
  CHECK(bytes_in("1.5MiB") == 3 << 19);
  CHECK(bytes_in("2GB") == 2'000'000'000);
  CHECK(bytes_in("1t") == std::uint64_t{1} << 40);
  for (const char* none :
       {"", "k", "12x", "12kx", "12i", "12ki", "0", "-1", "nan", "1e30", "9e9g"}) {
    INFO(none);
    CHECK_FALSE(bytes_in(none));
  }
}
