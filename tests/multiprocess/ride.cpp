// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "ride.hpp"

#include "consume.hpp"
#include "failing_calls.hpp"
#include "process.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <fstream>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>

namespace batchcast::testing {
namespace {

/// Serves until the test closes its standard input or kills it. `stop_at`: makes no sample from
/// there on, and ends at the test's next line. `ordered`: it knows the order of its samples.
/// `places`: GPUs that it serves on as well.
int phoenix(const Words& words) {
  begin_failing(words);
  const auto size = [&](const char* key, std::int64_t otherwise) {
    return static_cast<std::uint64_t>(words.number(key, otherwise));
  };
  ProducerOptions options = phoenix_options(size("n", 1'000), size("memory", 512 << 10),
                                            words.text("recipe", "by position"));
  if (words.has("ordered")) {
    options.known_ids = [samples = options.samples_per_epoch](std::uint64_t epoch,
                                                              std::uint64_t index,
                                                              std::span<std::uint64_t> ids) {
      for (std::uint64_t& id : ids) id = id_at(epoch * samples + index++);
      return true;
    };
  }
  for (const char* gpu : {"cuda:0", "cuda:1"}) {
    if (words.text("places").find(gpu) != std::string::npos) options.places.emplace_back(gpu);
  }
  options.device_memory = size("device_memory", static_cast<std::int64_t>(options.device_memory));
  options.wait_for = static_cast<std::uint32_t>(size("wait_for", 0));
  options.max_consumers = static_cast<std::uint32_t>(size("max_consumers", options.max_consumers));
  options.epochs = size("epochs", options.epochs);
  options.heads = static_cast<std::uint32_t>(size("heads", 1));
  options.head_memory = size("head_memory", 0);
  if (words.has("own_place")) options.on_stall = OnStall::own_place;
  options.stall_timeout_ms = size("stall_timeout_ms", options.stall_timeout_ms);
  if (const std::uint64_t stop_at = size("stop_at", 0); stop_at != 0) {
    Producer producer(std::move(options));
    say("serves");
    for (std::uint64_t made = 0; made < stop_at;) {
      auto loan = producer.loan(stop_at - made);
      made += loan->size();
      fill(*loan);
      loan->publish();
    }
    say("made");
    static_cast<void>(hear());
    producer.stop("told so");
    return 0;
  }
  ServePlan plan;
  plan.threads = static_cast<unsigned>(size("threads", 1));
  plan.pause_us = size("pause_us", 0);
  Server server(std::move(options), plan);
  say("serves");
  if (!hear()) return 0;
  const std::string warnings = server.lines_with("cannot be noted");
  say(std::string("stops failed=") + (has_failed() ? "yes" : "no") +
      " warnings=" + std::to_string(std::count(warnings.begin(), warnings.end(), '\n')));
  server.stop();
  return 0;
}

constexpr std::uint64_t digest_begin = ride_digest_begin;

constexpr std::uint64_t mixed(std::uint64_t digest, std::uint64_t word) noexcept {
  return (digest ^ word) * 0x9E37'79B9'7F4A'7C15;
}

/// One trainer, and what it should get.
class Ride {
 public:
  explicit Ride(const Words& words)
      : words_(words),
        consumer_(consumer_options(words)),
        samples_(consumer_.samples_per_epoch()),
        leaves_{size("leaves_every"), size("leaves_after")},
        checker_(samples_) {}

  void run() {
    say("attached");
    begin_failing(words_);
    const auto epochs = static_cast<std::uint64_t>(words_.number("epochs"));
    while (epochs == 0 || epochs_ < epochs) {
      const std::uint64_t leaves_after = leaves_.after(epochs_);
      std::uint64_t batches = 0;
      for (Batch& batch : consumer_) {
        see(batch);
        if (++batches != leaves_after) continue;
        checker_.expect_gap();
        break;
      }
      if (words_.text("between") == "let_go") checker_.expect_gap();
      ++epochs_;
      if (words_.has("until_told") && is_told()) break;
    }
  }

  [[nodiscard]] std::string line(const std::string& over) const {
    const std::string fault = !fault_.empty() ? fault_ : checker_.fault();
    std::string line = "done over=" + over + " sound=" + (fault.empty() ? "yes" : "no");
    const auto word = [&](const char* key, std::uint64_t value) {
      line += std::string(" ") + key + "=" + std::to_string(value);
    };
    const ConsumerStats stats = consumer_.stats();
    word("samples", stats.samples);
    word("batches", stats.batches);
    word("epochs", epochs_);
    word("unknown", stats.epochs_unknown);
    word("mismatched", stats.epochs_mismatched);
    word("late", stats.late_wakeups);
    word("lives", lives_.size());
    word("digest", digest_);
    line += std::string(" failed=") + (has_failed() ? "yes" : "no");
    if (!fault.empty()) line += " fault: " + fault;
    return line;
  }

 private:
  [[nodiscard]] std::uint64_t size(const char* key) const {
    return static_cast<std::uint64_t>(words_.number(key));
  }

  void see(Batch& batch) {
    const bool misses = words_.text("pace") == "free";
    if (misses) checker_.expect_gap();
    checker_.see(batch);
    const auto batch_size = consumer_.batch_size();
    const std::uint64_t left = samples_ - batch.position() % samples_;
    if (!misses && batch.size() != std::min(batch_size, left) && fault_.empty()) {
      fault_ = "a batch of " + std::to_string(batch.size()) + " samples at position " +
               std::to_string(batch.position());
    }
    digest_ = ride_digest_with(digest_, batch);
    lives_.insert(consumer_.incarnation());
    held_.push_back(batch.share());
    while (held_.size() > static_cast<std::size_t>(words_.number("hold"))) {
      if (const std::string fault = fault_of(held_.front()); !fault.empty() && fault_.empty()) {
        fault_ = "a batch that is held: " + fault;
      }
      held_.front().check();
      held_.pop_front();
    }
    pause_us(static_cast<std::uint64_t>(words_.number("pause_us")));
    if (words_.has("stops_after") && ++batches_ == words_.number("stops_after")) stop();
  }

  /// It comes to no further batch, as one that validates for a long time.
  void stop() {
    if (words_.has("forks") && ::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, 0);
      ::close(STDOUT_FILENO);  // the test reads to its end
      ::close(STDERR_FILENO);
      ::sleep(20);
      ::_exit(0);
    }
    say("stops");
    ::pause();
  }

  const Words& words_;
  Consumer consumer_;
  const std::uint64_t samples_;
  const EarlyLeaves leaves_;
  Checker checker_;
  std::string fault_;
  std::set<std::string> lives_;
  std::deque<Batch> held_;
  std::uint64_t digest_ = digest_begin;
  std::uint64_t epochs_ = 0;
  std::int64_t batches_ = 0;
};

int rider(const Words& words) {
  Ride ride(words);
  std::string over = "left";
  try {
    ride.run();
  } catch (const Error& error) {
    over = kind_of(error) + " (" + error.what() + ")";
  }
  say(ride.line(over));
  return 0;
}

/// How much address space this process may have beyond what it has now.
void limit_address_space(std::optional<std::size_t> more) {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  rlimit limit = {};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur =
      more ? pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) + *more : limit.rlim_max;
  ::setrlimit(RLIMIT_AS, &limit);
}

/// Takes all descriptors that this process may have, but for that number.
class FewDescriptors {
 public:
  explicit FewDescriptors(std::size_t left) {
    constexpr rlim_t enough = 256;
    rlimit limit = {};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = enough;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    for (int fd = ::dup(STDIN_FILENO); fd >= 0; fd = ::dup(STDIN_FILENO)) taken_.push_back(fd);
    for (; left > 0 && !taken_.empty(); --left) give_back();
  }
  ~FewDescriptors() {
    while (!taken_.empty()) give_back();
  }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  void give_back() {
    ::close(taken_.back());
    taken_.pop_back();
  }
  std::vector<int> taken_;
};

/// A trainer that has no address space for the next producer's ring, or no descriptors but for
/// `descriptors`, until the test sends a line.
int starved_rider(const Words& words) {
  ConsumerOptions options = consumer_options(words);
  std::string told;
  options.log = [&](LogLevel, std::string_view line) { told += line; };
  bool starves = false;
  std::optional<FewDescriptors> few;
  options.while_waiting = [&] {
    if (!starves || !is_told()) return;
    starves = false;
    few.reset();
    limit_address_space(std::nullopt);
  };
  Consumer consumer(options);
  Checker checker(consumer.samples_per_epoch());
  const auto take = [&](std::int64_t batches) {
    for (std::int64_t i = 0; i < batches;) {
      if (auto batch = consumer.next()) checker.see(*batch), ++i;
    }
  };
  say("attached");
  take(words.number("before"));
  say("stands");
  static_cast<void>(hear());                                           // its producer is dead
  if (consumer.try_next(300).outcome != Outcome::timed_out) return 1;  // it has given the ring up
  constexpr std::size_t for_a_thread = std::size_t{24} << 20;
  if (words.has("descriptors")) {
    few.emplace(static_cast<std::size_t>(words.number("descriptors")));
  } else {
    limit_address_space(for_a_thread);
  }
  starves = true;
  say("starves");
  std::string over = "left";
  try {
    take(words.number("after"));
  } catch (const Error& error) {
    over = kind_of(error) + " (" + error.what() + ")";
  }
  const bool tried = told.find("tries again to attach") != std::string::npos;
  say("done over=" + over + " sound=" + (checker.fault().empty() ? "yes" : checker.fault()) +
      " tried=" + (tried ? "yes" : "no"));
  return 0;
}

const RoleRegistration phoenix_role("phoenix", phoenix);
const RoleRegistration rider_role("rider", rider);
const RoleRegistration starved_role("starved_rider", starved_rider);

}  // namespace

std::uint64_t ride_digest_with(std::uint64_t digest, const Batch& batch) {
  digest = mixed(digest, batch.size());
  for (const std::uint64_t id : batch.sample_ids()) digest = mixed(digest, id);
  return digest;
}

std::string digest_of_ride(std::uint64_t batch_size, std::uint64_t epochs,
                           std::uint64_t samples_per_epoch, const EarlyLeaves& leaves) {
  std::uint64_t digest = digest_begin;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    std::uint64_t batches = 0;
    for (std::uint64_t at = 0; at < samples_per_epoch; at += batch_size) {
      if (batches != 0 && batches == leaves.after(epoch)) break;
      ++batches;
      const std::uint64_t size = std::min(batch_size, samples_per_epoch - at);
      digest = mixed(digest, size);
      for (std::uint64_t i = 0; i < size; ++i) {
        digest = mixed(digest, id_at(epoch * samples_per_epoch + at + i));
      }
    }
  }
  return std::to_string(digest);
}

ProducerOptions phoenix_options(std::uint64_t samples_per_epoch, std::uint64_t memory,
                                const std::string& recipe) {
  ProducerOptions options = producer_options("mixed", samples_per_epoch, memory);
  options.stream = "s";
  options.pure = true;
  options.recipe_json = R"({"samples": ")" + recipe + R"("})";
  return options;
}

}  // namespace batchcast::testing
