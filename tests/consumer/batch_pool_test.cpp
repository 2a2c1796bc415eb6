// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "offered_ring.hpp"
#include "ring/child.hpp"

#include <batchcast/consumer/batch_pool.hpp>
#include <batchcast/consumer/host_copy.hpp>
#include <batchcast/core/error.hpp>

#include <sys/socket.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>

using namespace batchcast;
using namespace batchcast::testing;
using detail::BatchPool;
using detail::BatchRecord;

namespace {

/// One end of a door where the producer says nothing.
DoorConnection silent_door() {
  std::array<int, 2> ends{};
  REQUIRE(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) == 0);
  const FileDescriptor other(ends[1]);
  return DoorConnection(FileDescriptor(ends[0]));
}

class Host final : public ReaderHost {
 public:
  bool producer_is_dead() noexcept override { return false; }
  std::string why_revoked() override { return "a test said so"; }
};

/// All that a pool needs of a consumer, over a ring in this process.
class Consuming {
 public:
  explicit Consuming(ConsumerOptions options = {.stream = "s"}) : offer_(ring, options) {}

  /// The next `n` samples, as a batch that shows the ring in place.
  [[nodiscard]] Batch next(std::uint64_t n) {
    Run run;
    REQUIRE(reader.next(n, 0, run) == Next::batch);
    BatchPool::FreshRecord record = pool->take(pool, run, true);
    record->own = false;
    record->leased = true;
    filler_.show(*record, run, false);
    return pool->hand_out(std::move(record));
  }

  OfferedRing ring;

 private:
  MappedOffer offer_;
  Host host_;

 public:
  detail::MappedRing& mapped = *offer_.mapped;
  RingReader reader{mapped.board(), mapped.desk(), mapped.sample_ids(), host_, {}};

 private:
  detail::ProducerLink link_{offer_.process, silent_door()};
  detail::Membership membership_{offer_.options, link_, mapped.board(), reader};
  detail::BatchFiller filler_{mapped};

 public:
  std::shared_ptr<BatchPool> pool =
      std::make_shared<BatchPool>(mapped, reader, membership_, filler_, offer_.process);
};

std::size_t record_of(const Batch& batch) { return BatchRecord::of(batch).number; }

}  // namespace

TEST_CASE("a record is used again once its batch is gone, and another made while it is held") {
  Consuming consumer;
  consumer.ring.produce(20);
  for (int i = 0; i < 3; ++i) CHECK(record_of(consumer.next(2)) == 0);
  const Batch held = consumer.next(2);
  CHECK(record_of(held) == 0);
  CHECK(record_of(consumer.next(2)) == 1);
  CHECK(record_of(consumer.next(2)) == 1);
  CHECK(held.field<std::uint64_t>("value")[0][0] == 6);
}

TEST_CASE("a lease goes back with the last handle of its batch") {
  Consuming consumer;
  consumer.ring.produce(20);
  Batch batch = consumer.next(2);
  Batch another = batch.share();
  CHECK_FALSE(consumer.reader.idle());
  batch = {};
  CHECK_FALSE(consumer.reader.idle());
  CHECK(consumer.pool->has_batches_out());
  another = {};
  CHECK(consumer.reader.idle());
  CHECK_FALSE(consumer.pool->has_batches_out());
}

TEST_CASE("a record that becomes no batch comes back") {
  Consuming consumer;
  {
    const BatchPool::FreshRecord record = consumer.pool->take(consumer.pool, {}, true);
    CHECK(consumer.pool->has_batches_out());
  }
  CHECK_FALSE(consumer.pool->has_batches_out());
}

TEST_CASE("a pool lives as long as the last of its batches") {
  Consuming consumer;
  consumer.ring.produce(20);
  Batch batch = consumer.next(2);
  const std::weak_ptr<BatchPool> pool = consumer.pool;
  consumer.pool.reset();
  CHECK_FALSE(pool.expired());
  CHECK(batch.field<std::uint64_t>("value")[1][0] == 1);
  batch = {};
  CHECK(pool.expired());
  CHECK(consumer.reader.idle());
}

TEST_CASE("of batches in place the oldest is held first, whichever record it has") {
  Consuming consumer;
  consumer.ring.produce(20);
  std::optional<Batch> first = consumer.next(2);
  const Batch second = consumer.next(2);
  first.reset();
  const Batch third = consumer.next(2);  // in the record of the first
  CHECK(record_of(third) < record_of(second));
  const Batch held = consumer.pool->hold_oldest();
  REQUIRE(held);
  CHECK(record_of(held) == record_of(second));
  consumer.pool->make_own(BatchRecord::of(held), 16, true);
  CHECK(record_of(consumer.pool->hold_oldest()) == record_of(third));
}

TEST_CASE("no batch is held where none shows the ring in place") {
  Consuming consumer;
  consumer.ring.produce(20);
  CHECK_FALSE(consumer.pool->hold_oldest());
  const Batch batch = consumer.next(2);
  consumer.pool->leave_place(BatchRecord::of(batch));
  CHECK_FALSE(consumer.pool->hold_oldest());
}

TEST_CASE("kept batches are counted apart in place and as copies, until they are dropped") {
  Consuming consumer;
  consumer.ring.produce(20);
  std::optional<Batch> first = consumer.next(2);
  const Batch second = consumer.next(3);
  CHECK(consumer.pool->kept().batches == 0);
  consumer.pool->make_own(BatchRecord::of(*first), 16, true);
  consumer.pool->leave_place(BatchRecord::of(second));
  consumer.pool->count_kept(BatchRecord::of(second), 24);
  const BatchPool::Kept both = consumer.pool->kept();
  CHECK(both.batches == 2);
  CHECK(both.bytes == 16);
  CHECK(both.copies == 1);
  CHECK(both.copied_bytes == 24);
  CHECK(both.oldest.position == 0);
  first.reset();
  CHECK(consumer.pool->kept().batches == 1);
  CHECK(consumer.pool->kept().oldest.position == 2);
}

TEST_CASE("a batch that became the trainer's own needs no lease, and no place in the stream") {
  Consuming consumer;
  consumer.ring.produce(20);
  const Batch sound = consumer.next(2);
  const Batch torn = consumer.next(2);
  const Batch shown = consumer.next(2);
  consumer.pool->make_own(BatchRecord::of(sound), 16, true);
  consumer.pool->make_own(BatchRecord::of(torn), 16, false);
  CHECK(consumer.reader.status().leases_held == 1);
  consumer.ring.evict();
  CHECK_THROWS_AS(consumer.pool->check(), Revoked);
  CHECK_NOTHROW(sound.check());
  CHECK_THROWS_AS(torn.check(), Revoked);
  CHECK_THROWS_AS(shown.check(), Revoked);
}

TEST_CASE("a copy in host memory is the caller's own, and holds no lease") {
  Consuming consumer;
  consumer.ring.produce(20);
  Batch copy;
  {
    const Batch batch = consumer.next(3);
    copy = detail::copy_to_host(batch);
    CHECK(copy.field<std::uint64_t>("value").data() != batch.field<std::uint64_t>("value").data());
    CHECK_FALSE(batch.writable());
  }
  CHECK(consumer.reader.idle());
  CHECK(copy.writable());
  CHECK(copy.size() == 3);
  CHECK(copy.field<std::uint64_t>("value")[2][0] == 2);
  consumer.ring.evict();
  CHECK_NOTHROW(copy.check());
}

TEST_CASE("a forked child that drops a batch gives nothing back") {
  Consuming consumer;
  consumer.ring.produce(20);
  Batch batch = consumer.next(2);
  CHECK(in_child([&] {
          batch = {};
          return consumer.pool->has_batches_out() ? 0 : 1;
        }).exited_with(0));
  CHECK_FALSE(consumer.reader.idle());
}
