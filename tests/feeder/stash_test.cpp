// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/consumer.hpp>
#include <batchcast/core/clock.hpp>
#include <batchcast/core/error.hpp>
#include <batchcast/core/sanitizer.hpp>
#include <batchcast/data/random.hpp>
#include <batchcast/feeder.hpp>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "temporary_folder.hpp"

using namespace batchcast;
using Catch::Matchers::Contains;

namespace {

std::uint64_t length_at(std::uint64_t epoch, std::uint64_t index) {
  return detail::mix64(detail::fold_key(epoch, index)) % 40;  // 0 among them
}
std::int32_t token_at(std::uint64_t epoch, std::uint64_t index, std::uint64_t i) {
  return static_cast<std::int32_t>(detail::mix64(detail::fold_key(epoch, index) + i));
}

// Sanitizers multiply what a sample costs beside its making: 1% of the time without them, 5% with
// AddressSanitizer.
#ifdef BATCHCAST_THREAD_SANITIZER
constexpr double least_rate = 0.85;
#elif defined(__SANITIZE_ADDRESS__)
constexpr double least_rate = 0.9;
#else
constexpr double least_rate = 0.95;
#endif

void sleep_us(std::uint64_t us) { std::this_thread::sleep_for(std::chrono::microseconds(us)); }

/// Polls until `reached`, at most 10 s.
bool comes_true(const std::function<bool()>& reached) {
  for (int i = 0; i < 10'000; ++i) {
    if (reached()) return true;
    sleep_us(1000);
  }
  return false;
}

/// What a test does while a sample is made, before its length is known.
using Meanwhile = std::function<void(std::uint64_t epoch, std::uint64_t index)>;
/// Other lengths than `length_at`.
using LengthOf = std::function<std::uint64_t(std::uint64_t index)>;

/// Samples of different lengths, which making tells; or in place, where `knows` is set.
class RaggedMaker final : public SampleMaker {
 public:
  explicit RaggedMaker(std::uint64_t samples, Meanwhile meanwhile = {}, LengthOf length = {})
      : meanwhile_(std::move(meanwhile)), length_(std::move(length)), samples_(samples) {}
  const Schema& schema() const noexcept override { return schema_; }
  std::uint64_t samples_per_epoch() const noexcept override { return samples_; }
  std::string recipe_json() const override { return "{}"; }
  std::unique_ptr<SampleWorker> worker() const override { return std::make_unique<Worker>(*this); }
  bool fills_in_place() const noexcept override { return in_place; }
  std::shared_ptr<const RowLengths> lengths(std::string_view) const override {
    std::vector<std::uint32_t> rows;
    for (std::uint64_t id = 0; id < samples_; ++id) rows.push_back(of(0, id));
    return std::make_shared<StoredLengths>(rows);
  }

  /// Set before the feeder starts. In place all epochs are as the first one.
  bool in_place = false;
  bool makes_apart = true;
  /// A sample whose rows the ring cannot hold is replaced by this length.
  std::optional<std::uint64_t> substitutes = {};

  std::uint64_t made() const { return made_.load(); }

 private:
  std::uint32_t of(std::uint64_t epoch, std::uint64_t index) const {
    if (length_) return static_cast<std::uint32_t>(length_(index));
    return static_cast<std::uint32_t>(length_at(in_place ? 0 : epoch, index));
  }
  class Worker final : public SampleWorker {
   public:
    explicit Worker(const RaggedMaker& maker) : maker_(maker) {}
    void make(const SampleSlots& slots) override {
      std::uint64_t row = 0;
      for (std::size_t i = 0; i < slots.size(); ++i) {
        const std::uint64_t index = slots.index_in_epoch + i;
        for (std::uint64_t at = 0; at < maker_.of(0, index); ++at, ++row) {
          write(slots.fields[0].data + row * slots.fields[0].stride_bytes,
                token_at(slots.epoch, index, at));
        }
        write(slots.fields[1].data + i * slots.fields[1].stride_bytes, index * 3);
        slots.sample_ids[i] = index;
      }
      maker_.made_ += slots.size();
    }
    void make_apart(std::uint64_t epoch, std::uint64_t index, MadeSample& made) override {
      if (!maker_.makes_apart) return SampleWorker::make_apart(epoch, index, made);
      if (maker_.meanwhile_) maker_.meanwhile_(epoch, index);
      std::uint64_t rows = maker_.of(epoch, index);
      try {
        made.set_rows(0, rows);
      } catch (const BadSample& bad) {
        if (!maker_.substitutes) {
          throw BadSample(text("batchcast: sample {}, `s{}`: {}.", index, index, bad.what()));
        }
        rows = *maker_.substitutes;
        made.set_rows(0, rows);
      }
      const std::span<std::byte> tokens = made.make(0, rows * 4);
      for (std::uint64_t i = 0; i < rows; ++i) {
        write(tokens.data() + i * 4, token_at(epoch, index, i));
      }
      write(made.make(1, 8).data(), index * 3);
      made.sample_id = index;
      ++maker_.made_;
    }
    MakerTimes times() const noexcept override { return {}; }

   private:
    template <class T>
    static void write(std::byte* to, T value) {
      std::memcpy(to, &value, sizeof value);
    }
    const RaggedMaker& maker_;
  };

  Schema schema_ = {{"tokens", DType::i32, Axis{"tokens"}}, {"triple", DType::u64, {}}};
  Meanwhile meanwhile_;
  LengthOf length_;
  std::uint64_t samples_;
  mutable std::atomic<std::uint64_t> made_{0};
};

struct Ring {
  std::uint64_t epochs = 1;
  std::uint64_t rows = 4096;
  std::uint64_t memory = 256 << 10;
};

struct Stream {
  Stream(const RaggedMaker& maker, const Ring& ring) : producer(options(maker, ring)) {}
  ProducerOptions options(const RaggedMaker& maker, const Ring& ring) const {
    ProducerOptions result = producer_options(maker, "stashed", true);
    result.epochs = ring.epochs;
    result.memory = ring.memory;
    result.rows = {{"tokens", ring.rows}};
    result.linger_ms = 0;
    result.directory = directory.path();
    result.log = [](LogLevel, std::string_view) {};
    return result;
  }
  Consumer consumer(std::uint64_t batch_size, Join join = Join::rewind,
                    std::uint64_t cursor = 0) const {
    ConsumerOptions result;
    result.stream = "stashed";
    result.batch_size = batch_size;
    result.directory = directory.path();
    result.join = join;
    result.cursor = cursor;
    return Consumer(result);
  }
  testing::TemporaryFolder directory;
  Producer producer;
};

/// Samples of the batch that are not what the maker makes there.
std::uint64_t wrong_in(const Batch& batch, std::uint64_t samples_per_epoch,
                       const LengthOf& length = {}) {
  const auto tokens = batch.rows<std::int32_t>("tokens");
  const auto triple = batch.field<std::uint64_t>("triple");
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::uint64_t epoch = (batch.position() + i) / samples_per_epoch;
    const std::uint64_t index = (batch.position() + i) % samples_per_epoch;
    const auto sample = tokens[i].span();
    bool right = sample.size() == (length ? length(index) : length_at(epoch, index)) &&
                 triple[i][0] == index * 3 && batch.sample_ids()[i] == index;
    for (std::size_t at = 0; right && at < sample.size(); ++at) {
      right = sample[at] == token_at(epoch, index, at);
    }
    wrong += right ? 0 : 1;
  }
  return wrong;
}

/// A door that samples stand at while a test keeps it shut.
class Door {
 public:
  void pass() {
    while (shut_.load()) sleep_us(200);
  }
  void open() { shut_ = false; }

 private:
  std::atomic<bool> shut_{true};
};

}  // namespace

TEST_CASE("samples of lengths that making tells come in order, and once", "[rows][stash]") {
  const unsigned workers = GENERATE(1U, 4U, 0U);
  const std::uint64_t n = 3'001;
  const RaggedMaker maker(n, [](std::uint64_t epoch, std::uint64_t index) {
    if (detail::mix64(epoch + 7 * index) % 50 == 0) sleep_us(500);
  });
  Stream stream(maker, {.epochs = 2, .rows = 600});
  Feeder feeder(stream.producer, maker, {workers, std::uint64_t{4} << 10});
  Consumer consumer = stream.consumer(13);
  std::uint64_t next = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const Batch& batch : consumer) {
      REQUIRE(batch.position() == next);
      REQUIRE(wrong_in(batch, n) == 0);
      next += batch.size();
    }
  }
  CHECK(next == 2 * n);
  CHECK(feeder.wait(5'000));
  CHECK(maker.made() == 2 * n);  // no sample was made for nothing
  CHECK(feeder.stats().stash_bytes == 0);
}

TEST_CASE("samples of known lengths are made where their rows lie", "[rows][stash]") {
  const std::uint64_t n = 3'001;
  RaggedMaker maker(n);
  maker.in_place = true;
  Stream stream(maker, {.epochs = 1, .rows = 600});
  Feeder feeder(stream.producer, maker, {3});
  Consumer consumer = stream.consumer(13);
  std::uint64_t next = 0;
  for (const Batch& batch : consumer) {
    REQUIRE(batch.position() == next);
    REQUIRE(wrong_in(batch, n) == 0);
    next += batch.size();
  }
  CHECK(next == n);
  CHECK(feeder.wait(5'000));
}

TEST_CASE("workers go on while a sample whose turn it is takes long", "[rows][stash]") {
  Door door;
  const RaggedMaker maker(1000, [&](std::uint64_t, std::uint64_t index) {
    if (index == 0) door.pass();
  });
  Stream stream(maker, {});
  Feeder feeder(stream.producer, maker, {2, std::uint64_t{1} << 20});
  Consumer consumer = stream.consumer(8);
  // One worker makes the first sample. The other one makes all others that the ring has places for.
  CHECK(comes_true([&] {
    return maker.made() + 1 >= std::min<std::uint64_t>(1000, stream.producer.capacity());
  }));
  CHECK(feeder.stats().stash_bytes > 0);
  CHECK(stream.producer.stats().published == 0);
  door.open();
  std::uint64_t next = 0;
  for (const Batch& batch : consumer) {
    REQUIRE(wrong_in(batch, 1000) == 0);
    next += batch.size();
  }
  CHECK(next == 1000);
  CHECK(feeder.wait(5'000));
  CHECK(feeder.stats().stash_bytes == 0);
}

TEST_CASE("only a full stash makes workers wait, and never the first sample", "[rows][stash]") {
  Door door;
  const LengthOf hundred = [](std::uint64_t) { return std::uint64_t{100}; };
  const RaggedMaker maker(
      1000,
      [&](std::uint64_t, std::uint64_t index) {
        if (index == 0) door.pass();
      },
      hundred);
  Stream stream(maker, {.rows = 1000});
  constexpr std::uint64_t sample_bytes = 100 * 4 + 8;
  Feeder feeder(stream.producer, maker, {3, 10 * sample_bytes});
  Consumer consumer = stream.consumer(8);
  // Ten samples fit, and each of the two other workers has one more.
  CHECK(comes_true([&] { return maker.made() == 12; }));
  sleep_us(50'000);
  CHECK(maker.made() == 12);
  CHECK(feeder.stats().stash_bytes <= 12 * sample_bytes);
  // Waiting at a full stash counts as waiting, and no consumer holds the stream up by it.
  CHECK(comes_true([&] { return feeder.stats().waiting > 0.5; }));
  for (const ConsumerInfo& one : stream.producer.stats().consumers) {
    CHECK(one.state != ConsumerState::stalled);
  }
  door.open();
  std::uint64_t next = 0;
  for (const Batch& batch : consumer) {
    REQUIRE(wrong_in(batch, 1000, hundred) == 0);
    next += batch.size();
  }
  CHECK(next == 1000);
  CHECK(feeder.wait(5'000));
}

TEST_CASE("a stash that holds no sample at all holds no stream up", "[rows][stash]") {
  const RaggedMaker maker(500);
  Stream stream(maker, {.rows = 60});
  Feeder feeder(stream.producer, maker, {3, std::uint64_t{0}});
  Consumer consumer = stream.consumer(1);
  std::uint64_t next = 0;
  for (const Batch& batch : consumer) {
    REQUIRE(wrong_in(batch, 500) == 0);
    next += batch.size();
  }
  CHECK(next == 500);
  CHECK(feeder.wait(5'000));
}

TEST_CASE("a sample that cannot be made fails the stream while others are stashed",
          "[rows][stash]") {
  Door door;
  const RaggedMaker maker(1000, [&](std::uint64_t, std::uint64_t index) {
    if (index != 0) return;
    door.pass();
    throw BadSample("batchcast: sample 0 is broken: no eyes");
  });
  Stream stream(maker, {});
  Feeder feeder(stream.producer, maker, {2});
  Consumer consumer = stream.consumer(8);
  CHECK(comes_true([&] { return maker.made() > 20; }));
  door.open();
  CHECK_THROWS_WITH(([&] {
                      while (consumer.next()) {
                      }
                    }()),
                    Contains("no eyes"));
  CHECK_THROWS_AS(feeder.wait(5'000), BadSample);
  CHECK(feeder.stats().stash_bytes == 0);
}

TEST_CASE("a sample with more rows than the ring is bad, and may be substituted", "[rows][stash]") {
  const bool substitutes = GENERATE(false, true);
  const LengthOf length = [](std::uint64_t index) -> std::uint64_t {
    return index == 77 ? 101 : index == 50 ? 100 : index % 3;
  };
  RaggedMaker maker(200, {}, length);
  if (substitutes) maker.substitutes = 2;
  Stream stream(maker, {.rows = 100});
  Consumer consumer = stream.consumer(1);
  Feeder feeder(stream.producer, maker, {4});
  std::uint64_t seen = 0;
  const auto read = [&] {
    for (const Batch& batch : consumer) {
      REQUIRE(wrong_in(batch, 200,
                       [&](std::uint64_t index) { return index == 77 ? 2 : length(index); }) == 0);
      ++seen;
    }
  };
  if (substitutes) {
    read();
    CHECK(seen == 200);
    CHECK(feeder.wait(5'000));
    return;
  }
  CHECK_THROWS_WITH(read(),
                    Contains("sample 77") && Contains("101 rows") && Contains("--rows tokens=101"));
  CHECK(seen <= 77);
  CHECK_THROWS_AS(feeder.wait(5'000), BadSample);
}

TEST_CASE("a sample with more rows than the ring is bad where it is made in place, by name",
          "[rows][stash]") {
  const bool says_the_name = GENERATE(true, false);
  RaggedMaker maker(200, {},
                    [](std::uint64_t index) -> std::uint64_t { return index == 77 ? 101 : 3; });
  maker.in_place = true;
  maker.makes_apart = says_the_name;
  Stream stream(maker, {.rows = 100});
  Consumer consumer = stream.consumer(1);
  Feeder feeder(stream.producer, maker, {2});
  CHECK_THROWS_WITH(([&] {
                      while (consumer.next()) continue;
                    }()),
                    Contains("101 rows") && Contains("--rows tokens=101") &&
                        Contains(says_the_name ? "sample 77, `s77`" : "sample 77:"));
  CHECK_THROWS_AS(feeder.wait(5'000), BadSample);
}

TEST_CASE("a stream with stashed samples jumps, and stops", "[rows][stash]") {
  const std::uint64_t n = 2'000;
  const RaggedMaker maker(n, [](std::uint64_t, std::uint64_t index) {
    if (index % 20 == 0) sleep_us(2'000);
  });
  Stream stream(maker, {.epochs = 0, .rows = 500});
  Feeder feeder(stream.producer, maker, {4});
  {
    Consumer consumer = stream.consumer(16);
    for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
      int batches = 0;
      for (const Batch& batch : consumer) {
        REQUIRE(batch.position() / n == epoch);
        REQUIRE(wrong_in(batch, n) == 0);
        if (++batches == 3) break;
      }
    }
    CHECK(comes_true([&] { return feeder.stats().stash_bytes > 0; }));
    const std::uint64_t began_ns = now_ns();
    stream.producer.stop("enough");
    CHECK(feeder.wait(2'000));
    CHECK(now_ns() - began_ns < 1'000'000'000);
  }
  CHECK(feeder.stats().stash_bytes == 0);
}

TEST_CASE("a stream goes back while samples are stashed", "[rows][stash]") {
  const std::uint64_t n = 5'000;
  std::atomic<bool> is_slow{true};
  Door door;
  const RaggedMaker maker(n, [&](std::uint64_t, std::uint64_t index) {
    if (index == 600 && is_slow) door.pass();
  });
  Stream stream(maker, {.epochs = 1, .rows = 2'000});
  Feeder feeder(stream.producer, maker, {3});
  {
    Consumer first = stream.consumer(10);
    std::uint64_t next = 0;
    for (int i = 0; i < 60; ++i) {
      const auto batch = first.next();
      REQUIRE(batch);
      REQUIRE(wrong_in(*batch, n) == 0);
      next += batch->size();
    }
    CHECK(next == 600);
    CHECK(comes_true([&] { return feeder.stats().stash_bytes > 0; }));
  }
  is_slow = false;
  // It is the only consumer: the stream goes back, and all that is stashed is dropped.
  std::thread opener([&] {
    sleep_us(50'000);
    door.open();
  });
  Consumer second = stream.consumer(10, Join::at, 20);
  opener.join();
  std::uint64_t next = 20;
  for (const Batch& batch : second) {
    REQUIRE(batch.position() == next);
    REQUIRE(wrong_in(batch, n) == 0);
    next += batch.size();
  }
  CHECK(next == n);
  CHECK(feeder.wait(5'000));
  CHECK(feeder.stats().stash_bytes == 0);
}

TEST_CASE("a consumer that holds rows up is evicted while samples are stashed", "[rows][stash]") {
  const std::uint64_t n = 2'000;
  const RaggedMaker maker(n, [](std::uint64_t, std::uint64_t index) {
    if (index % 20 == 0) sleep_us(1'000);
  });
  Stream stream(maker, {.epochs = 1, .rows = 500});
  Feeder feeder(stream.producer, maker, {4});
  Consumer consumer = stream.consumer(5);
  ConsumerOptions options;
  options.stream = "stashed";
  options.name = "slow";
  options.batch_size = 5;
  options.directory = stream.directory.path();
  options.join = Join::rewind;
  Consumer slow(options);
  const auto held = slow.next();
  REQUIRE(held);
  std::atomic<std::uint64_t> seen{0};
  std::thread trainer([&] {
    for (const Batch& batch : consumer) {
      if (wrong_in(batch, n) != 0) return;
      seen += batch.size();
    }
  });
  CHECK(comes_true([&] { return feeder.stats().waiting > 0.9; }));
  CHECK(stream.producer.evict("slow", "a test"));
  trainer.join();
  CHECK(seen == n);
  CHECK(feeder.wait(5'000));
}

TEST_CASE("one sample in a hundred that takes a hundred times as long costs no other its time",
          "[rows][stash]") {
  const std::uint64_t n = 12'000;
  std::atomic<std::uint64_t> made_ns{0};
  const RaggedMaker maker(n, [&](std::uint64_t, std::uint64_t index) {
    const bool slow = detail::mix64(index) % 100 == 0 && index < n - 150;
    const std::uint64_t began_ns = now_ns();
    sleep_us(slow ? 30'000 : 300);
    made_ns += now_ns() - began_ns;
  });
  Stream stream(maker, {.rows = 16'384, .memory = 512 << 10});
  const std::uint64_t began_ns = now_ns();
  Feeder feeder(stream.producer, maker, {4});
  Consumer consumer = stream.consumer(64);
  std::uint64_t seen = 0;
  for (const Batch& batch : consumer) {
    REQUIRE(wrong_in(batch, n) == 0);
    seen += batch.size();
  }
  CHECK(seen == n);
  const double rate =
      static_cast<double>(made_ns.load()) / 4 / static_cast<double>(now_ns() - began_ns);
  INFO("of the rate that the mean cost allows: " << rate);
  CHECK(rate >= least_rate);
}

TEST_CASE("stashed samples follow a loan that the feeder knows nothing of", "[rows][stash]") {
  const std::uint64_t stash = GENERATE(std::uint64_t{0}, std::uint64_t{1} << 20);
  const std::uint64_t n = 400;
  const RaggedMaker maker(n);
  Stream stream(maker, {.memory = 64 << 10});
  Consumer consumer = stream.consumer(8);
  auto loan = stream.producer.loan(1);
  REQUIRE(loan);
  Feeder feeder(stream.producer, maker, {2, stash});
  CHECK(comes_true([&] { return feeder.stats().waiting > 0.9; }));
  const std::uint64_t rows = length_at(0, 0);
  REQUIRE(loan->take_rows("tokens", std::span(&rows, 1)));
  for (std::uint64_t i = 0; i < rows; ++i) {
    loan->rows<std::int32_t>(0, "tokens")[i][0] = token_at(0, 0, i);
  }
  loan->field<std::uint64_t>("triple")[0][0] = 0;
  loan->publish();
  std::uint64_t next = 0;
  for (const Batch& batch : consumer) {
    REQUIRE(wrong_in(batch, n) == 0);
    next += batch.size();
  }
  CHECK(next == n);
  CHECK(feeder.wait(5'000));
}

TEST_CASE("workers at a full stash see soon that a loan from elsewhere was published",
          "[rows][stash]") {
  const RaggedMaker maker(400);
  Stream stream(maker, {.memory = 64 << 10});
  Consumer consumer = stream.consumer(1);
  std::uint64_t soonest_ns = ~std::uint64_t{0};
  auto loan = stream.producer.loan(1);
  REQUIRE(loan);
  Feeder feeder(stream.producer, maker, {1, std::uint64_t{0}});
  for (std::uint64_t position = 0; position < 8; position += 2) {
    CHECK(comes_true([&] { return maker.made() == position / 2 + 1; }));
    sleep_us(20'000 + 7'000 * position);
    const std::uint64_t rows = 0;
    REQUIRE(loan->take_rows("tokens", std::span(&rows, 1)));
    const std::uint64_t began_ns = now_ns();
    loan->publish();
    loan = stream.producer.loan(1);
    for (int i = 0; i < 2; ++i) REQUIRE(consumer.next());
    soonest_ns = std::min(soonest_ns, now_ns() - began_ns);
  }
  CHECK(soonest_ns < 20'000'000);
}

TEST_CASE("a stash that the machine has no memory for is refused", "[rows][stash]") {
  const RaggedMaker maker(100);
  Stream stream(maker, {});
  CHECK_THROWS_AS(Feeder(stream.producer, maker, {1, std::uint64_t{1} << 60}), OutOfMemory);
}

TEST_CASE("a stream whose last samples wait for a slow one ends whole", "[rows][stash]") {
  const std::uint64_t n = 600;
  const RaggedMaker maker(
      n, [](std::uint64_t, std::uint64_t index) { sleep_us(index + 6 == n ? 20'000 : 20); });
  for (int round = 0; round < 12; ++round) {
    // The ring is full throughout, so that asking for the next sample takes long.
    Stream stream(maker, {.rows = 16'384, .memory = 80 << 10});
    Consumer consumer = stream.consumer(1);
    Feeder feeder(stream.producer, maker, {8});
    std::uint64_t seen = 0;
    for (const Batch& batch : consumer) {
      REQUIRE(wrong_in(batch, n) == 0);
      seen += batch.size();
      sleep_us(150);
    }
    REQUIRE(seen == n);
    REQUIRE(feeder.wait(5'000));
  }
}
