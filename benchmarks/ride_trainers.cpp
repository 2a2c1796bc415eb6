// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Trainers of a stream whose producer is killed meanwhile. Each takes batches as fast as they come,
// and prints one JSON object: the digest of all bytes and ids, its longest pause between two
// batches, and when the first batch of each later producer came, in seconds since 1970.
// Usage: ride_trainers STREAM TRAINERS BATCH_SIZE EPOCHS
#include <batchcast/consumer.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::system_clock;

double seconds_since_1970() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

class Digest {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    while (bytes.size() >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), sizeof word);
      add(word);
      bytes = bytes.subspan(sizeof word);
    }
    for (const std::byte byte : bytes) add(static_cast<std::uint64_t>(byte));
  }
  void add(std::uint64_t word) noexcept {
    state_ = (state_ ^ word) * 0x9E37'79B9'7F4A'7C15;
    state_ ^= state_ >> 29;
  }
  [[nodiscard]] std::uint64_t value() const noexcept { return state_; }

 private:
  std::uint64_t state_ = 1;
};

struct Report {
  Digest digest;
  double longest_pause_s = 0;
  std::vector<double> first_of_lives;
};

Report train(const std::string& stream, std::uint64_t batch_size, std::uint64_t epochs) {
  batchcast::ConsumerOptions options;
  options.stream = stream;
  options.batch_size = batch_size;
  options.connect_timeout_ms = 60'000;
  batchcast::Consumer consumer(options);
  Report report;
  std::string life = consumer.incarnation();
  double last_s = 0;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (batchcast::Batch& batch : consumer) {
      const double now_s = seconds_since_1970();
      if (last_s != 0) report.longest_pause_s = std::max(report.longest_pause_s, now_s - last_s);
      if (consumer.incarnation() != life) {
        life = consumer.incarnation();
        report.first_of_lives.push_back(now_s);
      }
      for (std::size_t field = 0; field < batch.fields().size(); ++field) {
        const auto samples = batch.field<std::byte>(field);
        for (std::size_t i = 0; i < batch.size(); ++i) report.digest.add(samples[i]);
      }
      last_s = seconds_since_1970();
    }
  }
  return report;
}

void print(const Report& report) {
  std::string line = "{\"digest\":\"" + std::to_string(report.digest.value()) +
                     "\",\"longest_pause_s\":" + std::to_string(report.longest_pause_s) +
                     ",\"lives\":" + std::to_string(report.first_of_lives.size() + 1);
  if (!report.first_of_lives.empty()) {
    line += ",\"first_s\":" + std::to_string(report.first_of_lives.back());
  }
  std::printf("%s}\n", line.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "Usage: ride_trainers STREAM TRAINERS BATCH_SIZE EPOCHS\n");
    return 2;
  }
  const int trainers = std::atoi(argv[2]);
  for (int i = 0; i < trainers; ++i) {
    if (::fork() != 0) continue;
    try {
      print(
          train(argv[1], std::strtoull(argv[3], nullptr, 10), std::strtoull(argv[4], nullptr, 10)));
      std::_Exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::_Exit(1);
    }
  }
  int code = 0;
  for (int status = 0; ::wait(&status) > 0;) code = status == 0 ? code : 1;
  return code;
}
