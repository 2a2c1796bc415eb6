// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serve.hpp"

#include "process.hpp"

#include <batchcast/core/clock.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <sstream>
#include <utility>

namespace batchcast::testing {

Server::Server(ProducerOptions options, ServePlan plan) : plan_(plan) {
  options.log = [this](LogLevel, std::string_view text) {
    const std::lock_guard lock(log_mutex_);
    log_ += text;
    log_ += '\n';
  };
  producer_.emplace(std::move(options));
  for (unsigned i = 0; i < plan_.threads; ++i) {
    threads_.emplace_back([this, i] { run(plan_.seed * 1'000 + i); });
  }
}

Server::~Server() {
  stop();
  producer_.reset();
}

void Server::join() {
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Server::stop() {
  producer_->stop("the test is over");
  join();
}

std::string Server::log() const {
  const std::lock_guard lock(log_mutex_);
  return log_;
}

std::string Server::lines_with(const std::string& text) const {
  std::istringstream all(log());
  std::string found;
  for (std::string line; std::getline(all, line);) {
    if (line.find(text) != std::string::npos) found += line + '\n';
  }
  return found;
}

void Server::run(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  while (auto loan =
             take(1 + random() % plan_.loan_max, random() % 100 < plan_.drops_per_hundred)) {
    fill(*loan);
    if (plan_.pause_us != 0) pause_us(plan_.pause_us);
    loan->publish();
  }
}

std::optional<Loan> Server::take(std::uint64_t samples_max, bool drops_one) {
  // One at a time, so that what is dropped is the newest.
  const std::lock_guard lock(loan_mutex_);
  const std::uint64_t started_ns = now_ns();
  auto loan = producer_->loan(samples_max);
  const double waited_s = seconds_from_ns(now_ns() - started_ns);
  longest_wait_s_ = std::max(longest_wait_s_.load(), waited_s);
  if (!loan || !drops_one) return loan;
  scribble(*loan);
  loan.reset();
  return producer_->loan(samples_max);
}

ProducerOptions producer_options(const std::string& schema, std::uint64_t samples_per_epoch,
                                 std::uint64_t memory) {
  ProducerOptions options;
  options.stream = "s";
  options.schema = schema_of(schema);
  options.samples_per_epoch = samples_per_epoch;
  options.memory = memory;
  options.linger_ms = 20'000;
  if (test_placement().is_host()) return options;
  options.places = {test_placement()};
  // The memory of a GPU comes in pieces that are larger than these rings.
  const char* const device_memory = std::getenv("BATCHCAST_TEST_DEVICE_MEMORY");
  if (device_memory != nullptr) options.device_memory = std::stoull(device_memory);
  return options;
}

}  // namespace batchcast::testing
