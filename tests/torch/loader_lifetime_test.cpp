// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// What may outlive what, and who may be where.
#include "loader_support.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace batchcast::testing {
namespace {

using torch::data::Example;

TEST_CASE("Batches outlive iterator, loader, consumer and producer", "[loader]") {
  auto stream = std::make_unique<ServedStream>(Serving{.samples_per_epoch = 100});
  auto loader = make_shared_data_loader(stream->options(), 4);
  std::vector<Example<>> kept;
  for (auto& batch : *loader) {
    kept.push_back(batch);
    if (kept.size() == 3) break;
  }
  std::optional<torch::data::Iterator<Example<>>> iterator = loader->begin();
  kept.push_back(**iterator);
  SECTION("the loader goes first") { loader.reset(); }
  SECTION("the producer goes first") { stream.reset(); }
  SECTION("the iterator goes first") { iterator.reset(); }
  loader.reset();
  if (iterator) {
    ++*iterator;  // of a loader that is gone
    iterator.reset();
  }
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(see(kept[i]) == expected(4 * i, 4));
  stream.reset();
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(see(kept[i]) == expected(4 * i, 4));
  CHECK(see(kept[3]) == expected(0, 4));
  std::thread elsewhere([last = std::move(kept)]() mutable { last.clear(); });
  elsewhere.join();
}

TEST_CASE("What autograd saved of a batch is right when the loader has moved on", "[loader]") {
  const ServedStream stream({.samples_per_epoch = 2000});
  auto loader = make_shared_data_loader(stream.options(), 64);
  at::Tensor weight = torch::ones({16}, torch::requires_grad());
  at::Tensor loss;
  std::uint64_t batches = 0;
  for (auto& batch : *loader) {  // the ring goes round, but not over what is held
    if (batches == 0) loss = batch.data.view({-1, 16}).matmul(weight).sum();
    ++batches;
    if (batches == 8) CHECK(loader->stats().leases_held == 2);
    if (batches == 8) break;
  }
  loader.reset();
  loss.backward();
  float sum = 0;
  for (std::uint64_t i = 0; i < 64; ++i) sum += pixel_at(i, 5);
  CHECK(weight.grad()[5].item<float>() == Approx(sum));
}

TEST_CASE("A graph that is dropped on another thread gives its batch back", "[loader]") {
  const ServedStream stream({.samples_per_epoch = 100});
  const auto loader = make_shared_data_loader(stream.options(), 4);
  at::Tensor weight = torch::ones({16}, torch::requires_grad());
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : *loader) {
      at::Tensor loss = batch.data.view({-1, 16}).matmul(weight).sum();
      std::thread([loss = std::move(loss)]() mutable {
        loss.backward();
        loss.reset();
      }).join();
    }
    CHECK(loader->stats().leases_held == 0);
  }
}

#if TORCH_VERSION_MAJOR >= 2
TEST_CASE("What lazy clones kept is free when the loader needs it", "[loader]") {
  ServedStream stream({.samples_per_epoch = 1500});
  ConsumerOptions options = stream.options();
  options.explain_faults = false;  // libtorch's copy-on-write is for where no handler is
  const auto loader = make_shared_data_loader(options, stream.producer().capacity());
  auto it = loader->begin();
  at::Tensor goes = at::_lazy_clone(it->data);
  at::Tensor is_written = at::_lazy_clone(it->target);
  it->data = it->target = at::Tensor();
  CHECK(loader->stats().leases_held == 1);
  goes = at::Tensor();
  is_written.add_(1);
  CHECK_NOTHROW(*++it);
}
#endif

TEST_CASE("A loader can be used by another thread than made it", "[loader]") {
  const ServedStream stream;
  auto loader = make_shared_data_loader(stream.options(), 4);
  std::vector<Seen> seen;
  std::thread([&] {
    for (auto& batch : *loader) seen.push_back(see(batch));
    loader.reset();
  }).join();
  CHECK(seen == std::vector<Seen>{expected(0, 4), expected(4, 4), expected(8, 2)});
}

TEST_CASE("Several loaders of a process share a stream, each at its own batch size", "[loader]") {
  ServedStream stream({.samples_per_epoch = 1000, .epochs = 3});
  std::atomic<int> wrong = 0;
  std::vector<std::unique_ptr<SharedDataLoader<>>> loaders;
  for (const std::size_t batch_size : {7, 64, 100}) {
    loaders.push_back(make_shared_data_loader(stream.options(), batch_size));
  }
  std::vector<std::thread> trainers;
  for (auto& loader : loaders) {
    trainers.emplace_back([&wrong, &loader = *loader] {
      while (loader.has_next_epoch()) {
        std::uint64_t first = 0;
        for (auto& batch : loader) {
          const auto size = static_cast<std::uint64_t>(batch.data.size(0));
          if (see(batch) != expected(first, size)) ++wrong;
          first += size;
        }
        if (first != 1000) ++wrong;
      }
    });
  }
  for (std::thread& trainer : trainers) trainer.join();
  CHECK(wrong == 0);
  for (const auto& loader : loaders) CHECK(loader->stats().epochs_matched == 3);
}

TEST_CASE("Two loaders take turns in one thread", "[loader]") {
  const ServedStream stream({.samples_per_epoch = 100});
  const auto first = make_shared_data_loader(stream.options(), 10);
  const auto second = make_shared_data_loader(stream.options(), 20);
  auto other = second->begin();
  std::uint64_t position = 0;
  for (auto& batch : *first) {
    CHECK(see(batch) == expected(position, 10));
    if (position % 20 == 0) {
      CHECK(see(*other) == expected(position, 20));
      ++other;
    }
    position += 10;
  }
  CHECK(other == second->end());
}

TEST_CASE("Evaluation at different cadences, over streams larger than their rings", "[loader]") {
  const StreamFolder folder;
  constexpr std::uint64_t train_samples = 1200;
  constexpr std::uint64_t test_samples = 700;
  const ServedStream train({.samples_per_epoch = train_samples, .stream = "train"}, folder.path());
  const ServedStream test({.samples_per_epoch = test_samples, .stream = "test"}, folder.path());
  std::atomic<int> wrong = 0;
  const auto whole_epoch = [&](SharedDataLoader<>& loader, std::uint64_t samples) {
    std::uint64_t first = 0;
    for (auto& batch : loader) {
      const auto size = static_cast<std::uint64_t>(batch.data.size(0));
      if (see(batch) != expected(first, size)) ++wrong;
      first += size;
    }
    if (first != samples) ++wrong;
  };
  const auto trainer = [&](int evaluates_every) {
    ConsumerOptions evaluation = test.options();
    evaluation.between_epochs = BetweenEpochs::let_go;
    const auto train_loader = make_shared_data_loader(train.options(), 50);
    const auto test_loader = make_shared_data_loader(evaluation, 100);
    for (int epoch = 1; epoch <= 6; ++epoch) {
      whole_epoch(*train_loader, train_samples);
      if (epoch % evaluates_every == 0) whole_epoch(*test_loader, test_samples);
    }
  };
  std::thread often(trainer, 1);
  std::thread rarely(trainer, 3);
  often.join();
  rarely.join();
  CHECK(wrong == 0);
}

}  // namespace
}  // namespace batchcast::testing
