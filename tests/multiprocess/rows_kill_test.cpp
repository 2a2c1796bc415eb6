// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// Producers that die while they give samples rows, and the next ones of their name.
#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"

#include <batchcast/batchcast.hpp>
#include <batchcast/data/random.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr std::uint64_t samples_per_epoch = 2'000;
constexpr std::uint64_t tokens_in_ring = 900;

/// 0, 1, most of the ring, and anything between.
std::uint64_t tokens_at(std::uint64_t position) {
  const std::uint64_t drawn = detail::mix64(position);
  switch (drawn % 16) {
    case 0:
      return 0;
    case 1:
      return 1;
    case 2:
      return tokens_in_ring / 2 - drawn % 3;
    default:
      return drawn / 16 % 90;
  }
}
std::uint64_t boxes_at(std::uint64_t position) { return detail::mix64(position + 77) % 7; }
std::int32_t token_at(std::uint64_t position, std::uint64_t i) {
  return static_cast<std::int32_t>(detail::mix64(position * 1'000'003 + i));
}
float edge_at(std::uint64_t position, std::uint64_t i, std::size_t edge) {
  return static_cast<float>(detail::mix64(position * 31 + i * 4 + edge) % 65'536);
}

void fill(const Loan& loan) {
  for (std::size_t i = 0; i < loan.size(); ++i) {
    const std::uint64_t position = loan.position() + i;
    const auto tokens = loan.rows<std::int32_t>(i, "tokens");
    for (std::uint64_t row = 0; row < tokens.size(); ++row) {
      tokens[row][0] = token_at(position, row);
    }
    const auto boxes = loan.rows<float>(i, "boxes");
    for (std::uint64_t row = 0; row < boxes.size(); ++row) {
      for (std::size_t edge = 0; edge < 4; ++edge) boxes[row][edge] = edge_at(position, row, edge);
    }
    loan.field<std::uint64_t>("position")[i][0] = position;
  }
}

void serve_rows(Producer& producer, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> tokens, boxes;
  while (auto loan = producer.loan(1 + random() % 8)) {
    tokens.clear();
    boxes.clear();
    for (std::size_t i = 0; i < loan->size(); ++i) {
      tokens.push_back(tokens_at(loan->position() + i));
      boxes.push_back(boxes_at(loan->position() + i));
    }
    const std::vector<std::span<const std::uint64_t>> both = {tokens, boxes};
    if (!loan->take_rows(both)) continue;
    fill(*loan);
    loan->publish();
  }
}

/// Serves until it is killed.
int produce_rows(const Words& words) {
  ProducerOptions options;
  options.stream = "s";
  options.schema = {{"tokens", DType::i32, Axis{"tokens"}},
                    {"boxes", DType::f32, Axis{"boxes"}, {4}},
                    {"position", DType::u64, {}}};
  options.samples_per_epoch = samples_per_epoch;
  options.memory = 64 << 10;
  options.rows = {{"tokens", tokens_in_ring}, {"boxes", 200}};
  options.recipe_json = R"({"made_by":"rows_kill_test"})";
  options.pure = true;
  options.log = [](LogLevel, std::string_view) {};
  Producer producer(options);
  std::vector<std::thread> threads;
  const auto seed = static_cast<std::uint64_t>(words.number("seed"));
  for (std::uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([&producer, seed, i] { serve_rows(producer, seed + i); });
  }
  say("serves");
  while (hear()) {
  }
  producer.stop("the test is over");
  for (std::thread& thread : threads) thread.join();
  return 0;
}

const RoleRegistration role("produce_rows", produce_rows);

/// What is wrong with a batch, whose every byte is looked at; empty if nothing is.
std::string fault_in(const Batch& batch) {
  const auto tokens = batch.rows<std::int32_t>("tokens");
  const auto boxes = batch.rows<float>("boxes");
  const auto positions = batch.field<std::uint64_t>("position");
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const std::uint64_t position = batch.position() + i;
    const auto of_sample = tokens[i];
    bool right = positions[i][0] == position && of_sample.size() == tokens_at(position) &&
                 boxes[i].size() == boxes_at(position);
    for (std::uint64_t row = 0; right && row < of_sample.size(); ++row) {
      right = of_sample[row][0] == token_at(position, row);
    }
    for (std::uint64_t row = 0; right && row < boxes_at(position); ++row) {
      for (std::size_t edge = 0; edge < 4; ++edge) {
        right = right && boxes[i][row][edge] == edge_at(position, row, edge);
      }
    }
    if (!right) return "sample " + std::to_string(position);
  }
  return {};
}

/// Reads until the stream is over, or `batches`. Each batch follows the last one.
struct Read {
  std::string fault;
  std::string over;
  std::string text;
  std::uint64_t cursor = 0;
  std::uint64_t batches = 0;
};

Read read(Consumer& consumer, std::uint64_t batches_max) {
  Read read;
  read.cursor = consumer.cursor();
  Batch kept;
  try {
    while (read.batches < batches_max && read.fault.empty()) {
      auto batch = consumer.next();
      if (!batch) continue;
      if (batch->position() != read.cursor) read.fault = "a gap";
      if (read.fault.empty()) read.fault = fault_in(*batch);
      read.cursor = batch->position() + batch->size();
      if (++read.batches % 5 == 0) kept = std::move(*batch);
    }
  } catch (const Error& error) {
    read.over = kind_of(error);
    read.text = error.what();
  }
  // What is held can be read after its producer's death, too.
  if (kept && read.fault.empty()) read.fault = fault_in(kept);
  return read;
}

}  // namespace

TEST_CASE("producers that are killed while rows are taken leave whole samples behind",
          "[producer][rows][short]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("rows_kill");
  std::mt19937_64 random(seed);
  const std::uint64_t budgets[] = {tokens_in_ring, tokens_in_ring / 2, 0};
  Process producer("produce_rows", {"seed=" + std::to_string(seed)});
  static_cast<void>(producer.expect("serves"));
  std::vector<std::uint64_t> cursors(std::size(budgets), 0);
  std::uint64_t batches = 0;
  for (std::uint64_t round = 0; round < scaled(20, 3); ++round) {
    INFO("round " << round);
    std::vector<Consumer> consumers;
    for (std::size_t i = 0; i < std::size(budgets); ++i) {
      // Two samples fit at any time.
      ConsumerOptions options = quiet(1 + random() % (budgets[i] == 0 ? 2 : 12));
      options.on_producer_gone = OnProducerGone::error;
      if (budgets[i] != 0) options.budget = {"tokens", budgets[i]};
      // Where all of it was read, the name's next producer makes what follows.
      options.join = round == 0 ? Join::rewind : Join::at;
      options.cursor = round == 0 ? 0 : *std::min_element(cursors.begin(), cursors.end());
      consumers.emplace_back(options);
    }
    std::vector<Read> reads(consumers.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < consumers.size(); ++i) {
      threads.emplace_back([&, i] { reads[i] = read(consumers[i], ~std::uint64_t{0}); });
    }
    pause_us(random() % 20'000);
    producer.kill();
    for (std::thread& thread : threads) thread.join();
    static_cast<void>(producer.wait());
    for (std::size_t i = 0; i < reads.size(); ++i) {
      CHECK(reads[i].fault == "");
      INFO(reads[i].text);
      CHECK(reads[i].over == "ProducerGone");
      cursors[i] = reads[i].cursor;
      batches += reads[i].batches;
    }
    consumers.clear();
    producer = Process("produce_rows", {"seed=" + std::to_string(seed + round)});
    static_cast<void>(producer.expect("serves"));
  }
  CHECK(batches > 0);
  ConsumerOptions last = quiet(2);
  last.join = Join::at;
  last.cursor = *std::min_element(cursors.begin(), cursors.end());
  Consumer consumer(last);
  const Read more = read(consumer, 50);
  CHECK(more.fault == "");
  INFO(more.text);
  CHECK(more.over == "");
}
