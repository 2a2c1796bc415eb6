// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/batchcast.hpp>
#include <batchcast/core/try_write.hpp>

#include "catch.hpp"
#include "control/control_support.hpp"
#include "temporary_folder.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

using namespace batchcast;
using test::holds_within;

namespace {

using Directory = batchcast::testing::TemporaryFolder;

constexpr int soon_ms = 10'000;  // against waiting for ever

ProducerOptions stalling(const Directory& directory) {
  return {.stream = "s",
          .schema = {{"value", DType::u64}},
          .memory = 64 << 10,
          .samples_per_epoch = 1'000'000,
          .stall_timeout_ms = 50,
          .linger_ms = 0,
          .directory = directory.path()};
}

ConsumerOptions taking(const Directory& directory) {
  ConsumerOptions options;
  options.stream = "s";
  options.batch_size = 8;
  options.connect_timeout_ms = soon_ms;
  options.directory = directory.path();
  return options;
}

/// Makes samples until it is told to end.
class Making {
 public:
  explicit Making(Producer& producer)
      : thread_([this, &producer] {
          while (!ends_.load()) {
            if (auto loan = producer.try_loan(256, 20)) loan->publish();
          }
        }) {}
  ~Making() {
    ends_.store(true);
    thread_.join();
  }
  Making(const Making&) = delete;
  Making& operator=(const Making&) = delete;

 private:
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

/// Exit code 0: stalls were due to be reported, and the stream went on.
int serve_on_full_stderr(const Directory& directory) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return 2;
  const std::string page(4'096, 'x');  // whole ones: then no byte fits
  while (detail::try_write(ends[1], page)) {
  }
  ::dup2(ends[1], STDERR_FILENO);
  Producer producer(stalling(directory));
  const Making making(producer);
  Consumer holder(taking(directory));
  const Batch held = holder.try_next(soon_ms).batch;
  const bool stalled = holds_within(soon_ms, [&] {
    const ProducerStats stats = producer.stats();
    return !stats.consumers.empty() && stats.consumers[0].state == ConsumerState::stalled;
  });
  if (!stalled) return 3;
  for (int i = 0; i < 20; ++i) {  // meanwhile each stall time-out is reported
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (producer.stats().state != StreamState::running) return 4;
  }
  const Consumer other(taking(directory));
  return producer.stats().consumers.size() == 2 ? 0 : 5;
}

}  // namespace

TEST_CASE("a stream goes on while its messages go to a pipe that nobody reads") {
  const Directory directory;
  test::Child child([&] { return serve_on_full_stderr(directory); });
  REQUIRE(holds_within(3 * soon_ms, [&] {
    siginfo_t info{};
    const auto pid = static_cast<id_t>(child.pid());
    return ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0;
  }));
  CHECK(child.wait() == 0);
}

TEST_CASE("a log that does not return holds no lock of the stream") {
  const Directory directory;
  std::promise<void> go_on;
  const std::shared_future<void> goes_on = go_on.get_future().share();
  std::atomic<int> called{0};
  ProducerOptions options = stalling(directory);
  options.log = [&](LogLevel level, std::string_view) {
    if (level != LogLevel::warning) return;
    ++called;
    goes_on.wait();
  };
  Producer producer(std::move(options));
  {
    const Making making(producer);
    Consumer holder(taking(directory));
    const Batch held = holder.try_next(soon_ms).batch;
    const bool is_called = holds_within(soon_ms, [&] { return called.load() != 0; });
    std::future<ProducerStats> stats =
        std::async(std::launch::async, [&] { return producer.stats(); });
    const bool answered =
        stats.wait_for(std::chrono::milliseconds(soon_ms)) == std::future_status::ready;
    go_on.set_value();
    CHECK(is_called);
    CHECK(answered);
  }
}
