// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/batch_counter.hpp"

#include <algorithm>
#include <cstddef>

namespace batchcast::inline v0_1::detail {
namespace {

constexpr std::size_t kept_answers_max = 16;
constexpr std::uint64_t part_ns = 1'000'000;
// The clock is read that often. With an order that is arranged, some samples cost a block.
constexpr std::uint64_t samples_between_looks = 256;
// A consumer waits for 10 s.
constexpr std::uint64_t patience_ns = 8'000'000'000;

}  // namespace

BatchCounter::Count* BatchCounter::find(const CountBatches& request) noexcept {
  const auto found = std::find_if(counts_.begin(), counts_.end(),
                                  [&](const Count& count) { return count.request == request; });
  return found == counts_.end() ? nullptr : &*found;
}

const BatchCount* BatchCounter::find_kept(const CountBatches& request) const noexcept {
  for (const auto& [asked, count] : kept_) {
    if (asked == request) return &count;
  }
  return nullptr;
}

void BatchCounter::ask(ConsumerKey key, const CountBatches& request, std::uint64_t now_ns) {
  end_question_of(key, true);
  const Asker asker{key, now_ns + patience_ns};
  if (Count* const count = find(request)) {
    count->askers.push_back(asker);
  } else if (const BatchCount* const kept = find_kept(request)) {
    answers_.emplace_back(key, *kept);
  } else {
    begin(request, asker);
  }
  drop_unasked();
}

void BatchCounter::forget(ConsumerKey key) {
  end_question_of(key, false);
  drop_unasked();
}

void BatchCounter::begin(const CountBatches& request, const Asker& asker) {
  Count count(request);
  if (samples_ != 0 && lengths_) count.rows_of = lengths_(request.axis());
  if (!count.rows_of) {
    answers_.emplace_back(asker.key, BatchCount());
    return;
  }
  count.askers.push_back(asker);
  counts_.push_back(std::move(count));
}

void BatchCounter::end_question_of(ConsumerKey key, bool answers) {
  for (Count& count : counts_) {
    std::erase_if(count.askers, [&](const Asker& asker) {
      if (asker.key != key) return false;
      if (answers && !asker.is_answered) answers_.emplace_back(key, BatchCount());
      return true;
    });
  }
}

void BatchCounter::drop_unasked() {
  std::erase_if(counts_, [](const Count& count) { return count.askers.empty(); });
}

void BatchCounter::work(std::uint64_t (*clock)()) {
  if (counts_.empty()) return;
  const std::uint64_t began_ns = clock();
  std::uint64_t now_ns = began_ns;
  while (counts_.front().counted < samples_ && now_ns - began_ns < part_ns) {
    try {
      count_some(counts_.front());
    } catch (...) {
      answer(counts_.front(), {});
      counts_.pop_front();
      throw;
    }
    now_ns = clock();
  }
  if (counts_.front().counted == samples_) {
    finish(counts_.front());
    counts_.pop_front();
  } else if (counts_.size() > 1) {
    counts_.push_back(std::move(counts_.front()));
    counts_.pop_front();
  }
  answer_late(now_ns);
}

void BatchCounter::count_some(Count& count) const {
  const std::uint64_t end =
      count.counted + std::min(samples_between_looks, samples_ - count.counted);
  const bool has_window = count.request.window.is_set();
  for (; count.counted < end; ++count.counted) {
    const std::uint64_t rows = count.rows_of(count.request.epoch, count.counted);
    if (has_window) {
      count.rows += rows;
    } else {
      count.tally.add(rows);
    }
  }
}

void BatchCounter::finish(Count& count) {
  BatchCount known;
  known.known = true;
  known.batches =
      count.request.window.is_set() ? windows_in(count.request, count.rows) : count.tally.batches();
  if (kept_.size() == kept_answers_max) kept_.pop_front();
  kept_.emplace_back(count.request, known);
  answer(count, known);
}

void BatchCounter::answer(Count& count, const BatchCount& what) {
  for (Asker& asker : count.askers) {
    if (!std::exchange(asker.is_answered, true)) answers_.emplace_back(asker.key, what);
  }
}

void BatchCounter::answer_late(std::uint64_t now_ns) {
  for (Count& count : counts_) {
    for (Asker& asker : count.askers) {
      if (now_ns < asker.answer_by_ns || std::exchange(asker.is_answered, true)) continue;
      answers_.emplace_back(asker.key, BatchCount());
    }
  }
}

}  // namespace batchcast::inline v0_1::detail
