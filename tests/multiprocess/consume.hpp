// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "process.hpp"
#include "samples.hpp"

#include <batchcast/batchcast.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace batchcast::testing {

/// How a consumer goes about it.
struct ConsumePlan {
  std::uint64_t epochs = 0;       ///< loops to run; 0: until the stream is over
  std::uint64_t batches = 0;      ///< leave after so many; 0: never
  std::uint64_t hold = 0;         ///< batches kept besides the newest
  std::uint64_t pause_us = 0;     ///< after each batch
  std::uint64_t break_every = 0;  ///< leave every so-many-th loop in its middle
  bool dance = false;             ///< another batch size every few batches
  std::uint64_t seed = 1;
  std::function<void(const Batch&)> on_batch = {};
};

struct Consumed {
  std::string name;
  std::string fault;  ///< of the samples or their order
  std::string over;   ///< name of the exception that ended it; empty: it left
  std::string text;   ///< of that exception
  std::uint64_t first = 0;
  std::uint64_t cursor = 0;
  std::uint64_t epochs = 0;  ///< loops that came to their end
  double first_batch_seconds = 0;
  ConsumerStats stats;

  [[nodiscard]] std::string line() const;
};

/// Consumes and checks every byte. `attached` is called in between.
[[nodiscard]] Consumed consume(const ConsumerOptions& options, const ConsumePlan& plan,
                               const std::function<void(Consumer&)>& attached = {});

/// The type of one of batchcast's exceptions.
[[nodiscard]] std::string kind_of(const std::exception& error);

/// For the stream `s`, where the tests take it.
[[nodiscard]] ConsumerOptions stream_options();
/// The same, with batches of that size and without messages.
[[nodiscard]] inline ConsumerOptions quiet(std::uint64_t batch_size = 64) {
  ConsumerOptions options = stream_options();
  options.batch_size = batch_size;
  options.log = [](LogLevel, std::string_view) {};
  return options;
}
/// Options and plan as the `consume` role takes them.
[[nodiscard]] ConsumerOptions consumer_options(const Words& words);
[[nodiscard]] ConsumePlan consume_plan(const Words& words);

/// Fails the test unless a `consume` role's last line says that all was well. Returns the line.
Words expect_sound(Process& consumer, const std::string& over, int timeout_ms = 60'000);

}  // namespace batchcast::testing
