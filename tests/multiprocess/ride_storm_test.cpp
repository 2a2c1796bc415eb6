// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Producers and trainers are killed and stopped at random moments: while they start, join, drain,
// wait and leave, at epochs' ends, before and after jumps. Those that survive get what no death
// disturbs.
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "ride.hpp"
#include "samples.hpp"

#include <signal.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr std::array<std::uint64_t, 4> sizes = {37, 64, 7, 250};
constexpr std::size_t others_max = 6;

class Storm {
 public:
  explicit Storm(std::uint64_t seed) : random_(seed) {
    constexpr std::array<std::uint64_t, 3> epochs = {3'000, 700, 263};
    epoch_samples_ = epochs[below(epochs.size())];
    const bool leaves = below(2) == 0;
    // What is held of a loop that was left keeps its place in a GPU's ring.
    if (leaves && test_placement().is_host()) leaves_ = {2 + below(3), 1 + below(3)};
    std::printf("epochs of %llu samples, of %llu one is left after %llu batches\n",
                static_cast<unsigned long long>(epoch_samples_),
                static_cast<unsigned long long>(leaves_.every),
                static_cast<unsigned long long>(leaves_.batches));
  }

  void begin() {
    producer_ = started({"wait_for=4"});
    static_cast<void>(producer_.expect("serves"));
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      survivors_.emplace_back(
          "rider", std::vector<std::string>{"batch=" + std::to_string(sizes[i]), "until_told=1",
                                            "hold=" + std::to_string(i),
                                            "pause_us=" + std::to_string(40 * sizes[i]),
                                            "leaves_every=" + std::to_string(leaves_.every),
                                            "leaves_after=" + std::to_string(leaves_.batches)});
      static_cast<void>(survivors_.back().expect("attached"));
    }
  }

  void blow(std::uint64_t producer_kills) {
    while (producers_killed_ < producer_kills) {
      pause_us(below(below(16) == 0 ? 400'000 : 16'000));
      switch (below(64)) {  // ten trainers die for each producer
        case 0:
          kill_producer();
          break;
        case 1:  // while a trainer joins
          join();
          pause_us(below(40'000));
          kill_producer();
          break;
        case 2:
        case 3:
          stop_one();
          break;
        case 4:
        case 5:
        case 6:  // one that dies while it starts
          join();
          pause_us(below(15'000));
          kill_other(others_.size() - 1);
          break;
        default:
          if (others_.size() < others_max && below(2) == 0) {
            join();
          } else if (!others_.empty()) {
            kill_other(below(others_.size()));
          }
      }
    }
  }

  void end() {
    others_.clear();
    for (Process& survivor : survivors_) survivor.tell("enough");
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const Words words = expect_sound(survivors_[i], "left", 120'000);
      const auto epochs = static_cast<std::uint64_t>(words.number("epochs"));
      CHECK(words.text("digest") == digest_of_ride(sizes[i], epochs, epoch_samples_, leaves_));
      CHECK(words.number("lives") > 1);
    }
    std::printf("ride storm: %llu killed, of them %llu producers\n",
                static_cast<unsigned long long>(producers_killed_ + trainers_killed_),
                static_cast<unsigned long long>(producers_killed_));
    producer_.tell("stop");
    static_cast<void>(producer_.wait());
  }

 private:
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  [[nodiscard]] Process started(std::vector<std::string> words = {}) const {
    words.push_back("n=" + std::to_string(epoch_samples_));
    words.emplace_back("threads=2");
    return Process("phoenix", words);
  }

  void kill_producer() {
    if (below(6) == 0) {
      producer_.signal(SIGSTOP);
      pause_us(below(100'000));
    }
    producer_.kill();
    static_cast<void>(producer_.wait());
    ++producers_killed_;
    if (below(2) == 0) pause_us(below(200'000));
    producer_ = started();
    // Some die before they serve, or as the first trainers come to them.
    while (below(4) == 0) {
      pause_us(below(below(2) == 0 ? 40'000 : 400'000));
      producer_.kill();
      static_cast<void>(producer_.wait());
      ++producers_killed_;
      producer_ = started();
    }
    static_cast<void>(producer_.expect("serves"));
  }

  void join() {
    constexpr std::array<const char*, 4> kinds = {"pace=lockstep", "pace=free", "between=let_go",
                                                  "join=next_epoch"};
    std::vector<std::string> words = {"batch=" + std::to_string(1 + below(300)),
                                      "pause_us=" + std::to_string(below(2'000)),
                                      kinds[below(kinds.size())]};
    // Some leave by themselves.
    if (below(4) == 0) words.push_back("epochs=" + std::to_string(1 + below(3)));
    if (below(3) == 0) words.insert(words.end(), {"leaves_every=1", "leaves_after=2"});
    others_.emplace_back("rider", words);
  }

  /// What it said until then has to be sound.
  void kill_other(std::size_t index) {
    while (const auto line = others_[index].line(1)) {
      if (!line->starts_with("done")) continue;
      const Words words(*line);
      INFO(words.line());
      CHECK(words.text("sound") == "yes");
      CHECK(words.number("mismatched") == 0);
      const std::string over = words.text("over");
      CHECK((over == "left" || over == "Refused" || over == "StreamNotFound"));
    }
    others_.erase(others_.begin() + static_cast<std::ptrdiff_t>(index));
    ++trainers_killed_;
  }

  void stop_one() {
    const std::uint64_t kind = below(4);
    Process& stopped = kind == 0                       ? producer_
                       : kind == 1 && !others_.empty() ? others_[below(others_.size())]
                                                       : survivors_[below(survivors_.size())];
    stopped.signal(SIGSTOP);
    pause_us(below(200'000));
    if (&stopped != &producer_ && below(3) == 0) kill_producer();  // while it cannot see it
    stopped.signal(SIGCONT);
  }

  std::mt19937_64 random_;
  std::uint64_t epoch_samples_ = 0;
  EarlyLeaves leaves_;
  Process producer_;
  std::vector<Process> survivors_;
  std::vector<Process> others_;
  std::uint64_t producers_killed_ = 0;
  std::uint64_t trainers_killed_ = 0;
};

}  // namespace

TEST_CASE("a storm of deaths", "[ride-storm]") {
  const OwnDirectory directory;
  Storm storm(test_seed("ride storm"));
  storm.begin();
  storm.blow(scaled(30, 5));
  storm.end();
}
