// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "../ring/rows_model.hpp"
#include "../temporary_folder.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/checkpoint.hpp>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using batchcast::testing::TemporaryFolder;
using Catch::Contains;
namespace model = batchcast::testing::rows_model;

// Windows over a stream with axes, from a program's own producer to its consumers, in one process.
namespace {

using Lengths = std::vector<std::uint64_t>;

/// Row r of an epoch has the token r, and twice that as its pair's second number.
class Stream {
 public:
  explicit Stream(Lengths lengths, std::uint64_t rows = 4096, std::uint64_t epochs = 1,
                  std::uint32_t wait_for = 1, bool knows_length = true)
      : lengths_(std::move(lengths)) {
    ProducerOptions options;
    options.stream = "windows";
    options.schema = {{"tokens", DType::i32, Axis{"tokens"}},
                      {"pairs", DType::u8, Axis{"tokens"}, {3}},
                      {"boxes", DType::f32, Axis{"boxes"}, {4}},
                      {"label", DType::i64}};
    options.samples_per_epoch = knows_length ? lengths_.size() : 0;
    options.epochs = epochs;
    options.wait_for = wait_for;
    options.memory = std::uint64_t{4} << 20;
    options.rows = {{"tokens", rows}, {"boxes", 64}};
    options.directory = folder_.path();
    std::uint64_t row = 0;
    for (const std::uint64_t length : lengths_) first_.push_back(std::exchange(row, row + length));
    producer_.emplace(std::move(options));
  }
  ~Stream() {
    if (!thread_.joinable()) return;
    producer_->stop("the test is over");
    thread_.join();
  }

  void start() {
    thread_ = std::thread([this] { make(); });
  }
  [[nodiscard]] ConsumerOptions consumer(Window window) const {
    ConsumerOptions options;
    options.stream = "windows";
    options.directory = folder_.path();
    options.window = std::move(window);
    return options;
  }
  [[nodiscard]] const Lengths& lengths() const { return lengths_; }
  [[nodiscard]] std::uint64_t rows() const { return model::sum(lengths_, 0, lengths_.size()); }

  /// Whether a batch of one rank is what the model says.
  [[nodiscard]] bool is_right(const Batch& batch, const model::WindowBatch& expected,
                              std::size_t rank = 0) const {
    const auto& rows = expected.rows[rank];
    const auto tokens = batch.field<std::int32_t>("tokens");
    const auto pairs = batch.field<std::uint8_t>("pairs");
    bool right = batch.size() == expected.runs && tokens.size() == expected.runs;
    const std::uint64_t shown = static_cast<std::uint64_t>(tokens.sample_shape()[0]);
    const std::uint64_t own = tokens.sample_stride_bytes() / sizeof(std::int32_t);
    right = right && pairs.sample_shape().size() == 2 && expected.runs * own <= rows.size();
    for (std::size_t run = 0; right && run < batch.size(); ++run) {
      for (std::uint64_t i = 0; i < shown; ++i) {
        const std::uint64_t row = rows[run * own + i];
        right = right && tokens[run][i] == static_cast<std::int32_t>(row) &&
                pairs[run][3 * i + 2] == static_cast<std::uint8_t>(row * 2);
      }
    }
    // Its samples follow each other in its rows.
    const auto offsets = batch.offsets();
    right = right && offsets.size() == batch.sample_ids().size() + 1 && offsets.front() == 0 &&
            offsets.back() == static_cast<std::int64_t>(expected.runs * own) &&
            batch.position() % lengths_.size() == batch.sample_ids()[0] % lengths_.size();
    for (std::size_t i = 0; right && i + 1 < offsets.size(); ++i) {
      if (offsets[i] == offsets[i + 1]) continue;
      const std::uint64_t id = batch.sample_ids()[i] % lengths_.size();
      const std::uint64_t row = rows[static_cast<std::size_t>(offsets[i])];
      right = row >= first_[id] && row < first_[id] + lengths_[id] &&
              (i > 0 || row == first_[id] + batch.row());
    }
    return right;
  }
  /// Takes an epoch; the number of batches that were right, or -1.
  int epoch(Consumer& consumer, const model::Windows& expected, std::size_t rank = 0) const {
    std::size_t taken = 0;
    for (const Batch& batch : consumer) {
      if (taken == expected.batches.size()) return -1;
      if (!is_right(batch, expected.batches[taken++], rank)) return -1;
    }
    return taken == expected.batches.size() ? static_cast<int>(taken) : -1;
  }
  [[nodiscard]] std::string why_refused(const ConsumerOptions& options) const {
    try {
      const Consumer consumer(options);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

 private:
  void make() {
    const std::uint64_t samples = lengths_.size();
    while (auto loan = producer_->loan(7)) {
      const std::uint64_t at = loan->index_in_epoch();
      Lengths tokens;
      for (std::size_t i = 0; i < loan->size(); ++i) tokens.push_back(lengths_[(at + i) % samples]);
      if (!loan->take_rows("tokens", tokens)) continue;
      if (!loan->take_rows("boxes", Lengths(loan->size(), 1))) continue;
      for (std::size_t i = 0; i < loan->size(); ++i) {
        const std::uint64_t id = (at + i) % samples;
        std::uint64_t row = first_[id];
        for (auto& token : loan->rows<std::int32_t>(i, "tokens").span()) {
          token = static_cast<std::int32_t>(row++);
        }
        const auto pairs = loan->rows<std::uint8_t>(i, "pairs");
        for (std::size_t r = 0; r < pairs.size(); ++r) {
          for (auto& one : pairs[r]) one = static_cast<std::uint8_t>((first_[id] + r) * 2);
        }
      }
      loan->publish();
    }
    static_cast<void>(producer_->finish());
  }

  TemporaryFolder folder_;
  Lengths lengths_;
  Lengths first_;
  std::optional<Producer> producer_;
  std::thread thread_;
};

Lengths some_lengths(std::size_t samples, std::uint64_t most) {
  Lengths lengths;
  for (std::size_t i = 0; i < samples; ++i) lengths.push_back(i * i * 7 % (most + 1));
  return lengths;
}

model::Windows expected_of(const Stream& stream, const Window& window, std::uint64_t world = 1,
                           Tail tail = Tail::keep, model::Place from = {}) {
  return model::windows(stream.lengths(), window.rows, window.runs, window.extra, world, tail,
                        from);
}

}  // namespace

TEST_CASE("a window's batches are views of one length over the ring", "[windows]") {
  Stream stream(some_lengths(200, 60));
  const Window window{"tokens", 16, 4, 1};
  Consumer consumer(stream.consumer(window));
  const auto expected = expected_of(stream, window);
  stream.start();
  std::size_t taken = 0;
  while (const auto batch = consumer.next()) {
    REQUIRE(stream.is_right(*batch, expected.batches[taken++]));
    CHECK(batch->is_window());
    CHECK_FALSE(batch->writable());
    const auto tokens = batch->field<std::int32_t>("tokens");
    CHECK(tokens.sample_shape()[0] == 17);
    CHECK(tokens.sample_stride_bytes() == 64);
    if (tokens.size() > 1) {
      CHECK_THROWS_AS(tokens.span(), InvalidArgument);
      CHECK(&tokens[0][16] == &tokens[1][0]);
    }
    CHECK_THROWS_WITH(batch->field<std::int64_t>("label"),
                      Contains("window") && Contains("axis `tokens` alone"));
    CHECK_THROWS_WITH(batch->rows<std::int32_t>("tokens"), Contains("field()"));
  }
  CHECK(taken == expected.batches.size());
  CHECK(consumer.stats().epochs_matched == 1);
  CHECK(consumer.stats().dropped_rows == expected.dropped);
  CHECK(consumer.stats().samples == 200 - (expected.dropped == 0 ? 0U : 1U));
}

TEST_CASE("each trainer has another context length on one stream", "[windows]") {
  Stream stream(some_lengths(300, 90), 2048, 3, 4);
  std::vector<std::thread> trainers;
  std::atomic<int> right{0};
  const Window windows[] = {
      {"tokens", 5, 3}, {"tokens", 64, 8, 1}, {"tokens", 300, 2, 2}, {"tokens", 1024, 1, 1}};
  for (const Window& window : windows) {
    trainers.emplace_back([&] {
      Consumer consumer(stream.consumer(window));
      const auto expected = expected_of(stream, window);
      for (int epoch = 0; epoch < 3; ++epoch) right += stream.epoch(consumer, expected) > 0;
      right += consumer.stats().epochs_matched == 3;
      right += consumer.stats().dropped_rows == 3 * expected.dropped;
    });
  }
  stream.start();
  for (std::thread& trainer : trainers) trainer.join();
  CHECK(right == 4 * 5);
}

TEST_CASE("tails of epochs are kept, dropped or padded by rows", "[windows]") {
  Stream stream(some_lengths(41, 30), 1024, 2);
  const Tail tail = GENERATE(Tail::keep, Tail::drop, Tail::pad);
  const Window window{"tokens", 19, 4, 1};
  ConsumerOptions options = stream.consumer(window);
  options.tail = tail;
  SECTION("views") {}
  SECTION("copies") { options.access = Access::private_copy; }
  Consumer consumer(options);
  const auto expected = expected_of(stream, window, 1, tail);
  stream.start();
  CHECK(stream.epoch(consumer, expected) > 3);
  CHECK(stream.epoch(consumer, expected) > 3);
  CHECK(consumer.stats().epochs_matched == 2);
  CHECK(consumer.stats().dropped_rows == 2 * expected.dropped);
  if (tail == Tail::pad) CHECK(expected.batches.back().padded);
}

TEST_CASE("padding goes round behind samples without rows, and in extra rows alone", "[windows]") {
  // Batches have 16 rows and show two more: the last one lacks one, none, or has one or two more.
  const std::uint64_t last = GENERATE(5, 6, 7, 8);
  const std::size_t without_rows = GENERATE(0, 1, 3);
  const std::uint32_t world = GENERATE(1, 2);
  CAPTURE(last, without_rows, world);
  Lengths lengths = {7, 0, 9, 4, 6, 0, last};
  lengths.resize(lengths.size() + without_rows);
  Stream stream(lengths, 1024, 2, 1);
  const Window window{"tokens", 4, 4 / world, 2};
  const auto expected = expected_of(stream, window, world, Tail::pad);
  std::vector<std::thread> ranks;
  std::atomic<int> right{0};
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    ranks.emplace_back([&, rank] {
      ConsumerOptions options = stream.consumer(window);
      options.tail = Tail::pad;
      if (world > 1) options.group = {"job", rank, world};
      Consumer consumer(options);
      for (int epoch = 0; epoch < 2; ++epoch) right += stream.epoch(consumer, expected, rank) >= 2;
      right += !consumer.has_next_epoch() && consumer.stats().epochs_matched == 2;
    });
  }
  stream.start();
  for (std::thread& rank : ranks) rank.join();
  CHECK(right == 3 * static_cast<int>(world));
}

TEST_CASE("a window's cursor is good for batches of samples, whatever their axis", "[windows]") {
  Stream stream(Lengths(20, 100));  // the axis `boxes` has one row a sample
  stream.start();
  ConsumerOptions options = stream.consumer({});
  options.join = Join::at;
  options.cursor = 2;
  options.cursor_row = 50;
  SECTION("of one size") { options.batch_size = 4; }
  SECTION("of a budget") { options.budget = {"tokens", 400}; }
  SECTION("of a budget on another axis") { options.budget = {"boxes", 4}; }
  Consumer consumer(options);
  const auto peeked = consumer.peek();
  REQUIRE(peeked);
  CHECK(peeked->position() == 3);
  const auto batch = consumer.next();
  REQUIRE(batch);
  CHECK(batch->position() == 3);
  CHECK(batch->size() == 4);
  CHECK(consumer.stats().dropped_rows == 50);
  options.cursor_row = 100;
  CHECK_THAT(stream.why_refused(options), Contains("no row 100") && Contains("`tokens`"));
  REQUIRE(consumer.move_to({8, 99}));
  CHECK(consumer.next()->position() == 9);
}

TEST_CASE("a row of a stream without axes is refused", "[windows]") {
  const TemporaryFolder folder;
  ProducerOptions served;
  served.stream = "plain";
  served.schema = {{"x", DType::i32}};
  served.samples_per_epoch = 20;
  served.memory = std::uint64_t{1} << 20;
  served.directory = folder.path();
  served.log = [](LogLevel, std::string_view) {};
  Producer producer(served);
  auto loan = producer.loan(20);
  REQUIRE(loan);
  loan->publish();
  ConsumerOptions options;
  options.stream = "plain";
  options.directory = folder.path();
  options.batch_size = 4;
  Consumer consumer(options);
  CHECK_THROWS_WITH(consumer.move_to({2, 5}), Contains("no row 5") && Contains("one shape"));
  REQUIRE(consumer.move_to(2));
  CHECK(consumer.next()->position() == 2);
  options.join = Join::at;
  options.cursor = 2;
  options.cursor_row = 5;
  CHECK_THROWS_WITH(Consumer(options), Contains("no row 5") && Contains("one shape"));
  producer.stop("the test is over");
}

TEST_CASE("a trainer with batches of samples may choose a window", "[windows]") {
  Stream stream(Lengths(20, 100));
  stream.start();
  ConsumerOptions options = stream.consumer({});
  options.batch_size = 3;
  Consumer consumer(options);
  CHECK(consumer.next()->size() == 3);
  consumer.set_window({"tokens", 10, 5});
  const auto batch = consumer.next();
  REQUIRE(batch);
  CHECK(batch->size() == 5);
  CHECK(batch->field<std::int32_t>("tokens")[0][0] == 300);
  consumer.set_window({});
  const auto samples = consumer.next();
  REQUIRE(samples);
  CHECK(samples->position() == 4);
  CHECK(samples->size() == 3);
}

TEST_CASE("a window goes on at any row: a checkpoint, a move, another window", "[windows]") {
  Stream stream(some_lengths(60, 50), 4096, 2, 1);
  const Window window{"tokens", 7, 3, 1};
  std::optional<Consumer> consumer(stream.consumer(window));
  stream.start();
  model::Place place;
  std::uint64_t seen = 0;
  for (int part = 0; part < 12; ++part) {
    const Window now{"tokens", 3 + static_cast<std::uint64_t>(part), 2,
                     static_cast<std::uint64_t>(part % 3)};
    const auto expected = expected_of(stream, now, 1, Tail::keep, place);
    if (part % 3 == 0) {  // the next process
      ConsumerOptions options = stream.consumer(now);
      const Checkpoint saved = checkpoint_of(*consumer, "windows");
      options.join = Join::at;
      options.cursor = saved.cursor;
      options.cursor_row = saved.cursor_row;
      std::optional<Consumer> next(options);
      consumer = std::move(next);
    } else if (part % 3 == 1) {
      REQUIRE(consumer->move_to({consumer->cursor(), consumer->cursor_row()}));
      consumer->set_window(now);
    } else {
      consumer->set_window(now);
    }
    CHECK(consumer->cursor() == place.sample);
    CHECK(consumer->cursor_row() == place.row);
    for (std::size_t i = 0; i < 3 && i < expected.batches.size(); ++i) {
      const auto peeked = consumer->peek();
      REQUIRE(peeked);
      REQUIRE(stream.is_right(*peeked, expected.batches[i]));
      const auto batch = consumer->next();
      REQUIRE(batch);
      REQUIRE(stream.is_right(*batch, expected.batches[i]));
      place = expected.batches[i].after;
      seen += batch->size() * now.rows;
    }
  }
  CHECK(seen > 300);
  // Batches of whole samples begin at the next one.
  consumer->set_window({});
  consumer->set_batch_size(1);
  CHECK(consumer->next()->position() == place.sample + (place.row == 0 ? 0 : 1));
  CHECK(consumer->stats().epochs_mismatched == 0);
}

TEST_CASE("copies of a window's batches are whole at any pace", "[windows]") {
  Stream stream(some_lengths(400, 60), 512, 1);
  const Window window{"tokens", 20, 3, 1};
  ConsumerOptions options = stream.consumer(window);
  options.pace = Pace::free;
  Consumer consumer(options);
  stream.start();
  std::uint64_t rows = 0;
  for (const Batch& batch : consumer) {
    const auto tokens = batch.field<std::int32_t>("tokens");
    for (std::size_t run = 0; run < batch.size(); ++run) {
      for (std::size_t i = 0; i < 21; ++i) {
        REQUIRE(tokens[run][i] == tokens[0][0] + static_cast<std::int32_t>(run * 20 + i));
      }
    }
    rows += batch.size() * 20;
  }
  CHECK(rows > 0);
  CHECK(consumer.stats().epochs_mismatched == 0);
}

TEST_CASE("a window's batches that a trainer keeps or writes to stay as they are", "[windows]") {
  Stream stream(some_lengths(300, 60), 600);
  const Window window{"tokens", 50, 2, 1};
  ConsumerOptions options = stream.consumer(window);
  options.log = [](LogLevel, std::string_view) {};
  Consumer consumer(options);
  const auto expected = expected_of(stream, window);
  stream.start();
  std::vector<Batch> kept;
  while (auto batch = consumer.next()) {
    if (batch->keeps_writes() && kept.size() == 3) {
      const auto tokens = batch->field<std::int32_t>("tokens");
      // The last row of the batch, which the next one begins with.
      const_cast<std::int32_t&>(tokens[1][50]) = tokens[1][50];
    }
    kept.push_back(std::move(*batch));
  }
  REQUIRE(kept.size() == expected.batches.size());
  CHECK(kept.size() > 10);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    CHECK(stream.is_right(kept[i], expected.batches[i]));
    kept[i].check();
  }
}

TEST_CASE("a write into a row that two batches show stays out of later ones", "[windows]") {
  Stream stream(Lengths(40, 100), 600);
  ConsumerOptions options = stream.consumer({"tokens", 150, 1, 1});
  options.log = [](LogLevel, std::string_view) {};
  Consumer consumer(options);
  stream.start();
  for (std::int32_t row = 0; row < 3'000; row += 150) {
    const auto batch = consumer.next();
    REQUIRE(batch);
    const auto tokens = batch->field<std::int32_t>("tokens")[0];
    REQUIRE(tokens[0] == row);
    REQUIRE(tokens[150] == row + 150);
    if (batch->keeps_writes()) const_cast<std::int32_t&>(tokens[150]) = -1;
  }
}

TEST_CASE("ranks of a group get the rows one after the other", "[windows]") {
  Stream stream(some_lengths(150, 60), 2048, 2, 1);
  const Tail tail = GENERATE(Tail::keep, Tail::drop, Tail::pad);
  const Window window{"tokens", 30, 3, 1};
  const auto expected = expected_of(stream, window, 3, tail);
  std::vector<std::thread> ranks;
  std::atomic<int> right{0};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      ConsumerOptions options = stream.consumer(window);
      options.group = {"job", rank, 3};
      options.tail = tail;
      Consumer consumer(options);
      right += stream.epoch(consumer, expected, rank) > 2;
      right += stream.epoch(consumer, expected, rank) > 2;
      right += !consumer.has_next_epoch();
      right += consumer.stats().epochs_matched == 2;
    });
  }
  stream.start();
  for (std::thread& rank : ranks) rank.join();
  CHECK(right == 3 * 4);
}

TEST_CASE("ranks leave an epoch early at the same row, and other ranks go on there", "[windows]") {
  Stream stream(some_lengths(150, 60), 4096, 2, 1);
  const Window window{"tokens", 30, 1};
  model::Place place;
  std::uint64_t cursor = 0, row = 0;
  stream.start();
  for (const std::uint32_t world : {2U, 3U, 1U}) {
    const auto expected = expected_of(stream, window, world, Tail::keep, place);
    std::vector<std::thread> ranks;
    std::atomic<int> right{0};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> places(world);
    std::barrier through(world);
    for (std::uint32_t rank = 0; rank < world; ++rank) {
      ranks.emplace_back([&, rank] {
        ConsumerOptions options = stream.consumer(window);
        options.group = {"job", rank, world};
        options.join = Join::at;
        options.cursor = cursor;
        options.cursor_row = row;
        Consumer consumer(options);
        for (std::size_t i = 0; i < 4; ++i) {
          const auto batch = consumer.next();
          right += batch && stream.is_right(*batch, expected.batches[i], rank);
        }
        places[rank] = {consumer.cursor(), consumer.cursor_row()};
        through.arrive_and_wait();  // a rank that goes breaks its group
      });
    }
    for (std::thread& rank : ranks) rank.join();
    CHECK(right == 4 * static_cast<int>(world));
    place = expected.batches[3].after;
    for (const auto& one : places) CHECK(one == std::pair(place.sample, place.row));
    cursor = place.sample;
    row = place.row;
  }
}

TEST_CASE("an epoch that one rank leaves ends at a row for all", "[windows]") {
  Stream stream(Lengths(20, 100), 4096, 2, 1);
  std::vector<std::thread> ranks;
  std::atomic<int> right{0};
  std::atomic<bool> left{false};
  std::barrier through(2);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      ConsumerOptions options = stream.consumer({"tokens", 10, 1});
      options.group = {"job", rank, 2};
      Consumer consumer(options);
      for (int i = 0; i < 3; ++i) right += consumer.next().has_value();  // up to row 60 of sample 0
      right += consumer.cursor() == 0 && consumer.cursor_row() == 60;
      if (rank == 0) {
        consumer.leave_epoch();
        left = true;
      } else {
        while (!left) std::this_thread::yield();
        // The word may be late, but the epoch has 97 more batches.
        int late = 0;
        for (; consumer.next(); ++late) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
        }
        right += late < 97;
      }
      const auto batch = consumer.next();
      right += batch && batch->epoch() == 1 &&
               batch->field<std::int32_t>("tokens")[0][0] == static_cast<std::int32_t>(10 * rank);
      through.arrive_and_wait();  // a rank that goes breaks its group
    });
  }
  stream.start();
  for (std::thread& rank : ranks) rank.join();
  CHECK(right == 2 * 5 + 1);
}

TEST_CASE("a rank that is behind gets the rows up to where another one left", "[windows]") {
  Stream stream(Lengths(20, 100), 4096, 2, 1);
  std::thread first;
  std::atomic<bool> left{false};
  std::barrier through(2);
  const auto joining = [&](std::uint32_t rank) {
    ConsumerOptions options = stream.consumer({"tokens", 10, 1});
    options.group = {"job", rank, 2};
    return options;
  };
  first = std::thread([&] {
    Consumer consumer(joining(0));
    for (int i = 0; i < 3; ++i) static_cast<void>(consumer.next());  // up to row 60 of sample 0
    consumer.leave_epoch();
    left = true;
    through.arrive_and_wait();
  });
  stream.start();
  {
    Consumer consumer(joining(1));
    CHECK(consumer.next());
    while (!left) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // the producer has told by then
    CHECK(consumer.next());
    CHECK(consumer.next());
    CHECK(consumer.cursor_row() == 60);
    CHECK_FALSE(consumer.next());
    CHECK(consumer.epoch() == 1);
    through.arrive_and_wait();
  }
  first.join();
}

TEST_CASE("what a window cannot be is refused with what to do", "[windows]") {
  Stream stream(some_lengths(100, 60), 512, 1, 0);
  const auto refused = [&](ConsumerOptions options) { return stream.why_refused(options); };
  CHECK_THAT(refused(stream.consumer({"tokens", 128, 4, 1})), Contains("--rows tokens=513 "));
  CHECK_THAT(refused(stream.consumer({"", 0, 1, 1})),
             Contains("extra is 1") && Contains("there is no window"));
  CHECK_THAT(refused(stream.consumer({"words", 5, 1})),
             Contains("no axis `words`") && Contains("`tokens`"));
  CHECK_THAT(refused(stream.consumer({"tokens", 0, 1})), Contains("at least one row"));
  CHECK_THAT(refused(stream.consumer({"tokens", 5, 0})), Contains("one run"));
  CHECK_THAT(refused(stream.consumer({"tokens", ~std::uint64_t{0} / 2, 4})), Contains("--rows"));
  ConsumerOptions options = stream.consumer({"tokens", 5, 1});
  options.batch_size = 3;
  CHECK_THAT(refused(options), Contains("batch_size") && Contains("window"));
  options.batch_size = ConsumerOptions().batch_size;
  options.budget = {"tokens", 40};
  CHECK_THAT(refused(options), Contains("choose one of them"));
  options.budget = {};
  options.cursor_row = 5;
  CHECK_THAT(refused(options), Contains("cursor_row") && Contains("join `at`"));
  stream.start();
  {
    Consumer consumer(stream.consumer({"tokens", 5, 1}));
    REQUIRE(consumer.next());
    options.join = Join::at;
    options.cursor = 3;
    options.cursor_row = stream.lengths()[3];
    CHECK_THAT(refused(options), Contains("no row") && Contains("position 3"));
    CHECK_THROWS_WITH(consumer.move_to({3, stream.lengths()[3]}), Contains("no row"));
    CHECK_THROWS_AS(consumer.set_window({"tokens", 600, 1}), RingTooSmall);
    CHECK_THROWS_AS(consumer.set_budget({"tokens", 10}), InvalidArgument);
    REQUIRE(consumer.next());
  }
}
