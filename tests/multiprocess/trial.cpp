// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// A trainer that saves checkpoints, and is killed at any moment: the role `trial`.
#include "consume.hpp"
#include "process.hpp"
#include "ride.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <fstream>
#include <stdexcept>
#include <string>

namespace batchcast::testing {
namespace {

/// What it has of the stream, and where it goes on.
struct Saved {
  std::uint64_t cursor = 0;
  std::uint64_t digest = ride_digest_begin;
  std::uint64_t save = 0;
};

Saved saved_in(const std::string& file) {
  Saved saved;
  std::ifstream from(file);
  Saved read;
  if (from >> read.cursor >> read.digest >> read.save) saved = read;
  return saved;
}

void save(const std::string& file, const Saved& saved) {
  const std::string fresh = file + "." + std::to_string(::getpid());
  {
    std::ofstream to(fresh);
    to << saved.cursor << ' ' << saved.digest << ' ' << saved.save << '\n';
  }
  if (std::rename(fresh.c_str(), file.c_str()) != 0) throw std::runtime_error("rename");
}

/// Reads from its checkpoint on, and saves every 30 batches. After the test has told it to stop, it
/// ends with the next epoch.
int trial(const Words& words) {
  const std::string file = words.text("file");
  Saved now = saved_in(file);
  ConsumerOptions options = consumer_options(words);
  options.join = Join::at;
  options.cursor = now.cursor;
  options.connect_timeout_ms = 120'000;
  std::string over = "left";
  std::string fault;
  std::uint64_t mismatched = 0;
  try {
    Consumer consumer(options);
    const std::uint64_t samples = consumer.samples_per_epoch();
    std::deque<Batch> held;
    say("attached");
    for (std::uint64_t batches = 0; fault.empty();) {
      const auto batch = consumer.next();
      if (!batch) {
        if (is_told()) break;
        continue;
      }
      const std::uint64_t size =
          std::min<std::uint64_t>(options.batch_size, samples - now.cursor % samples);
      if (batch->position() != now.cursor || batch->size() != size) {
        fault = "at " + std::to_string(now.cursor) + " came " + std::to_string(batch->size()) +
                " samples from " + std::to_string(batch->position());
        break;
      }
      if (const std::string wrong = fault_of(*batch); !wrong.empty()) fault = wrong;
      now.digest = ride_digest_with(now.digest, *batch);
      now.cursor += size;
      held.push_back(batch->share());
      while (held.size() > static_cast<std::size_t>(words.number("hold"))) {
        if (const std::string wrong = fault_of(held.front()); !wrong.empty()) fault = wrong;
        held.pop_front();
      }
      if (++batches % 30 == 0) save(file, now);
      pause_us(static_cast<std::uint64_t>(words.number("pause_us")));
    }
    mismatched = consumer.stats().epochs_mismatched;
    if (now.cursor % samples != 0 && fault.empty()) fault = "its epoch is not whole";
    say("done over=" + over + " sound=" + (fault.empty() ? "yes" : "no") + " epochs=" +
        std::to_string(now.cursor / samples) + " digest=" + std::to_string(now.digest) +
        " mismatched=" + std::to_string(mismatched) + " " + fault);
  } catch (const Error& error) {
    say("done over=" + kind_of(error) + " sound=no " + error.what());
  }
  return 0;
}

const RoleRegistration trial_role("trial", trial);

}  // namespace
}  // namespace batchcast::testing
