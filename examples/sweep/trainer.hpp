// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "arguments.hpp"
#include "report.hpp"
#include "training.hpp"

#include <batchcast/torch.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace sweep {

struct TrainerOptions {
  std::string name;
  std::string train_stream;
  std::string test_stream;
  double learning_rate = 0;
  std::uint64_t batch_size = 0;
  std::uint64_t epochs = 0;
  int threads = 1;
  std::uint64_t seed = 0;
};

/// One trainer of a sweep, in a separate process. It trains on every epoch of one stream, tests on
/// another one after each, and prints its TrainerReport five times a second.
class Trainer {
 public:
  explicit Trainer(const TrainerOptions& options)
      : train_(batchcast::make_shared_data_loader({.stream = options.train_stream,
                                                   .batch_size = options.batch_size,
                                                   .name = options.name})),
        // Trainers test at different times: one that is not testing pauses in the test stream, so
        // that the others do not wait for it there.
        test_(batchcast::make_shared_data_loader(
            {.stream = options.test_stream,
             .batch_size = 500,
             .name = options.name,
             .between_epochs = batchcast::BetweenEpochs::let_go})),
        network_(make_network()),
        samples_total_(options.epochs * train_->size().value()),
        optimizer_(network_, options.learning_rate, static_cast<double>(samples_total_)) {
    report_.samples_total = samples_total_;
  }

  void run() {
    while (train_->has_next_epoch()) {
      last_batch_ = Clock::now();
      train_epoch(network_, optimizer_, *train_,
                  [this](std::int64_t samples, double loss) { count(samples, loss); });
      report_.accuracy = accuracy_of(network_, *test_);
      ++report_.epochs;
      report_.receipts = train_->stats().epochs_matched;
      tell();
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }
  [[nodiscard]] double waited() const {
    return train_->stats().wait_seconds + test_->stats().wait_seconds;
  }

  void count(std::int64_t samples, double loss) {
    if (report_.samples == 0) {
      // Until here it waited for the other trainers to attach, not for data.
      waited_before_ = waited();
      last_batch_ = Clock::now();
      report_.loss = loss;
    }
    report_.samples += static_cast<std::uint64_t>(samples);
    report_.loss += 0.02 * (loss - report_.loss);
    report_.train_seconds += seconds_since(last_batch_);
    last_batch_ = Clock::now();
    if (seconds_since(last_told_) > 0.2) tell();
  }

  void tell() {
    report_.wait_seconds = waited() - waited_before_;
    print(report_);
    last_told_ = Clock::now();
  }

  std::unique_ptr<batchcast::SharedDataLoader<>> train_;
  std::unique_ptr<batchcast::SharedDataLoader<>> test_;
  torch::nn::Sequential network_;
  std::uint64_t samples_total_;
  Optimizer optimizer_;
  TrainerReport report_;
  double waited_before_ = 0;
  Clock::time_point last_batch_;
  Clock::time_point last_told_;
};

inline void run_trainer(Arguments arguments) {
  TrainerOptions options;
  options.name = arguments.word("NAME");
  options.train_stream = arguments.word("TRAIN_STREAM");
  options.test_stream = arguments.word("TEST_STREAM");
  options.learning_rate = arguments.number("lr", 0.002);
  options.batch_size = arguments.number<std::uint64_t>("batch-size", 64);
  options.epochs = arguments.number<std::uint64_t>("epochs", 5);
  options.threads = arguments.number("threads", 1);
  options.seed = arguments.number<std::uint64_t>("seed", 1);
  arguments.finish();
  // libtorch takes as many threads as there are processors, in each process: four trainers on two
  // cores would be eight threads that wait for each other at every operator.
  torch::set_num_threads(options.threads);
  torch::manual_seed(options.seed);
  Trainer(options).run();
}

}  // namespace sweep
