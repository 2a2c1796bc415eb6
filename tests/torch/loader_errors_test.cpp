// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "loader_support.hpp"
#include "producer_process.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::testing {
namespace {

using Catch::Contains;
using torch::data::DataLoaderOptions;
using torch::data::Example;
using torch::data::TensorExample;
using Dictionary = std::map<std::string, at::Tensor>;

template <class Error>
std::string refusal(const std::function<void()>& attempt) {
  try {
    attempt();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

template <class UserBatch = Example<>>
std::string refused_fields(const ServedStream& stream, const ExampleFields& fields) {
  return refusal<InvalidArgument>(
      [&] { static_cast<void>(make_shared_data_loader<UserBatch>(stream.options(), 4, fields)); });
}

struct SizeAlone {
  explicit SizeAlone(const Batch& batch) : samples(batch.size()) {}
  std::size_t samples;
};

TEST_CASE("A wrong field is refused on attaching, with what there is", "[loader]") {
  const ServedStream stream;
  CHECK_THAT(refused_fields(stream, {.data = "imgae"}),
             Contains("no field `imgae`") && Contains("image f32 [1,4,4], label i64") &&
                 Contains("Did you mean `image`?"));
  CHECK_THAT(refused_fields(stream, {.target = "Label"}), Contains("Did you mean `label`?"));
  CHECK_THAT(refused_fields<TensorExample>(stream, {.data = "images"}),
             Contains("Did you mean `image`?"));
  CHECK_THAT(refused_fields(stream, {.data = "label"}),
             Contains("data and target are both the field `label`"));
  CHECK_THAT(refused_fields<TensorExample>(stream, {.target = "label"}),
             Contains("batches are data alone"));
  CHECK_THAT(refused_fields<Dictionary>(stream, {.data = "image"}),
             Contains("a dictionary has every field by its name"));
  CHECK_THAT(refused_fields<SizeAlone>(stream, {.target = "label"}), Contains("names its fields"));
}

TEST_CASE("A stream of one field is no Example of data and target", "[loader]") {
  const ServedStream stream({.schema = {{"image", DType::f32, {1, 4, 4}}}});
  CHECK_THAT(refused_fields(stream, {}),
             Contains("only the field image f32 [1,4,4]") && Contains("TensorExample"));
  const auto data_alone = make_shared_data_loader<TensorExample>(stream.options(), 4);
  CHECK(data_alone->begin()->data.size(0) == 4);
  const auto with_ids = make_shared_data_loader(stream.options(), 4, {.target = "sample_id"});
  CHECK(with_ids->begin()->target.equal(torch::arange(4)));
}

TEST_CASE("A dtype without a torch twin is refused on attaching, where it is used", "[loader]") {
  const ServedStream stream(
      {.schema = {{"image", DType::f32, {1, 4, 4}}, {"tokens", DType::u16, {8}}}});
  CHECK_THAT(refused_fields(stream, {}), Contains("`tokens` is u16"));
  CHECK_THAT(refused_fields<Dictionary>(stream, {}), Contains("`tokens` is u16"));
  CHECK_THAT(refused_fields<TensorExample>(stream, {.data = "tokens"}),
             Contains("`tokens` is u16"));
  CHECK(make_shared_data_loader<TensorExample>(stream.options(), 4)->begin()->data.size(0) == 4);
}

TEST_CASE("An impossible batch size is refused on attaching", "[loader]") {
  ServedStream stream({.samples_per_epoch = 2000});
  CHECK_THAT(refusal<InvalidArgument>(
                 [&] { static_cast<void>(make_shared_data_loader(stream.options(), 0)); }),
             Contains("batch_size is 0"));
  const std::uint64_t capacity = stream.producer().capacity();
  CHECK_THAT(refusal<RingTooSmall>([&] {
               static_cast<void>(make_shared_data_loader(stream.options(), capacity + 1));
             }),
             Contains("does not fit into the ring") && Contains("--memory"));
  CHECK(make_shared_data_loader(stream.options(), capacity)->options().batch_size == capacity);
}

TEST_CASE("No stream of that name", "[loader]") {
  const StreamFolder folder;
  ConsumerOptions options{.stream = "nobody", .connect_timeout_ms = 0, .directory = folder.path()};
  CHECK_THAT(
      refusal<StreamNotFound>([&] { static_cast<void>(make_shared_data_loader(options, 4)); }),
      Contains("no producer serves a stream `nobody`"));
}

/// A producer that publishes when the test says so.
struct ByHand {
  ByHand()
      : producer({.stream = "by-hand",
                  .schema = served_schema(),
                  .memory = small_memory,
                  .samples_per_epoch = 1000,
                  .linger_ms = 0,
                  .directory = folder.path(),
                  .log = [](LogLevel, std::string_view) {}}) {}
  ConsumerOptions options() const { return {.stream = "by-hand", .directory = folder.path()}; }
  /// Everything below that position, but for what nobody wants.
  void publish_until(std::uint64_t end) {
    while (published < end) {
      Loan loan = producer.loan(1).value();
      ServedStream::fill(loan, producer.schema());
      published = loan.position() + 1;
      loan.publish();
    }
  }

  StreamFolder folder;
  Producer producer;
  std::uint64_t published = 0;
};

TEST_CASE("After a time-out the iterator goes on, and so does a new loop", "[loader]") {
  ByHand stream;
  stream.publish_until(4);
  const auto options = DataLoaderOptions(4).timeout(std::chrono::milliseconds(20));
  const auto loader = make_shared_data_loader(stream.options(), options);
  auto it = loader->begin();
  CHECK(see(*it) == expected(0, 4));
  for (int i = 0; i < 2; ++i) {
    CHECK_THAT(refusal<c10::Error>([&] { ++it; }),
               Contains("Timeout") && Contains("timeout was 20 ms") && Contains("by-hand"));
    CHECK_THROWS_AS(*it, c10::Error);
    CHECK_THROWS_AS(it == loader->end(), c10::Error);
  }
  stream.publish_until(8);
  ++it;
  CHECK(see(*it) == expected(4, 4));
  CHECK_THROWS_AS(++it, c10::Error);
  stream.publish_until(16);
  CHECK(see(*it) == expected(8, 4));
  ++it;
  CHECK(see(*it) == expected(12, 4));

  int batches = 0;
  const auto loop = [&](std::uint64_t first) {
    for (auto& batch : *loader) {
      CHECK(see(batch) == expected(first, 4));
      first += 4;
      ++batches;
    }
  };
  it = loader->end();  // it goes, and with it the rest of the first epoch, which nobody wants now
  stream.publish_until(1004);
  CHECK_THROWS_AS(loop(0), c10::Error);
  CHECK(batches == 1);
  stream.publish_until(1012);
  CHECK_THROWS_AS(loop(4), c10::Error);
  CHECK(batches == 3);
  CHECK(loader->cursor() == 1012);
}

TEST_CASE("The first batch may be late as well", "[loader]") {
  ByHand stream;
  const auto options = DataLoaderOptions(4).timeout(std::chrono::milliseconds(0));
  const auto loader = make_shared_data_loader(stream.options(), options);
  auto it = loader->begin();
  CHECK_THROWS_AS(*it, c10::Error);
  CHECK_THROWS_AS(++it, c10::Error);
  stream.publish_until(4);
  CHECK(see(*it) == expected(0, 4));
}

TEST_CASE("How a stream ended comes through, after everything that it had", "[loader]") {
  ByHand stream;
  stream.publish_until(6);
  const auto loader = make_shared_data_loader(stream.options(), 4);
  std::vector<Seen> seen;
  const auto loop = [&] {
    for (auto& batch : *loader) seen.push_back(see(batch));
  };
  SECTION("stopped") {
    stream.producer.stop("enough");
    CHECK_THAT(refusal<Stopped>(loop), Contains("was stopped at position 6: enough"));
  }
  SECTION("failed") {
    stream.producer.fail("broken.jpg");
    CHECK_THAT(refusal<StreamFailed>(loop),
               Contains("failed, with this consumer at position 6: broken.jpg"));
  }
  CHECK(seen == std::vector<Seen>{expected(0, 4), expected(4, 2)});
  CHECK(loader->cursor() == 6);
  CHECK_THROWS_AS(loop(), StreamOver);
}

TEST_CASE("An evicted loader is told", "[loader]") {
  ByHand stream;
  stream.publish_until(8);
  ConsumerOptions options = stream.options();
  options.name = "slow";
  const auto loader = make_shared_data_loader(options, 4);
  auto it = loader->begin();
  static_cast<void>(*it);
  REQUIRE(stream.producer.evict("slow", "too slow"));
  CHECK_THAT(refusal<Revoked>([&] { loader->check(); }), Contains("too slow"));
  CHECK_THROWS_AS(++it, Revoked);
  loader->join();
  CHECK_THROWS_AS(loader->check(), Revoked);  // its last batch is no better for that
  static_cast<void>(*loader->begin());
  CHECK_NOTHROW(loader->check());
}

TEST_CASE("A killed producer is ProducerGone, and its batches stay", "[loader]") {
  const StreamFolder folder;
  ProducerProcess producer(folder.path());
  const auto loader = make_shared_data_loader({.stream = "served",
                                               .connect_timeout_ms = 20'000,
                                               .on_producer_gone = OnProducerGone::error,
                                               .directory = folder.path()},
                                              4);
  std::optional<Example<>> kept;
  CHECK_THAT(refusal<ProducerGone>([&] {
               for (;;) {
                 for (auto& batch : *loader) {
                   if (!kept) producer.kill();
                   kept = batch;
                 }
               }
             }),
             Contains("lost its producer"));
  const std::uint64_t cursor = loader->cursor();
  CHECK(cursor > 0);
  const auto size = static_cast<std::uint64_t>(kept->data.size(0));
  CHECK(see(*kept) == expected((cursor - size) % 10, size));
}

TEST_CASE("Keeping too many batches is an error that says so", "[loader]") {
  ServedStream stream({.samples_per_epoch = 2000});
  const auto loader = make_shared_data_loader(stream.options(), 100);
  std::vector<Example<>> kept;
  CHECK_THAT(refusal<RingTooSmall>([&] {
               for (auto& batch : *loader) kept.push_back(batch);
             }),
             Contains("this consumer keeps") && Contains("Drop batches sooner"));
  // What the ring has, and as much beside it.
  const std::uint64_t capacity = stream.producer().capacity();
  CHECK(kept.size() >= capacity / 100);
  CHECK(kept.size() <= 2 * capacity / 100 + 3);
  std::uint64_t first = 0;
  for (const auto& batch : kept) {
    CHECK(see(batch) == expected(first, 100));
    first += 100;
  }
  CHECK(loader->cursor() == first);
  kept.clear();  // what was thrown left nothing: the epoch goes on
  for (auto& batch : *loader) {
    CHECK(see(batch) == expected(first, 100));
    first += 100;
  }
  CHECK(first == 2000);
}

TEST_CASE("options in braces are options, not a name", "[torch]") {
  const std::string s = "/";
  const auto refused = [](auto make) { CHECK_THROWS_AS(make(), InvalidArgument); };
  refused([&] { return make_shared_data_loader({.stream = "/"}, 64); });
  refused([&] { return make_shared_data_loader({.stream = s, .batch_size = 64}); });
  refused([&] { return make_shared_data_loader({.stream = "/", .name = "lr-0.1"}, 64); });
  refused([&] { return make_shared_data_loader({.stream = s, .cursor = 5}, 64); });
  refused([&] { return make_shared_data_loader(s, 64); });
  refused([&] { return make_shared_data_loader("/"); });
  // These attach when they are first asked for a batch.
  static_cast<void>(SharedDataset<>({.stream = "/", .name = "lr-0.1"}));
  static_cast<void>(SharedDataset<>("/"));
}

}  // namespace
}  // namespace batchcast::testing
