// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "samples.hpp"

#include <batchcast/batchcast.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace batchcast::testing {

struct ServePlan {
  unsigned threads = 1;
  std::uint64_t loan_max = 16;
  unsigned drops_per_hundred = 0;  ///< loans scribbled over and dropped before they are taken again
  std::uint64_t pause_us = 0;      ///< per loan
  std::uint64_t seed = 1;
};

/// A producer of checkable samples in this process, with threads of its own. Its log is kept.
class Server {
 public:
  Server(ProducerOptions options, ServePlan plan);
  /// Stops the stream unless it is over.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  [[nodiscard]] Producer& producer() noexcept { return *producer_; }
  /// Until no loan comes any more.
  void join();
  void stop();
  /// The longest that a loan took to come.
  [[nodiscard]] double longest_wait_seconds() const noexcept { return longest_wait_s_.load(); }
  void forget_longest_wait() noexcept { longest_wait_s_ = 0; }
  [[nodiscard]] std::string log() const;
  [[nodiscard]] std::string lines_with(const std::string& text) const;
  [[nodiscard]] bool logged(const std::string& text) const {
    return log().find(text) != std::string::npos;
  }

 private:
  void run(std::uint64_t seed);
  [[nodiscard]] std::optional<Loan> take(std::uint64_t samples_max, bool drops_one);

  ServePlan plan_;
  mutable std::mutex log_mutex_;
  std::string log_;
  std::mutex loan_mutex_;
  std::atomic<double> longest_wait_s_{0};
  std::optional<Producer> producer_;
  std::vector<std::thread> threads_;
};

/// A stream `s` with everything small.
[[nodiscard]] ProducerOptions producer_options(const std::string& schema = "mixed",
                                               std::uint64_t samples_per_epoch = 1'000,
                                               std::uint64_t memory = 512 << 10);

}  // namespace batchcast::testing
