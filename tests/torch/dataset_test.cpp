// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// SharedDataset behind torch's own data loader.
#include "loader_support.hpp"

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace batchcast::testing {
namespace {

using Catch::Contains;
using torch::data::DataLoaderOptions;
using torch::data::Example;
namespace transforms = torch::data::transforms;

template <class Loader>
std::vector<Seen> epoch_through(Loader& loader) {
  std::vector<Seen> seen;
  for (auto& batch : loader) seen.push_back(see(batch));
  return seen;
}

std::vector<Seen> loop(const SharedDataset<>& dataset) {
  const auto loader = torch::data::make_data_loader(dataset, 4);
  return epoch_through(*loader);
}

const std::vector<Seen>& ten_by_four() {
  static const std::vector<Seen> epoch = {expected(0, 4), expected(4, 4), expected(8, 2)};
  return epoch;
}

TEST_CASE("torch's loader over the dataset gives the stream's batches", "[dataset]") {
  const ServedStream stream;
  for (const std::size_t workers : {0, 1}) {
    const auto loader = torch::data::make_data_loader(SharedDataset<>(stream.options()),
                                                      DataLoaderOptions(4).workers(workers));
    for (int epoch = 0; epoch < 3; ++epoch) CHECK(epoch_through(*loader) == ten_by_four());
  }
}

/// One thread for each rank of a group of two.
template <class Train>
void on_two_ranks(Train&& train) {
  std::vector<std::thread> ranks;
  for (std::uint32_t rank = 0; rank < 2; ++rank)
    ranks.emplace_back([&train, rank] { train(rank); });
  for (std::thread& rank : ranks) rank.join();
}

TEST_CASE("Ranks of a group get all of each batch between them", "[dataset]") {
  const ServedStream stream;
  constexpr std::uint32_t world = 2;
  std::vector<std::vector<Seen>> of_ranks(world);
  SECTION("with the shared loader") {
    on_two_ranks([&](std::uint32_t rank) {
      namespace bc = batchcast;
      const auto train = [&](const Example<>& batch) { of_ranks[rank].push_back(see(batch)); };
      bc::ConsumerOptions options = stream.options();
      // [snippet ranks]
      options.group = {"resnet", rank, world};  // any integers; "auto" by torchrun, mpirun, srun
      options.batch_size = 2;                   // of each rank
      auto loader = bc::make_shared_data_loader(options);
      for (auto& batch : *loader) train(batch);
      // [snippet end]
    });
  }
  SECTION("with torch's") {
    on_two_ranks([&](std::uint32_t rank) {
      ConsumerOptions options = stream.options();
      options.group = {"resnet", rank, world};
      options.batch_size = 2;
      SharedDataset<> dataset(options);
      of_ranks[rank] = epoch_through(*torch::data::make_data_loader(dataset, 2));
      CHECK(dataset.cursor() == 10);
    });
  }
  CHECK(of_ranks[0] == std::vector<Seen>{expected(0, 2), expected(4, 2), expected(8, 1)});
  CHECK(of_ranks[1] == std::vector<Seen>{expected(2, 2), expected(6, 2), expected(9, 1)});
}

TEST_CASE("A rank's dataset and its loader have one batch size, and one beginning", "[dataset]") {
  const ServedStream stream;
  ConsumerOptions options = stream.options();
  options.group = {"alone", 0, 1};
  options.batch_size = 4;
  SharedDataset<> dataset(options);
  dataset.reset();
  CHECK(see(*dataset.get_batch(4)) == expected(0, 4));
  CHECK_THROWS_WITH(dataset.get_batch(2), Contains("batches of 2") && Contains("batches of 4") &&
                                              Contains("ConsumerOptions::batch_size"));
  std::stringstream checkpoint;
  torch::save(dataset, checkpoint);
  CHECK_THROWS_WITH(torch::load(dataset, checkpoint), Contains("`alone` has begun"));
}

TEST_CASE("Several workers give every batch once, in whatever order", "[dataset]") {
  const ServedStream stream;
  const auto options = DataLoaderOptions(2).workers(3).max_jobs(6);
  const auto loader = torch::data::make_data_loader(SharedDataset<>(stream.options()), options);
  for (int epoch = 0; epoch < 10; ++epoch) {
    std::vector<std::int64_t> labels;
    for (auto& batch : *loader) {
      const Seen seen = see(batch);
      CHECK(seen == expected(static_cast<std::uint64_t>(seen.targets[0]), 2));
      labels.insert(labels.end(), seen.targets.begin(), seen.targets.end());
    }
    std::sort(labels.begin(), labels.end());
    CHECK(labels == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  }
}

TEST_CASE("The dataset can be mapped", "[dataset]") {
  const ServedStream stream;
  SECTION("stacked") {
    auto dataset =
        SharedDataset<std::vector<Example<>>>(stream.options()).map(transforms::Stack<>());
    CHECK(dataset.size() == torch::optional<std::size_t>(10));
    const auto loader = torch::data::make_data_loader(std::move(dataset), 4);
    CHECK(epoch_through(*loader) == ten_by_four());
  }
  SECTION("batch by batch") {
    const auto twice = [](Example<> batch) {
      batch.data = batch.data * 2;
      return batch;
    };
    SharedDataset<> dataset(stream.options());  // a handle: what is mapped is the same dataset
    const auto loader = torch::data::make_data_loader(
        dataset.map(transforms::BatchLambda<Example<>, Example<>>(twice)), 4);
    auto it = loader->begin();
    CHECK(it->data.div(2).equal(it->data / 2));
    CHECK(see(it->data / 2, it->target) == expected(0, 4));
    CHECK(dataset.cursor() == 4);
  }
}

TEST_CASE("Batches are of the size that is asked for, and none crosses an epoch", "[dataset]") {
  ServedStream stream;
  SharedDataset<> dataset(stream.options());
  dataset.reset();
  std::uint64_t first = 0;
  for (const std::uint64_t size : {1, 4, 2, 3}) {
    CHECK(see(*dataset.get_batch(size)) == expected(first, size));
    first += size;
  }
  for (int i = 0; i < 3; ++i) CHECK_FALSE(dataset.get_batch(4));
  dataset.reset();
  CHECK(see(*dataset.get_batch(4)) == expected(0, 4));
  dataset.reset();  // in the middle of an epoch: its rest is let go
  CHECK(dataset.cursor() == 20);
  CHECK(see(*dataset.get_batch(16)) == expected(0, 10));
  CHECK_THROWS_AS(dataset.get_batch(0), InvalidArgument);
  CHECK_THROWS_AS(dataset.get_batch(stream.producer().capacity() + 1), RingTooSmall);
}

TEST_CASE("A loop over torch's loader that was left early is followed by the next", "[dataset]") {
  const ServedStream stream;
  SharedDataset<> dataset(stream.options());
  const auto loader = torch::data::make_data_loader(dataset, 4);
  for (int epoch = 0; epoch < 4; ++epoch) {
    for (auto& batch : *loader) {
      CHECK(see(batch) == expected(0, 4));
      break;
    }
  }
  CHECK(dataset.cursor() == 34);
}

TEST_CASE("The last epoch is known, and what follows it is StreamFinished", "[dataset]") {
  const ServedStream stream({.epochs = 2});
  SharedDataset<> dataset(stream.options());
  const auto loader = torch::data::make_data_loader(dataset, 4);
  int epochs = 0;
  for (; dataset.has_next_epoch(); ++epochs) CHECK(epoch_through(*loader) == ten_by_four());
  CHECK(epochs == 2);
  CHECK_THROWS_AS(epoch_through(*loader), StreamFinished);
}

TEST_CASE("A worker's exception is torch's, around ours", "[dataset]") {
  const ServedStream stream({.epochs = 1});
  const auto loader = torch::data::make_data_loader(SharedDataset<>(stream.options()),
                                                    DataLoaderOptions(4).workers(1).max_jobs(1));
  CHECK(epoch_through(*loader) == ten_by_four());
  CHECK_THROWS_WITH(epoch_through(*loader), Contains("is finished: all of its epochs were made"));
}

TEST_CASE("What workers fetch ahead needs room in the ring", "[dataset]") {
  const ServedStream stream({.samples_per_epoch = 2000});
  {
    const auto too_many = torch::data::make_data_loader(
        SharedDataset<>(stream.options()), DataLoaderOptions(200).workers(1).max_jobs(4));
    // Kept, so that it does not depend on how far ahead the worker gets.
    std::vector<Example<>> kept;
    const auto keep_all = [&] {
      for (const auto& batch : *too_many) kept.push_back(batch);
    };
    CHECK_THROWS_WITH(keep_all(), Contains("Drop batches sooner"));
  }
  const auto few = torch::data::make_data_loader(SharedDataset<>(stream.options()),
                                                 DataLoaderOptions(100).workers(1).max_jobs(3));
  CHECK(epoch_through(*few).size() == 20);
}

TEST_CASE("The dataset attaches on first use, and leaves when told to", "[dataset]") {
  const StreamFolder folder;
  ConsumerOptions options{.stream = "served",
                          .connect_timeout_ms = 0,
                          .directory = folder.path(),
                          .log = [](LogLevel, std::string_view) {}};
  SharedDataset<> dataset(options);
  CHECK_THROWS_AS(dataset.reset(), StreamNotFound);
  {
    ServedStream stream({}, folder.path());
    dataset.reset();
    CHECK(see(*dataset.get_batch(4)) == expected(0, 4));
    CHECK(stream.producer().stats().consumers.size() == 1);
    dataset.leave();
    dataset.leave();
    CHECK(dataset.size() == torch::optional<std::size_t>(10));  // attaches anew
    CHECK(dataset.get_batch(20)->data.size(0) == 10);
  }
  const auto drain = [&] {
    for (;;) static_cast<void>(loop(dataset));
  };
  CHECK_THROWS_AS(drain(), Stopped);
}

TEST_CASE("The dataset leaves with its last handle", "[dataset]") {
  ServedStream stream;
  {
    const SharedDataset<> kept = [&] {
      SharedDataset<> dataset(stream.options());
      const auto loader = torch::data::make_data_loader(dataset, 4);
      static_cast<void>(epoch_through(*loader));
      return dataset;
    }();
    CHECK(kept.cursor() == 10);
    CHECK(stream.producer().stats().consumers.size() == 1);
  }
  for (int i = 0; i < 2000 && !stream.producer().stats().consumers.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  CHECK(stream.producer().stats().consumers.empty());
}

TEST_CASE("Wrong fields are refused on first use", "[dataset]") {
  const ServedStream stream;
  SharedDataset<> dataset(stream.options(), {.data = "imag"});
  CHECK_THROWS_WITH(dataset.reset(), Contains("Did you mean `image`?"));
}

}  // namespace
}  // namespace batchcast::testing
