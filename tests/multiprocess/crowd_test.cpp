// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/core/limits.hpp>

#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

namespace fs = std::filesystem;

/// Joins and leaves so many times.
int come_and_go(const Words& words) {
  std::mt19937_64 random(static_cast<std::uint64_t>(words.number("seed")));
  std::string fault;
  for (std::int64_t i = 0; i < words.number("times") && fault.empty(); ++i) {
    ConsumerOptions options = stream_options();
    options.batch_size = 1 + random() % 64;
    options.explain_faults = random() % 2 == 0;
    if (random() % 4 == 0) options.between_epochs = BetweenEpochs::let_go;
    Consumer consumer(options);
    Checker checker(consumer.samples_per_epoch());
    const std::uint64_t batches = random() % 3;
    for (std::uint64_t b = 0; b < batches; ++b) {
      const auto batch = consumer.next();
      if (batch) checker.see(*batch);
    }
    fault = checker.fault();
  }
  say("done sound=" + std::string(fault.empty() ? "yes" : "no") + " over=left " + fault);
  return 0;
}

/// Attaches so many consumers with long names, all at once: the ranks of `group` where it is given.
/// They read nothing, and leave when they are told.
int sit_together(const Words& words) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto count = static_cast<std::uint32_t>(words.number("count"));
  std::vector<std::optional<Consumer>> consumers(count);
  std::vector<std::thread> threads;
  for (std::uint32_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      ConsumerOptions options = stream_options();
      options.stream = words.text("stream");
      options.batch_size = 1;
      options.name = std::to_string(i) + std::string(limits::consumer_name_bytes_max - 4, 'n');
      if (words.has("group")) options.group = {words.text("group"), i, count};
      consumers[i].emplace(std::move(options));
    });
  }
  for (std::thread& thread : threads) thread.join();
  say("sit");
  static_cast<void>(hear());
  return 0;
}

const RoleRegistration role("come_and_go", come_and_go);
const RoleRegistration sitters("sit_together", sit_together);

/// Open descriptors of this process; some of its threads have tables of their own.
std::size_t open_descriptors() {
  std::size_t count = 0;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::error_code error;
    for (fs::directory_iterator it(task.path() / "fd", error), end; !error && it != end;
         it.increment(error)) {
      ++count;
    }
  }
  return count;
}

std::size_t entries_of(const char* path) {
  std::error_code error;
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(path, error), fs::directory_iterator()));
}

}  // namespace

TEST_CASE("ten thousand consumers that come and go leave nothing behind", "[crowd]") {
  const OwnDirectory directory;
  const std::uint64_t seed = test_seed("come and go") % 1'000'000;
  const std::size_t named_before = entries_of("/dev/shm");
  const std::uint64_t started_ns = now_ns();
  {
    Server server(producer_options("small", 1'009, 64 << 10), {});
    Process stays("consume", {"name=stays"});
    static_cast<void>(stays.expect("attached"));
    pause_us(50'000);
    const std::size_t before = open_descriptors();
    std::vector<Process> clients;
    for (std::uint64_t i = 0; i < 2; ++i) {
      clients.emplace_back("come_and_go",
                           std::vector<std::string>{"times=" + std::to_string(scaled(5'000, 50)),
                                                    "seed=" + std::to_string(seed + i)});
    }
    for (Process& client : clients) {
      const Words words = client.expect("done", 120'000);
      INFO(words.line());
      CHECK(words.text("sound") == "yes");
      CHECK(client.wait().exited_with(0));
    }
    clients.clear();
    CHECK(eventually([&] { return server.producer().stats().consumers.size() == 1; }));
    // Less the two pipes and the file of each client, which are closed by now.
    CHECK(eventually([&] { return open_descriptors() <= before; }, 5'000));
    CHECK(server.producer().stats().late_wakeups == 0);
    server.stop();
    static_cast<void>(expect_sound(stays, "Stopped"));
    CHECK(server.longest_wait_seconds() < (slow_build() ? 10 : 2));
  }
  std::printf("%llu joins and leaves in %.1f s\n",
              static_cast<unsigned long long>(2 * scaled(5'000, 50)),
              seconds_from_ns(now_ns() - started_ns));
  CHECK(directory.entries() == 0);
  CHECK(entries_of("/dev/shm") <= named_before);
}
