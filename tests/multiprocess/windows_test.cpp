// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// Windows in processes that are killed: their successors go on at the last row that all ranks had,
// with other windows, in other numbers. Every row of every epoch is accounted for.
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"

#include <batchcast/batchcast.hpp>

#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr const char* stream = "windows";

std::uint64_t count_of(const Words& words, const char* key) {
  return static_cast<std::uint64_t>(words.number(key));
}

ConsumerOptions trainer_options(const Words& words) {
  ConsumerOptions options;
  options.stream = stream;
  options.window = {"tokens", count_of(words, "rows"), count_of(words, "runs"),
                    count_of(words, "extra")};
  options.join = Join::at;
  options.cursor = count_of(words, "cursor");
  options.cursor_row = count_of(words, "row");
  const auto world = static_cast<std::uint32_t>(words.number("world"));
  if (world > 1) options.group = {"job", static_cast<std::uint32_t>(words.number("rank")), world};
  return options;
}

/// Whether each run has consecutive rows, from one on that it says.
bool is_whole(const Batch& batch, std::uint64_t rows, std::uint64_t extra) {
  const auto tokens = batch.field<std::int32_t>("tokens");
  bool right = tokens.size() == batch.size();
  for (std::size_t run = 0; run < batch.size(); ++run) {
    for (std::uint64_t i = 0; i < rows + extra; ++i) {
      right = right && tokens[run][i] == tokens[0][0] + static_cast<std::int32_t>(run * rows + i);
    }
  }
  return right;
}

/// Says after each batch where it stands.
int train(const Words& words) {
  const std::uint64_t rows = count_of(words, "rows");
  const std::uint64_t batches = count_of(words, "batches");
  try {
    Consumer consumer(trainer_options(words));
    say("attached");
    for (std::uint64_t taken = 0; taken < batches;) {
      const auto batch = consumer.next();
      if (!batch) {
        say("end cursor=" + std::to_string(consumer.cursor()));
        continue;
      }
      if (!is_whole(*batch, rows, count_of(words, "extra"))) say("wrong");
      ++taken;
      say("batch first=" + std::to_string(batch->field<std::int32_t>("tokens")[0][0]) + " rows=" +
          std::to_string(rows * batch->size()) + " cursor=" + std::to_string(consumer.cursor()) +
          " row=" + std::to_string(consumer.cursor_row()));
    }
    say("waits");
    static_cast<void>(hear());  // the others have come as far
  } catch (const Error& error) {
    say("over kind=" + kind_of(error));
  }
  return 0;
}

const RoleRegistration role("window", train);

/// Row r of an epoch has the token r.
class TokenServer {
 public:
  TokenServer(std::vector<std::uint64_t> lengths, std::uint64_t arena)
      : lengths_(std::move(lengths)) {
    ProducerOptions options;
    options.stream = stream;
    options.schema = {{"tokens", DType::i32, Axis{"tokens"}}};
    options.samples_per_epoch = lengths_.size();
    options.memory = 1 << 20;
    options.rows = {{"tokens", arena}};
    for (const std::uint64_t length : lengths_) first_.push_back(rows_), rows_ += length;
    producer_.emplace(std::move(options));
    for (int i = 0; i < 2; ++i) threads_.emplace_back([this] { make(); });
  }
  ~TokenServer() {
    producer_->stop("the test is over");
    for (std::thread& thread : threads_) thread.join();
  }
  [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

 private:
  void make() {
    while (auto loan = producer_->loan(5)) {
      std::vector<std::uint64_t> counts;
      for (std::size_t i = 0; i < loan->size(); ++i) {
        counts.push_back(lengths_[(loan->index_in_epoch() + i) % lengths_.size()]);
      }
      if (!loan->take_rows("tokens", counts)) continue;
      for (std::size_t i = 0; i < loan->size(); ++i) {
        std::uint64_t row = first_[(loan->index_in_epoch() + i) % lengths_.size()];
        for (std::int32_t& token : loan->rows<std::int32_t>(i, "tokens").span()) {
          token = static_cast<std::int32_t>(row++);
        }
      }
      loan->publish();
    }
  }

  std::vector<std::uint64_t> lengths_;
  std::vector<std::uint64_t> first_;
  std::uint64_t rows_ = 0;
  std::optional<Producer> producer_;
  std::vector<std::thread> threads_;
};

/// What all ranks of a job had: the next one begins there.
struct Place {
  std::uint64_t cursor = 0;
  std::uint64_t row = 0;
  std::uint64_t next = 0;  ///< row of the epoch
  std::uint64_t epochs = 0;
};

/// The ranks' lines in turn, one of each at a time, as far as all have said one. The keeper goes
/// with them.
void follow(std::vector<Process>& ranks, const TokenServer& server, std::uint64_t needed,
            Consumer& keeper, Place& place) {
  for (;;) {
    std::vector<Words> said;
    for (Process& rank : ranks) {
      const auto line = rank.line();
      if (!line || line->starts_with("over") || line->starts_with("waits")) return;
      REQUIRE(*line != "wrong");
      said.emplace_back(*line);
    }
    place.cursor = count_of(said.front(), "cursor");
    if (said.front().line().starts_with("end")) {
      CHECK(server.rows() - place.next < needed);  // else it was a batch
      ++place.epochs;
      place.next = place.row = 0;
      REQUIRE(keeper.move_to(place.cursor));
      continue;
    }
    place.row = count_of(said.front(), "row");
    for (const Words& one : said) {
      REQUIRE(count_of(one, "first") == place.next);
      CHECK(count_of(one, "row") == place.row);
      place.next += count_of(one, "rows");
    }
    REQUIRE(keeper.move_to({place.cursor, place.row}));
  }
}

/// Reads what one trainer says until it is killed, and whether it had every row once. It asserts
/// nothing, since it runs on a thread.
class Follower {
 public:
  Follower(Process& trainer, std::uint64_t rows, std::uint64_t needed)
      : thread_([this, &trainer, rows, needed] {
          while (const auto line = trainer.line()) {
            const Words said(*line);
            if (line->starts_with("attached")) continue;
            if (line->starts_with("end")) {
              is_right_ = is_right_ && rows - next_ < needed;
              next_ = 0;
              ++epochs_;
            } else {
              is_right_ =
                  is_right_ && line->starts_with("batch") && count_of(said, "first") == next_;
              next_ += count_of(said, "rows");
            }
          }
        }) {}
  /// The trainer is dead.
  void join() { thread_.join(); }
  [[nodiscard]] bool is_right() const noexcept { return is_right_; }
  [[nodiscard]] std::uint64_t epochs() const noexcept { return epochs_; }

 private:
  bool is_right_ = true;
  std::uint64_t next_ = 0;
  std::uint64_t epochs_ = 0;
  std::thread thread_;
};

}  // namespace

TEST_CASE("every row comes once, however often trainers with windows are killed",
          "[multiprocess][windows]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("windows");
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> lengths(211);
  for (std::uint64_t& length : lengths) length = random() % 4 == 0 ? 0 : random() % 97;
  TokenServer server(lengths, 700);
  // It holds the place of those that are killed.
  ConsumerOptions keeping;
  keeping.stream = stream;
  keeping.window = {"tokens", 1, 1};
  Consumer keeper(keeping);
  Process single("window", {"rows=61", "runs=2", "extra=1", "cursor=0", "row=0",
                            "batches=" + std::to_string(~std::uint32_t{0})});
  Follower follower(single, server.rows(), 61 + 1);
  Place place;
  std::uint64_t killed = 0;
  const std::uint64_t jobs = scaled(60, 6);
  for (std::uint64_t job = 0; job < jobs; ++job) {
    const std::uint64_t world = 1 + random() % 3;
    const std::uint64_t rows = 1 + random() % 70;
    const std::uint64_t extra = random() % 2;
    std::vector<std::string> words = {"rows=" + std::to_string(rows),
                                      "runs=" + std::to_string(1 + random() % 2),
                                      "extra=" + std::to_string(extra),
                                      "world=" + std::to_string(world),
                                      "cursor=" + std::to_string(place.cursor),
                                      "row=" + std::to_string(place.row),
                                      "batches=" + std::to_string(5 + random() % 40)};
    std::vector<Process> ranks;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      std::vector<std::string> own = words;
      own.push_back("rank=" + std::to_string(rank));
      ranks.emplace_back("window", own);
    }
    for (Process& rank : ranks) static_cast<void>(rank.expect("attached"));
    if (random() % 2 == 0) {
      pause_us(random() % 20'000);
      ranks[random() % world].kill();
      ++killed;
    }
    follow(ranks, server, world * rows + extra, keeper, place);
    for (Process& rank : ranks) rank.kill();
    for (Process& rank : ranks) CHECK(rank.wait().ended);
  }
  std::printf("windows: %llu jobs, %llu killed, %llu epochs and %llu rows\n",
              static_cast<unsigned long long>(jobs), static_cast<unsigned long long>(killed),
              static_cast<unsigned long long>(place.epochs),
              static_cast<unsigned long long>(place.next));
  CHECK(place.epochs * server.rows() + place.next > jobs);
  // The one that was not killed had all of them in other windows.
  single.kill();
  follower.join();
  CHECK(follower.is_right());
  CHECK(follower.epochs() <= place.epochs + 1);
}
