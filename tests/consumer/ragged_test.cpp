// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "../catch.hpp"
#include "../ring/rows_model.hpp"
#include "../temporary_folder.hpp"

#include <batchcast/batchcast.hpp>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using batchcast::testing::TemporaryFolder;
using Catch::Contains;

// A stream with axes from a program's own producer to its consumers, in one process.
namespace {

using Lengths = std::vector<std::uint64_t>;

const Schema tokens_and_boxes = {{"tokens", DType::i32, Axis{"tokens"}},
                                 {"mask", DType::u8, Axis{"tokens"}},
                                 {"boxes", DType::f32, Axis{"boxes"}, {4}},
                                 {"label", DType::i64}};

/// Sample i of an epoch has lengths[i] tokens and i % 3 boxes.
class Stream {
 public:
  explicit Stream(Lengths lengths, std::uint64_t rows = 4096, std::uint64_t epochs = 1,
                  std::uint32_t wait_for = 1)
      : lengths_(std::move(lengths)) {
    ProducerOptions options;
    options.stream = "ragged";
    options.schema = tokens_and_boxes;
    options.samples_per_epoch = lengths_.size();
    options.epochs = epochs;
    options.wait_for = wait_for;
    options.memory = std::uint64_t{4} << 20;
    options.rows = {{"tokens", rows}, {"boxes", 64}};
    options.directory = folder_.path();
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
  void join() { thread_.join(); }

  [[nodiscard]] ConsumerOptions consumer() const {
    ConsumerOptions options;
    options.stream = "ragged";
    options.directory = folder_.path();
    return options;
  }
  [[nodiscard]] Producer& producer() { return *producer_; }
  [[nodiscard]] const Lengths& lengths() const { return lengths_; }

  /// Whether these are the samples that the producer made.
  [[nodiscard]] bool is_right(const Batch& batch) const {
    const auto tokens = batch.rows<std::int32_t>("tokens");
    const auto mask = batch.rows<std::uint8_t>("mask");
    const auto boxes = batch.rows<float>("boxes");
    const auto labels = batch.field<std::int64_t>("label");
    bool right = tokens.size() == batch.size() && tokens.offsets().size() == batch.size() + 1 &&
                 tokens.values().size() == static_cast<std::size_t>(tokens.offsets().back());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::uint64_t id = batch.sample_ids()[i];
      right = right && tokens[i].size() == lengths_[id] && mask[i].size() == lengths_[id] &&
              boxes[i].size() == id % 3 && labels[i][0] == static_cast<std::int64_t>(id);
      for (const std::int32_t token : tokens[i].span()) {
        right = right && token == static_cast<std::int32_t>(id);
      }
      for (const std::uint8_t one : mask[i].span()) right = right && one == id % 251;
      for (const float edge : boxes[i].span()) right = right && edge == static_cast<float>(id);
    }
    return right;
  }

 private:
  void make() {
    while (auto loan = producer_->loan(7)) {
      Lengths tokens, boxes;
      for (std::size_t i = 0; i < loan->size(); ++i) {
        tokens.push_back(lengths_[loan->index_in_epoch() + i]);
        boxes.push_back((loan->index_in_epoch() + i) % 3);
      }
      if (!loan->take_rows("tokens", tokens)) continue;
      if (!loan->take_rows("boxes", std::span(boxes).first(loan->size()))) continue;
      for (std::size_t i = 0; i < loan->size(); ++i) {
        const std::uint64_t id = loan->index_in_epoch() + i;
        for (auto& token : loan->rows<std::int32_t>(i, "tokens").span()) {
          token = static_cast<std::int32_t>(id);
        }
        for (auto& one : loan->rows<std::uint8_t>(i, "mask").span()) {
          one = static_cast<std::uint8_t>(id % 251);
        }
        for (auto& edge : loan->rows<float>(i, "boxes").span()) edge = static_cast<float>(id);
        loan->field<std::int64_t>("label")[i][0] = static_cast<std::int64_t>(id);
      }
      loan->publish();
    }
    static_cast<void>(producer_->finish());
  }

  TemporaryFolder folder_;
  Lengths lengths_;
  std::optional<Producer> producer_;
  std::thread thread_;
};

Lengths some_lengths(std::size_t samples, std::uint64_t most) {
  Lengths lengths;
  for (std::size_t i = 0; i < samples; ++i) lengths.push_back(i * i * 7 % (most + 1));
  return lengths;
}

using Runs = std::vector<testing::rows_model::Run>;

/// The batches of an epoch as (position in it, size); none where one of them was wrong. It asserts
/// nothing, since trainers in threads call it.
Runs epoch_of(Consumer& consumer, const Stream& stream) {
  Runs runs;
  for (const Batch& batch : consumer) {
    if (!stream.is_right(batch)) return {};
    runs.push_back({batch.position() % stream.lengths().size(), batch.size()});
  }
  return runs;
}

/// Whether a rank took its runs of these batches.
bool are_runs_of(const Runs& runs, const std::vector<Runs>& batches, std::size_t rank) {
  if (runs.size() != batches.size()) return false;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (!(runs[i] == batches[i][rank])) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("batches of a stream with axes are views of values and offsets", "[ragged]") {
  Stream stream(some_lengths(200, 60));
  ConsumerOptions options = stream.consumer();
  options.batch_size = 16;
  Consumer consumer(options);
  stream.start();
  std::uint64_t samples = 0;
  for (const Batch& batch : consumer) {
    REQUIRE(stream.is_right(batch));
    CHECK_FALSE(batch.writable());
    samples += batch.size();
    CHECK_THROWS_WITH(batch.field<std::int32_t>("tokens"), Contains("rows(\"tokens\")"));
    CHECK_THROWS_WITH(batch.rows<std::int64_t>("label"), Contains("field()"));
    CHECK(batch.rows<float>("boxes").row_shape()[0] == 4);
  }
  CHECK(samples == 200);
  CHECK(consumer.stats().epochs_matched == 1);
  CHECK(consumer.schema() == tokens_and_boxes);
}

TEST_CASE("each trainer cuts the same stream to its own budget", "[ragged]") {
  const Lengths lengths = some_lengths(300, 90);
  Stream stream(lengths, 512, 2, 4);
  std::vector<std::thread> trainers;
  std::atomic<int> right{0};
  const std::uint64_t budgets[] = {90, 200, 512};
  for (const std::uint64_t budget : budgets) {
    trainers.emplace_back([&, budget] {
      ConsumerOptions options = stream.consumer();
      options.budget = {"tokens", budget};
      Consumer consumer(options);
      const auto expected =
          testing::rows_model::batches(lengths, budget, consumer.capacity(), 1, Oversize::error);
      for (int epoch = 0; epoch < 2; ++epoch) {
        right += are_runs_of(epoch_of(consumer, stream), expected, 0);
      }
      right += consumer.stats().epochs_matched == 2;
    });
  }
  trainers.emplace_back([&] {
    ConsumerOptions options = stream.consumer();
    options.batch_size = 5;
    Consumer consumer(options);
    right += epoch_of(consumer, stream).size() == 60;
    right += epoch_of(consumer, stream).size() == 60;
  });
  stream.start();
  for (std::thread& trainer : trainers) trainer.join();
  CHECK(right == 3 * 3 + 2);
}

TEST_CASE("a sample beyond the budget is an error, a batch by itself, truncated or dropped",
          "[ragged]") {
  Stream stream({10, 100, 20, 5}, 4096, 4);
  ConsumerOptions options = stream.consumer();
  options.budget = {"tokens", 40};
  Consumer consumer(options);
  stream.start();
  REQUIRE(consumer.next()->size() == 1);
  CHECK_THROWS_WITH(consumer.next(), Contains("position 1") && Contains("100 rows"));
  consumer.set_budget({"tokens", 40}, Oversize::alone);
  {
    const auto alone = consumer.next();
    CHECK(alone->size() == 1);
    CHECK(alone->rows<std::int32_t>("tokens").values().size() == 100);
  }
  CHECK(consumer.next()->size() == 2);
  CHECK_FALSE(consumer.next());
  consumer.set_budget({"tokens", 40}, Oversize::truncate);
  REQUIRE(consumer.next()->size() == 1);
  {
    const auto cut = consumer.next();
    CHECK(cut->size() == 1);
    CHECK(cut->rows<std::int32_t>("tokens").values().size() == 40);
    CHECK(cut->rows<std::int32_t>("tokens").offsets().back() == 40);
    CHECK(cut->rows<std::uint8_t>("mask")[0].size() == 40);
    CHECK(cut->rows<float>("boxes").offsets().back() == 1);
  }
  consumer.leave_epoch();
  consumer.set_budget({"tokens", 40}, Oversize::drop);
  const auto runs = epoch_of(consumer, stream);
  REQUIRE(runs.size() == 2);
  CHECK(runs[1].start == 2);
  CHECK(consumer.stats().oversized == 3);
  consumer.set_budget({});
  CHECK(epoch_of(consumer, stream).size() == 1);  // batches of 64 samples
  CHECK(consumer.stats().epochs_mismatched == 0);
}

TEST_CASE("copies of ragged batches are whole at any pace", "[ragged]") {
  Stream stream(some_lengths(400, 60), 512, 1);
  ConsumerOptions options = stream.consumer();
  options.batch_size = 9;
  SECTION("private") { options.access = Access::private_copy; }
  SECTION("padded tails") { options.tail = Tail::pad; }
  SECTION("free") { options.pace = Pace::free; }
  Consumer consumer(options);
  stream.start();
  std::uint64_t samples = 0;
  for (const Batch& batch : consumer) {
    REQUIRE(stream.is_right(batch));
    samples += batch.size() - batch.padding();
  }
  CHECK(samples + consumer.stats().skipped == 400);
  if (options.access == Access::private_copy) CHECK(samples == 400);
}

TEST_CASE("ragged batches that a trainer keeps or writes to stay as they are", "[ragged]") {
  Stream stream(some_lengths(300, 60), 600);
  ConsumerOptions options = stream.consumer();
  options.budget = {"tokens", 200};
  options.log = [](LogLevel, std::string_view) {};
  Consumer consumer(options);
  stream.start();
  std::vector<Batch> kept;
  while (auto batch = consumer.next()) {
    if (batch->keeps_writes() && kept.size() == 3) {
      const auto values = batch->rows<std::int32_t>("tokens").values();
      if (!values.empty()) const_cast<std::int32_t&>(values[0]) = values[0];
    }
    kept.push_back(std::move(*batch));
  }
  CHECK(kept.size() > 10);
  for (const Batch& batch : kept) {
    CHECK(stream.is_right(batch));
    batch.check();
  }
}

TEST_CASE("a peek and an observer see whole ragged samples", "[ragged]") {
  Stream stream(some_lengths(100, 60));
  ConsumerOptions options = stream.consumer();
  options.budget = {"tokens", 120};
  Consumer consumer(options);
  stream.start();
  const auto seen = consumer.peek();
  REQUIRE(seen);
  CHECK(stream.is_right(*seen));
  const auto first = consumer.next();
  REQUIRE(first);
  CHECK(first->size() == seen->size());
  ConsumerOptions looking = stream.consumer();
  looking.observes = true;
  Consumer observer(looking);
  const auto newest = observer.newest(10);
  REQUIRE(newest);
  CHECK(stream.is_right(*newest));
}

TEST_CASE("what cannot be is refused with what to do", "[ragged]") {
  Stream stream(some_lengths(100, 60), 512, 1, 0);
  const auto refused = [&](ConsumerOptions options) {
    options.stream = "ragged";
    try {
      const Consumer consumer(options);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  ConsumerOptions options = stream.consumer();
  options.budget = {"tokens", 513};
  CHECK_THAT(refused(options), Contains("--rows tokens=513"));
  options.budget = {"words", 5};
  CHECK_THAT(refused(options), Contains("no axis `words`") && Contains("`tokens`"));
  options.budget = {"tokens", 100};
  options.tail = Tail::drop;
  CHECK_THAT(refused(options), Contains("tail"));
  options.tail = Tail::keep;
  options.budget = {"tokens", 0};
  CHECK_THAT(refused(options), Contains("at least one row"));

  ProducerOptions serving;
  serving.stream = "other";
  serving.schema = tokens_and_boxes;
  CHECK_THROWS_WITH(Producer(serving), Contains("rows_per_sample"));
  serving.rows_per_sample = {{"tokens", 10}, {"boxes", 2}};
  serving.places = {Placement("cuda:0")};
  CHECK_THROWS_WITH(Producer(serving), Contains("one shape only"));
  serving.places = {};
  serving.rows = {{"token", 10}};
  CHECK_THROWS_WITH(Producer(serving), Contains("did you mean") || Contains("Did you mean"));
}

TEST_CASE("ranks of a group get runs of one budget each", "[ragged]") {
  const Lengths lengths = some_lengths(150, 60);
  Stream stream(lengths, 1024, 1, 1);
  const auto expected = testing::rows_model::batches(lengths, 150, stream.producer().capacity() / 3,
                                                     3, Oversize::error);
  std::vector<std::thread> ranks;
  std::atomic<int> right{0};
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ranks.emplace_back([&, rank] {
      ConsumerOptions options = stream.consumer();
      options.budget = {"tokens", 150};
      options.group = {"job", rank, 3};
      Consumer consumer(options);
      right += are_runs_of(epoch_of(consumer, stream), expected, rank);
      right += !consumer.has_next_epoch();
      right += consumer.stats().epochs_matched == 1;
    });
  }
  stream.start();
  for (std::thread& rank : ranks) rank.join();
  CHECK(right == 3 * 3);
}
