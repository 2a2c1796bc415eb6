// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "offered_ring.hpp"
#include "ring/child.hpp"

#include <batchcast/core/error.hpp>

#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;
using Catch::Contains;

namespace {

using Offer = OfferedRing::Offer;

/// Why an offer is refused after that change to it; empty if it is not.
std::string refusal_of(const std::function<void(Offer&)>& change) {
  OfferedRing ring;
  Offer offer = ring.offer();
  change(offer);
  const ConsumerOptions options = {.stream = "s"};
  const detail::AttachedProcess process("s");
  try {
    const detail::MappedRing mapped(options, process, nullptr, offer.welcome, offer.descriptors);
  } catch (const Refused& error) {
    return error.what();
  }
  return {};
}

/// A trainer's write into a batch.
void write_to(const FieldWindow& window, std::uint64_t position, std::uint64_t value) {
  *reinterpret_cast<volatile std::uint64_t*>(window.at(position)) = value;
}

Run run_at(std::uint64_t position, std::uint64_t size) {
  Run run;
  run.position = position;
  run.size = size;
  return run;
}

}  // namespace

TEST_CASE("a mapped ring shows what the producer publishes, in one piece across its end too") {
  OfferedRing ring;
  const MappedOffer consumer(ring);
  const std::uint64_t last = ring.capacity() - 1;
  CHECK(consumer.mapped->schema() == Schema{{"value", DType::u64}});
  CHECK(ring.produce(ring.capacity()) == ring.capacity());
  CHECK(consumer.mapped->board().head().consumers_max > 0);
  for (const auto* windows : {&consumer.mapped->shown(), &consumer.mapped->windows()}) {
    CHECK(windows->size() == 2);  // the ids are a field, the last one
    for (const FieldWindow& window : *windows) {
      const auto across = values_at(window, last, 3);
      CHECK(std::vector(across.begin(), across.end()) == std::vector<std::uint64_t>{last, 0, 1});
    }
  }
  CHECK_FALSE(consumer.mapped->has_gaps());
  CHECK_FALSE(consumer.mapped->has_gap(0, last, 3));
}

TEST_CASE("a welcome that does not fit its descriptors, its board or the request is refused") {
  CHECK(refusal_of([](Offer&) {}).empty());
  CHECK_THAT(refusal_of([](Offer& offer) { offer.descriptors.pop_back(); }),
             Contains("carried 4 file descriptors instead of 5"));
  CHECK_THAT(refusal_of([](Offer& offer) { offer.welcome.segment_kinds.resize(1); }),
             Contains("one kind for each segment"));
  CHECK_THAT(refusal_of([](Offer& offer) { offer.welcome.placement = "GPU-1"; }),
             Contains("offers its samples in GPU-1, not on the host"));
  CHECK_THAT(refusal_of([](Offer& offer) {
               offer.welcome.segment_kinds = {SegmentKind::cuda_fd, SegmentKind::memfd};
             }),
             Contains("memory of a GPU where host memory is due"));
  CHECK_THAT(refusal_of([](Offer& offer) { offer.welcome.consumer_index = 1'000'000; }),
             Contains("a desk that cannot be"));
  CHECK_THAT(refusal_of([](Offer& offer) {
               offer.welcome.segment_bytes.pop_back();
               offer.descriptors.pop_back();
             }),
             Contains("does not fit its fields"));
  CHECK_THAT(refusal_of([](Offer& offer) { offer.welcome.segment_bytes[0] *= 2; }),
             Contains("`value`") && Contains("another size"));
  CHECK_FALSE(refusal_of([](Offer& offer) { offer.welcome.board_bytes /= 2; }).empty());
  CHECK_FALSE(refusal_of([](Offer& offer) { offer.welcome.desk_bytes *= 2; }).empty());
}

TEST_CASE("memory that its producer could shrink or others could write is refused") {
  for (const std::size_t descriptor : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
    INFO(descriptor);
    CHECK_FALSE(refusal_of([descriptor](Offer& offer) {
                  const std::uint64_t bytes =
                      std::vector{offer.welcome.board_bytes, offer.welcome.desk_bytes,
                                  std::uint64_t{0}, offer.welcome.segment_bytes[0]}[descriptor];
                  const Segment unsealed = Segment::create_small("unsealed", bytes);
                  offer.descriptors[descriptor] =
                      FileDescriptor(::fcntl(unsealed.fd(), F_DUPFD_CLOEXEC, 3));
                }).empty());
  }
}

TEST_CASE("a trainer's write stays with it, and copies are made of what was published") {
  OfferedRing ring;
  const MappedOffer writer(ring), reader(ring);
  ring.produce(20);
  const FieldWindow& shown = writer.mapped->shown()[0];
  CHECK_FALSE(writer.mapped->is_private(run_at(3, 1), {}));
  write_to(shown, 3, 777);
  CHECK(values_at(shown, 3, 1)[0] == 777);
  CHECK(writer.mapped->writes().written());
  CHECK(writer.mapped->is_private(run_at(3, 1), {}));
  CHECK(values_at(writer.mapped->windows()[0], 3, 1)[0] == 3);
  CHECK(values_at(reader.mapped->shown()[0], 3, 1)[0] == 3);
  CHECK_FALSE(reader.mapped->writes().written());
}

TEST_CASE("batches are copies from the start where the consumer asks for that") {
  OfferedRing ring;
  CHECK_FALSE(MappedOffer(ring).mapped->copies());
  CHECK(MappedOffer(ring).mapped->writes().possible());
  ConsumerOptions at_free_pace;
  at_free_pace.pace = Pace::free;
  ConsumerOptions as_copies;
  as_copies.access = Access::private_copy;
  for (const ConsumerOptions& wanted : {at_free_pace, as_copies}) {
    const MappedOffer consumer(ring, wanted);
    CHECK(consumer.mapped->copies());
    // The trainer gets no pointer into the ring.
    CHECK_FALSE(consumer.mapped->writes().possible());
  }
}

TEST_CASE("the addresses of a run are its samples', and mapped memory is counted once") {
  OfferedRing ring;
  const MappedOffer consumer(ring);
  const detail::MappedRing& mapped = *consumer.mapped;
  REQUIRE(mapped.mappings() == 2);
  std::uint64_t bytes = 0;
  for (const std::uint64_t segment : consumer.offer.welcome.segment_bytes) bytes += segment;
  CHECK(mapped.mapped_bytes() == bytes);
  const AddressRange range = mapped.addresses_of(0, run_at(ring.capacity() + 5, 7), {});
  CHECK(range.begin == reinterpret_cast<std::uintptr_t>(mapped.shown()[0].at(5)));
  CHECK(range.end - range.begin == 7 * sizeof(std::uint64_t));
}

TEST_CASE("a ring that is given up leaves what the trainer keeps, and nothing of the stream's") {
  OfferedRing ring;
  const MappedOffer consumer(ring);
  detail::MappedRing& mapped = *consumer.mapped;
  ring.produce(20);
  write_to(mapped.shown()[0], 3, 777);
  const BoardView board = mapped.board();
  CHECK(board.head().consumers_max != 0);
  mapped.reserve([&](std::size_t mapping) {
    return mapping == 0 ? std::vector{mapped.addresses_of(0, run_at(3, 1), {})}
                        : std::vector<AddressRange>();
  });
  CHECK(values_at(mapped.shown()[0], 3, 2)[0] == 777);
  CHECK(board.head().consumers_max == 0);  // zeros lie there
  CHECK(ring.produce(20) == 20);
}

TEST_CASE("in a forked child there is no desk, and the ring ends without its parent's") {
  OfferedRing ring;
  MappedOffer consumer(ring);
  Desk& desk = consumer.mapped->desk();
  CHECK(in_child([&] {
          desk.samples.store(5);
          return 0;
        }).died_of(SIGSEGV));
  CHECK(in_child([&] {
          consumer.mapped.reset();
          return 0;
        }).exited_with(0));
  CHECK(desk.samples.load() == 0);
}
