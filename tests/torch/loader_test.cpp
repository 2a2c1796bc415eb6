// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// What a loop over torch's own loader sees, one over ours sees too: the same code runs over both.
#include "loader_support.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <vector>

namespace batchcast::testing {
namespace {

using torch::data::DataLoaderOptions;
using torch::data::Example;

/// A loader of torch's own over samples in memory.
struct TorchsOwn {
  explicit TorchsOwn(std::uint64_t samples) : dataset(samples) {}
  auto make(const DataLoaderOptions& options) const {
    return torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        InMemory(dataset).map(torch::data::transforms::Stack<>()), options);
  }
  auto make_unstacked(const DataLoaderOptions& options) const {
    return torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
        InMemory(dataset), options);
  }
  InMemory dataset;
};

/// A loader over a stream of the same samples.
struct Ours {
  explicit Ours(std::uint64_t samples) : stream({.samples_per_epoch = samples}) {}
  auto make(const DataLoaderOptions& options) const {
    return make_shared_data_loader(stream.options(), options);
  }
  auto make_unstacked(const DataLoaderOptions& options) const {
    return make_shared_data_loader<std::vector<Example<>>>(stream.options(), options);
  }
  ServedStream stream;
};

template <class Loader>
std::vector<Seen> epoch_of(Loader& loader) {
  std::vector<Seen> seen;
  for (auto& batch : loader) seen.push_back(see(batch));
  return seen;
}

/// The same walk over both loaders; what it returns has to be the same.
template <class Walk>
void same_for_both(std::uint64_t samples, const DataLoaderOptions& options, Walk walk) {
  INFO("samples " << samples << ", batch size " << options.batch_size());
  const TorchsOwn theirs(samples);
  const Ours ours(samples);
  const auto their_loader = theirs.make(options);
  const auto our_loader = ours.make(options);
  const auto expected = walk(*their_loader);
  CHECK(walk(*our_loader) == expected);
}

TEST_CASE("The epoch that a loader comes to is known before its first batch", "[loader]") {
  const ServedStream stream;
  const auto first = make_shared_data_loader(stream.options(), 5);
  CHECK(first->epoch() == 0);
  for (int epoch = 0; epoch < 2; ++epoch) epoch_of(*first);
  const auto second = make_shared_data_loader(stream.options(), 5);
  CHECK(second->epoch() == second->cursor() / 10);
  ConsumerOptions resumed = stream.options();
  resumed.join = Join::at;
  resumed.cursor = 28;
  CHECK(make_shared_data_loader(resumed, 5)->epoch() == 2);
}

TEST_CASE("Loops over the loader see the batches that torch's own loader gives", "[loader]") {
  for (const std::uint64_t samples : {1, 2, 9, 10, 64}) {
    for (const std::size_t batch_size : {1, 3, 9, 64}) {
      for (const bool drop_last : {false, true}) {
        const auto options = DataLoaderOptions(batch_size).drop_last(drop_last);
        same_for_both(samples, options, [](auto& loader) {
          std::vector<std::vector<Seen>> epochs;
          for (int epoch = 0; epoch < 3; ++epoch) epochs.push_back(epoch_of(loader));
          return epochs;
        });
      }
    }
  }
}

TEST_CASE("Without Stack a batch is one example a sample", "[loader]") {
  const TorchsOwn theirs(10);
  const Ours ours(10);
  const auto their_loader = theirs.make_unstacked(4);
  const auto our_loader = ours.make_unstacked(4);
  for (int epoch = 0; epoch < 2; ++epoch) CHECK(epoch_of(*our_loader) == epoch_of(*their_loader));
  auto it = our_loader->begin();
  auto& examples = *it;
  CHECK(examples[1].data.sizes() == at::IntArrayRef({1, 4, 4}));
  CHECK(examples[1].target.dim() == 0);
  CHECK(examples[0].data.storage().unsafeGetStorageImpl() ==
        examples[3].data.storage().unsafeGetStorageImpl());
}

TEST_CASE("Iterators can be used as torch's", "[loader]") {
  same_for_both(10, 4, [](auto& loader) {
    std::vector<Seen> seen;
    for (const auto& batch : loader) seen.push_back(see(batch));
    return seen;
  });
  same_for_both(10, 4, [](auto& loader) {
    std::vector<Seen> seen;
    for (auto it = loader.begin(); it != loader.end(); ++it) {
      seen.push_back(see(it->data, it->target));
      seen.push_back(see(*it));
    }
    return seen;
  });
  same_for_both(10, 4, [](auto& loader) {
    std::vector<Example<>> copies;
    std::copy(loader.begin(), loader.end(), std::back_inserter(copies));
    std::vector<Seen> seen;
    for (const auto& example : copies) seen.push_back(see(example));
    return seen;
  });
  same_for_both(10, 4, [](auto& loader) {  // ++ on an iterator that nobody has looked at
    auto it = loader.begin();
    ++it;
    return see(*it);
  });
  same_for_both(10, 4, [](auto& loader) {  // a copy of an iterator is the same iterator
    auto it = loader.begin();
    auto copy = it;
    ++copy;
    return std::vector<Seen>{see(*it), see(*copy)};
  });
}

TEST_CASE("Iterators compare, and refuse to go past the end, as torch's", "[loader]") {
  same_for_both(10, 4, [](auto& loader) {
    auto end = loader.end();
    auto it = loader.begin();
    std::vector<bool> said = {it == it, it == end, end == loader.end(), it != end};
    while (it != end) ++it;
    said.insert(said.end(), {it == end, end == it});
    const auto throws = [&](const auto& use) {
      try {
        use();
      } catch (const c10::Error&) {
        return true;
      }
      return false;
    };
    said.insert(said.end(), {throws([&] { ++it; }), throws([&] { static_cast<void>(*it); }),
                             throws([&] { ++end; }), throws([&] { static_cast<void>(*end); })});
    return said;
  });
}

TEST_CASE("Options, size and the end of the work are torch's", "[loader]") {
  const auto options = DataLoaderOptions(4).drop_last(true).timeout(std::chrono::seconds(7));
  same_for_both(10, options, [](auto& loader) {
    CHECK(loader.options().batch_size == 4);
    CHECK(loader.options().drop_last);
    CHECK(loader.options().workers == 0);
    CHECK(loader.options().timeout == std::chrono::milliseconds(7000));
    const std::vector<Seen> seen = epoch_of(loader);
    loader.join();
    loader.join();
    return seen;
  });
  const Ours ours(10);
  CHECK(ours.make(4)->size() == InMemory(10).size());
}

TEST_CASE("A loop that was left early is followed by the next epoch", "[loader]") {
  for (const std::uint64_t samples : {10, 2000}) {  // 2000 are more than the ring holds
    const Ours ours(samples);
    const auto loader = ours.make(4);
    for (int epoch = 0; epoch < 5; ++epoch) {
      std::uint64_t first = 0;
      for (auto& batch : *loader) {
        CHECK(see(batch) == expected(first, std::min<std::uint64_t>(4, samples - first)));
        first += 4;
        if (epoch % 2 == 1) break;
      }
      CHECK(loader->epoch() == static_cast<std::uint64_t>(epoch) + 1);
      CHECK(loader->cursor() == loader->epoch() * samples);
    }
    CHECK(loader->stats().epochs_mismatched == 0);
  }
}

TEST_CASE("A loop that begins ends the one before it", "[loader]") {
  const Ours ours(10);
  const auto loader = ours.make(4);
  auto old = loader->begin();
  CHECK(see(*old) == expected(0, 4));
  auto fresh = loader->begin();
  CHECK(loader->cursor() == 10);  // the rest of the first epoch was let go
  CHECK(see(*old) == expected(0, 4));
  ++old;
  CHECK(old == loader->end());
  CHECK(see(*fresh) == expected(0, 4));
  CHECK(loader->cursor() == 14);
  ++fresh;
  CHECK(see(*fresh) == expected(4, 4));
}

TEST_CASE("An iterator that nobody looked at takes nothing from the stream", "[loader]") {
  const Ours ours(10);
  const auto loader = ours.make(4);
  for (int i = 0; i < 3; ++i) static_cast<void>(loader->begin());
  CHECK(loader->cursor() == 0);
  CHECK(epoch_of(*loader).size() == 3);
  CHECK(loader->cursor() == 10);
}

TEST_CASE("The batch goes before the next one is fetched", "[loader]") {
  ServedStream stream({.samples_per_epoch = 1500});
  const std::uint64_t capacity = stream.producer().capacity();
  REQUIRE(capacity < 1500);
  const auto loader = make_shared_data_loader(stream.options(), capacity);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::uint64_t first = 0;
    for (auto& batch : *loader) {
      const std::uint64_t size = std::min(capacity, 1500 - first);
      CHECK(see(batch) == expected(first, size));
      CHECK(loader->stats().leases_held == 1);
      first += size;
    }
    CHECK(first == 1500);
    CHECK(loader->stats().leases_held == 0);
  }
  CHECK(loader->stats().epochs_matched == 3);
}

TEST_CASE("After join the loader has left, and the next loop attaches anew", "[loader]") {
  ServedStream stream({.samples_per_epoch = 10});
  const auto loader = make_shared_data_loader(stream.options(), 4);
  auto it = loader->begin();
  const at::Tensor kept = it->data;
  loader->join();
  CHECK(loader->cursor() == 4);
  CHECK(loader->stats().batches == 1);
  CHECK(see(kept, it->target) == expected(0, 4));
  ++it;
  CHECK(it == loader->end());
  const std::vector<Seen> seen = epoch_of(*loader);
  CHECK(seen == std::vector<Seen>{expected(0, 4), expected(4, 4), expected(8, 2)});
  CHECK(loader->stats().batches == 3);
}

TEST_CASE("A cursor is where the first loop begins, and only that", "[loader]") {
  ServedStream stream({.samples_per_epoch = 10});
  const Consumer slower(stream.options());  // so that the ring keeps everything
  ConsumerOptions options = stream.options();
  options.join = Join::at;
  options.cursor = 13;
  const auto loader = make_shared_data_loader(options, DataLoaderOptions(4));
  CHECK(loader->cursor() == 13);
  CHECK(epoch_of(*loader) == std::vector<Seen>{expected(3, 4), expected(7, 3)});
  CHECK(epoch_of(*loader).size() == 3);
  loader->join();
  CHECK(epoch_of(*loader).size() == 3);
}

TEST_CASE("Epochs are counted, and the last one is known to be the last", "[loader]") {
  ServedStream stream({.samples_per_epoch = 10, .epochs = 3});
  const auto loader = make_shared_data_loader(stream.options(), DataLoaderOptions(4));
  std::uint64_t epochs = 0;
  while (loader->has_next_epoch()) {
    CHECK(loader->epoch() == epochs);
    CHECK(epoch_of(*loader).size() == 3);
    ++epochs;
  }
  CHECK(epochs == 3);
  CHECK_THROWS_AS(epoch_of(*loader), StreamFinished);
}

TEST_CASE("A stream of unknown epoch length has no size", "[loader]") {
  const StreamFolder folder;
  Producer producer({.stream = "unsized", .schema = served_schema(), .directory = folder.path()});
  const auto loader =
      make_shared_data_loader({.stream = "unsized", .batch_size = 4, .directory = folder.path()});
  CHECK_FALSE(loader->size());
  for (std::uint64_t samples : {6, 3}) {
    Loan loan = producer.loan(samples).value();
    ServedStream::fill(loan, producer.schema());
    loan.publish();
    producer.end_epoch();
    std::uint64_t seen = 0;
    for (auto& batch : *loader) seen += static_cast<std::uint64_t>(batch.data.size(0));
    CHECK(seen == samples);
  }
}

TEST_CASE("The batch size can change between batches", "[loader]") {
  const Ours ours(10);
  const auto loader = ours.make(1);
  std::vector<Seen> seen;
  for (auto& batch : *loader) {
    seen.push_back(see(batch));
    loader->consumer().set_batch_size(seen.size() + 1);
  }
  CHECK(seen == std::vector<Seen>{expected(0, 1), expected(1, 2), expected(3, 3), expected(6, 4)});
}

TEST_CASE("Without DataLoaderOptions the consumer's batch size and tail count", "[loader]") {
  const Ours ours(10);
  ConsumerOptions options = ours.stream.options();
  options.batch_size = 4;
  options.tail = Tail::drop;
  const auto loader = make_shared_data_loader(options);
  CHECK(loader->options().batch_size == 4);
  CHECK(loader->options().drop_last);
  CHECK(epoch_of(*loader) == std::vector<Seen>{expected(0, 4), expected(4, 4)});
  const auto other = make_shared_data_loader(options, DataLoaderOptions(3));
  CHECK(other->options().batch_size == 3);
  CHECK(other->options().drop_last);
  options.tail = Tail::pad;
  const auto padded = make_shared_data_loader(options);
  CHECK_FALSE(padded->options().drop_last);
  std::vector<std::int64_t> sizes;
  for (auto& batch : *padded) sizes.push_back(batch.data.size(0));
  CHECK(sizes == std::vector<std::int64_t>{4, 4, 4});
}

TEST_CASE("An exception leaves no epoch of a rank", "[loader]") {
  const Ours ours(10);
  ConsumerOptions options = ours.stream.options();
  options.batch_size = 4;
  options.group = {"model", 0, 1};
  const auto loader = make_shared_data_loader(options);
  const auto fail_in_loop = [&] {
    for ([[maybe_unused]] auto& batch : *loader) throw std::logic_error("of the trainer");
  };
  CHECK_THROWS_AS(fail_in_loop(), std::logic_error);
  CHECK(loader->cursor() == 4);
  CHECK(epoch_of(*loader) == std::vector<Seen>{expected(4, 4), expected(8, 2)});
  CHECK(loader->cursor() == 10);
}

}  // namespace
}  // namespace batchcast::testing
