// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
//
// The job of `batchcast bench ring`, done with Eclipse iceoryx 2.0 the way its examples recommend
// it: a publisher that waits for its consumers, subscribers with blocking queues that sleep in a
// WaitSet and empty their queue at each wake, one process each. Takes the arguments and prints the
// JSON keys of `batchcast bench ring`. A RouDi must be running with a mempool as
// --print-chunk-bytes and --print-chunks say; ring.sh starts one.
//
// Exit code: 0 if every consumer got every batch in order with the bytes that were written, 1 if
// one did not, 2 for wrong arguments, 3 if a process failed. A run that hangs is ended by SIGALRM.

#include <getopt.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "iceoryx_hoofs/log/logmanager.hpp"
#include "iceoryx_posh/popo/untyped_publisher.hpp"
#include "iceoryx_posh/popo/untyped_subscriber.hpp"
#include "iceoryx_posh/popo/wait_set.hpp"
#include "iceoryx_posh/runtime/posh_runtime.hpp"

namespace {

constexpr std::uint64_t kSamplesPerBatch = 64;
constexpr unsigned kHangSeconds = 300;
// Beyond the queue: the batch that a consumer holds, the one that the publisher is blocked with,
// the one it keeps to loan again, and one to spare. A pool that runs dry would measure the pool,
// not the hand-off.
constexpr std::uint64_t kChunksBeyondQueue = 4;

struct Options {
  std::uint64_t batch_bytes = 38'535'168;  // 256 x 3 x 224 x 224 bytes
  std::uint64_t batches = 1'000'000;
  std::uint64_t consumers = 1;
  std::uint64_t in_flight = 16;

  std::uint64_t sample_bytes() const { return batch_bytes / kSamplesPerBatch; }
  // The ids follow the samples, as a stream's `sample_id` field would.
  std::uint64_t chunk_bytes() const {
    return batch_bytes + kSamplesPerBatch * sizeof(std::uint64_t);
  }
  std::uint64_t chunks() const { return in_flight + kChunksBeyondQueue; }
};

// What a consumer tells the publisher, whole, through a pipe: smaller than PIPE_BUF.
struct Message {
  enum class Kind : std::uint32_t { subscribed, finished } kind;
  std::uint32_t padding;
  std::uint64_t bad;
  std::uint64_t at_ns;
};

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Differs for each batch and each place in it, so that a stale or misplaced sample is seen.
std::uint64_t stamp(std::uint64_t batch, std::uint64_t place) {
  return (batch * kSamplesPerBatch + place) * 0x9E37'79B9'7F4A'7C15U;
}

void write_batch(std::byte* chunk, std::uint64_t batch, const Options& options) {
  const std::uint64_t first = stamp(batch, 0);
  const std::uint64_t last = stamp(batch, kSamplesPerBatch - 1);
  std::memcpy(chunk, &first, sizeof first);
  std::memcpy(chunk + (kSamplesPerBatch - 1) * options.sample_bytes(), &last, sizeof last);
  std::byte* ids = chunk + options.batch_bytes;
  for (std::uint64_t i = 0; i < kSamplesPerBatch; ++i) {
    const std::uint64_t id = batch * kSamplesPerBatch + i;
    std::memcpy(ids + i * sizeof id, &id, sizeof id);
  }
}

bool batch_is_good(const std::byte* chunk, std::uint64_t batch, const Options& options) {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::memcpy(&first, chunk, sizeof first);
  std::memcpy(&last, chunk + (kSamplesPerBatch - 1) * options.sample_bytes(), sizeof last);
  bool good = first == stamp(batch, 0) && last == stamp(batch, kSamplesPerBatch - 1);
  const std::byte* ids = chunk + options.batch_bytes;
  for (std::uint64_t i = 0; i < kSamplesPerBatch; ++i) {
    std::uint64_t id = 0;
    std::memcpy(&id, ids + i * sizeof id, sizeof id);
    good = good && id == batch * kSamplesPerBatch + i;
  }
  return good;
}

iox::capro::ServiceDescription service(pid_t publisher_pid) {
  const std::string instance = std::to_string(publisher_pid);
  return {"batchcast-benchmark", {iox::cxx::TruncateToCapacity, instance.c_str()}, "batch"};
}

void start_runtime(pid_t publisher_pid, const std::string& role) {
  iox::log::LogManager::GetLogManager().SetDefaultLogLevel(iox::log::LogLevel::kError,
                                                           iox::log::LogLevelOutput::kHideLogLevel);
  const std::string name = "ring-" + std::to_string(publisher_pid) + "-" + role;
  iox::runtime::PoshRuntime::initRuntime({iox::cxx::TruncateToCapacity, name.c_str()});
}

void send(int fd, const Message& message) {
  if (write(fd, &message, sizeof message) != static_cast<ssize_t>(sizeof message)) _exit(3);
}

void consume(const Options& options, std::uint64_t index, pid_t publisher_pid, int to_publisher) {
  start_runtime(publisher_pid, std::to_string(index));
  iox::popo::SubscriberOptions subscriber_options;
  subscriber_options.queueCapacity = options.in_flight;
  subscriber_options.queueFullPolicy = iox::popo::QueueFullPolicy::BLOCK_PRODUCER;
  iox::popo::UntypedSubscriber subscriber(service(publisher_pid), subscriber_options);
  iox::popo::WaitSet<> wait_set;
  wait_set.attachState(subscriber, iox::popo::SubscriberState::HAS_DATA).or_else([](auto) {
    std::fputs("iceoryx_ring: a subscriber cannot be attached to its WaitSet\n", stderr);
    _exit(3);
  });
  while (subscriber.getSubscriptionState() != iox::SubscribeState::SUBSCRIBED) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  send(to_publisher, {Message::Kind::subscribed, 0, 0, now_ns()});

  std::uint64_t received = 0;
  std::uint64_t bad = 0;
  while (received < options.batches) {
    for (const auto* notification : wait_set.wait()) {
      if (!notification->doesOriginateFrom(&subscriber)) continue;
      for (bool empty = false; !empty;) {
        subscriber.take()
            .and_then([&](const void* chunk) {
              if (!batch_is_good(static_cast<const std::byte*>(chunk), received, options)) ++bad;
              ++received;
              subscriber.release(chunk);
            })
            .or_else([&](iox::popo::ChunkReceiveResult) { empty = true; });
      }
    }
  }
  send(to_publisher, {Message::Kind::finished, 0, bad, now_ns()});
}

// Collects one message of the given kind from each consumer; gives the time of the last one.
std::uint64_t collect(int from_consumers, Message::Kind kind, const Options& options,
                      std::uint64_t& bad) {
  std::uint64_t last_ns = 0;
  for (std::uint64_t i = 0; i < options.consumers; ++i) {
    Message message{};
    if (read(from_consumers, &message, sizeof message) != static_cast<ssize_t>(sizeof message) ||
        message.kind != kind) {
      std::fputs("iceoryx_ring: a consumer failed\n", stderr);
      std::exit(3);
    }
    bad += message.bad;
    last_ns = std::max(last_ns, message.at_ns);
  }
  return last_ns;
}

int produce(const Options& options, int from_consumers) {
  start_runtime(getpid(), "publisher");
  iox::popo::PublisherOptions publisher_options;
  publisher_options.subscriberTooSlowPolicy = iox::popo::ConsumerTooSlowPolicy::WAIT_FOR_CONSUMER;
  iox::popo::UntypedPublisher publisher(service(getpid()), publisher_options);
  std::uint64_t bad = 0;
  collect(from_consumers, Message::Kind::subscribed, options, bad);

  const std::uint64_t start_ns = now_ns();
  for (std::uint64_t batch = 0; batch < options.batches; ++batch) {
    publisher.loan(static_cast<std::uint32_t>(options.chunk_bytes()))
        .and_then([&](void* chunk) {
          write_batch(static_cast<std::byte*>(chunk), batch, options);
          publisher.publish(chunk);
        })
        .or_else([&](iox::popo::AllocationError) {
          std::fprintf(stderr,
                       "iceoryx_ring: no chunk to loan; RouDi needs %llu chunks of %llu bytes\n",
                       static_cast<unsigned long long>(options.chunks()),
                       static_cast<unsigned long long>(options.chunk_bytes()));
          std::exit(3);
        });
  }
  const std::uint64_t end_ns = collect(from_consumers, Message::Kind::finished, options, bad);
  while (wait(nullptr) > 0 || errno == EINTR) {
  }

  const double seconds = static_cast<double>(end_ns - start_ns) / 1e9;
  std::printf(
      "{\"consumers\":%llu,\"batch_bytes\":%llu,\"in_flight\":%llu,\"batches\":%llu,"
      "\"seconds\":%.6f,\"batches_per_second\":%.1f,\"bad\":%llu}\n",
      static_cast<unsigned long long>(options.consumers),
      static_cast<unsigned long long>(options.batch_bytes),
      static_cast<unsigned long long>(options.in_flight),
      static_cast<unsigned long long>(options.batches), seconds,
      static_cast<double>(options.batches) / seconds, static_cast<unsigned long long>(bad));
  return bad == 0 ? 0 : 1;
}

[[noreturn]] void usage(int code) {
  std::fputs(
      "iceoryx_ring --batch-bytes N --batches N --consumers K --in-flight D [--json]\n"
      "  --print-chunk-bytes, --print-chunks   the mempool that RouDi must have for these "
      "arguments\n"
      "  batch bytes: a multiple of 512; in flight: 1 to 256; consumers: 1 to 256\n",
      code == 0 ? stdout : stderr);
  std::exit(code);
}

Options parse(int argc, char** argv) {
  Options options;
  enum : int { batch_bytes, batches, consumers, in_flight, json, chunk_bytes, chunks, help };
  const option known[] = {{"batch-bytes", required_argument, nullptr, batch_bytes},
                          {"batches", required_argument, nullptr, batches},
                          {"consumers", required_argument, nullptr, consumers},
                          {"in-flight", required_argument, nullptr, in_flight},
                          {"json", no_argument, nullptr, json},
                          {"print-chunk-bytes", no_argument, nullptr, chunk_bytes},
                          {"print-chunks", no_argument, nullptr, chunks},
                          {"help", no_argument, nullptr, help},
                          {nullptr, 0, nullptr, 0}};
  int print = json;
  for (int chosen = 0; (chosen = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
    const std::uint64_t value = optarg != nullptr ? std::strtoull(optarg, nullptr, 10) : 0;
    switch (chosen) {
      case batch_bytes:
        options.batch_bytes = value;
        break;
      case batches:
        options.batches = value;
        break;
      case consumers:
        options.consumers = value;
        break;
      case in_flight:
        options.in_flight = value;
        break;
      case json:
        break;
      case chunk_bytes:
      case chunks:
        print = chosen;
        break;
      case help:
        usage(0);
      default:
        usage(2);
    }
  }
  // A typo that leaves the queue at iceoryx's cap would be clamped silently and measure something
  // else.
  if (optind != argc || options.batch_bytes == 0 || options.batch_bytes % 512 != 0 ||
      options.chunk_bytes() > UINT32_MAX || options.batches == 0 || options.consumers == 0 ||
      options.consumers > iox::MAX_SUBSCRIBERS_PER_PUBLISHER || options.in_flight == 0 ||
      options.in_flight > iox::MAX_SUBSCRIBER_QUEUE_CAPACITY) {
    usage(2);
  }
  if (print != json) {
    const std::uint64_t value = print == chunks ? options.chunks() : options.chunk_bytes();
    std::printf("%llu\n", static_cast<unsigned long long>(value));
    std::exit(0);
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  int ends[2];
  if (pipe(ends) != 0) {
    std::perror("iceoryx_ring: pipe");
    return 3;
  }
  alarm(kHangSeconds);
  const pid_t publisher_pid = getpid();
  // All forks come before any iceoryx call: its runtime is one per process and does not survive a
  // fork.
  for (std::uint64_t i = 0; i < options.consumers; ++i) {
    const pid_t child = fork();
    if (child < 0) {
      std::perror("iceoryx_ring: fork");
      return 3;
    }
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      alarm(kHangSeconds);
      close(ends[0]);
      consume(options, i, publisher_pid, ends[1]);
      std::exit(0);
    }
  }
  close(ends[1]);
  return produce(options, ends[0]);
}
