// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Trains a network of LeNet's size on Fashion-MNIST: `example_06_fashion_mnist DATASET`, where
// DATASET is the folder of its four files (.gz or not). Any number of these may run side by side,
// with different options: they take the same two streams, which the first one starts.
#include "sweep/arguments.hpp"
#include "sweep/training.hpp"

#include <batchcast/torch.hpp>

#include <chrono>
#include <cstdio>
#include <string>

namespace bc = batchcast;

namespace {

constexpr const char* usage =
    "usage: %s DATASET [--train STREAM] [--test STREAM] [--recipe RECIPE] [--epochs N]\n"
    "       [--lr RATE] [--batch-size N] [--threads N] [--seed N] [--accuracy SHARE]\n"
    "DATASET   folder of train-images-idx3-ubyte and so on, .gz or not\n"
    "--train   name of the stream to train on (fashion-train), --test to test on (fashion-test)\n"
    "--recipe  what is done to the images that it is trained on (mnist)\n"
    "--accuracy  fail below that (0)\n";

struct Options {
  std::string dataset, train, test, recipe;
  std::uint64_t epochs, batch_size, seed;
  double learning_rate, accuracy_min;
  int threads;
};

Options options_of(sweep::Arguments arguments) {
  Options options{.dataset = arguments.word("DATASET"),
                  .train = arguments.text("train", "fashion-train"),
                  .test = arguments.text("test", "fashion-test"),
                  .recipe = arguments.text("recipe", "mnist"),
                  .epochs = arguments.number<std::uint64_t>("epochs", 3),
                  .batch_size = arguments.number<std::uint64_t>("batch-size", 64),
                  .seed = arguments.number<std::uint64_t>("seed", 1),
                  .learning_rate = arguments.number("lr", 0.002),
                  .accuracy_min = arguments.number("accuracy", 0.0),
                  .threads = arguments.number("threads", 1)};
  arguments.finish();
  return options;
}

/// Returns the accuracy after the last epoch.
double run(const Options& options) {
  // [snippet streams]
  // The first trainer starts a process that serves each. A ring may be smaller than an epoch.
  auto train = bc::make_shared_data_loader(
      {.stream = options.train,
       .batch_size = options.batch_size,
       .start = {
           .source = "idx:" + options.dataset, .recipe = options.recipe, .memory = 16 << 20}});
  // Trainers test at different times: between its loops this one holds no other up.
  auto test =
      bc::make_shared_data_loader({.stream = options.test,
                                   .batch_size = 500,
                                   .between_epochs = bc::BetweenEpochs::let_go,
                                   .start = {.source = "idx:" + options.dataset + "?split=test",
                                             .recipe = "mnist",
                                             .memory = 16 << 20}});
  // [snippet end]
  auto network = sweep::make_network();
  sweep::Optimizer optimizer(network, options.learning_rate,
                             static_cast<double>(options.epochs * train->size().value()));
  double accuracy = 0;
  for (std::uint64_t epoch = 1; epoch <= options.epochs; ++epoch) {
    const auto began = std::chrono::steady_clock::now();
    std::int64_t samples = 0;
    double loss = 0;
    sweep::train_epoch(network, optimizer, *train, [&](std::int64_t batch, double batch_loss) {
      samples += batch;
      loss += batch_loss * static_cast<double>(batch);
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
    accuracy = sweep::accuracy_of(network, *test);
    std::printf("epoch %lu: loss %.3f, test accuracy %.2f%%, %.0f samples/s\n", epoch,
                loss / static_cast<double>(samples), 100 * accuracy,
                static_cast<double>(samples) / seconds.count());
    std::fflush(stdout);
  }
  const bc::ConsumerStats stats = train->stats();
  std::printf("waited %.2f s for data; %lu of %lu epochs with matching receipts\n",
              stats.wait_seconds + test->stats().wait_seconds, stats.epochs_matched,
              options.epochs);
  return accuracy;
}

}  // namespace

int main(int argc, char** argv) try {
  const Options options = options_of(sweep::Arguments({argv + 1, argv + argc}));
  // A second thread gains a fifth with so small a network, and the producer wants a core as well.
  torch::set_num_threads(options.threads);
  torch::manual_seed(options.seed);
  const double accuracy = run(options);
  if (accuracy >= options.accuracy_min) return 0;
  std::fprintf(stderr, "test accuracy %.2f%%: less than was asked for\n", 100 * accuracy);
  return 1;
} catch (const sweep::UsageError& error) {
  std::fprintf(stderr, "%s\n", error.what());
  std::fprintf(stderr, usage, argv[0]);
  return 2;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
