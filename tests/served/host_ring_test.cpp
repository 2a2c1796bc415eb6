// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"

#include "served/host_ring.hpp"

#include <batchcast/core/bytes_text.hpp>

#include <cstring>
#include <memory>
#include <variant>
#include <vector>

using namespace batchcast;

namespace {

ProducerOptions small_stream() {
  ProducerOptions options;
  options.stream = "s";
  options.schema = {{"value", DType::u64}};
  options.memory = 64 << 10;
  options.samples_per_epoch = 50;
  return options;
}

/// Lends up to n samples, writes their positions, and publishes them.
std::uint64_t produce(detail::HostRing& ring, std::uint64_t n) {
  LoanContents loan;
  if (ring.lend(n, 0, loan) != Claim::granted) return 0;
  for (std::uint64_t p = loan.position; p < loan.position + loan.size; ++p) {
    std::memcpy(ring.data(0, p), &p, sizeof p);
  }
  ring.publish(loan);
  return loan.size;
}

}  // namespace

TEST_CASE("one process has several host rings, each with samples and consumers of its own") {
  const ProducerOptions options = small_stream();
  detail::HostRing first({.options = options});
  detail::HostRing second({.options = options, .first_consumer_id = 1'000});
  CHECK(produce(first, 20) == 20);
  CHECK(first.writer().status().published == 20);
  CHECK(second.writer().status().published == 0);
  CHECK(produce(second, 7) == 7);

  AdmitRequest request;
  request.name = "t";
  detail::ServedRing& ring = second;
  const auto admitted = ring.admit(request, std::make_shared<Desk>());
  REQUIRE(std::holds_alternative<Admitted>(admitted));
  CHECK(std::get<Admitted>(admitted).consumer_id == 1'000);
  CHECK(first.writer().trainers_here() == 0);
  CHECK(second.writer().trainers_here() == 1);
  CHECK(first.board_segment().fd() != second.board_segment().fd());
}

TEST_CASE("a host ring offers its segments, and lays samples no further apart than is cheap") {
  const ProducerOptions options = small_stream();
  detail::HostRing ring({.options = options, .strides = {24}});
  Welcome welcome;
  std::vector<int> descriptors;
  ring.offer(welcome, descriptors);
  CHECK(welcome.placement == "host");
  CHECK(ring.id() == "host");
  CHECK(descriptors.size() == 2);
  CHECK(welcome.segment_bytes ==
        std::vector{ring.plan().fields[0].segment_bytes(), ring.plan().fields[1].segment_bytes()});
  // 24 bytes for each 8 would cost the ring more than the tenth that padding may.
  CHECK(ring.windows()[0].stride_bytes == 8);
  CHECK(ring.memory_option_for(1) ==
        "--memory " + memory_argument(memory_for({{"value", DType::u8, {24}}, ring.fields()[1]}, 1,
                                                 ring.plan().granularity)));
}
