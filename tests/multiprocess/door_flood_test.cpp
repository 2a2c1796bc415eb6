// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "../catch.hpp"
#include "consume.hpp"
#include "process.hpp"
#include "serve.hpp"

#include <batchcast/core/clock.hpp>
#include <batchcast/join/door.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/layout.hpp>
#include "stream/stream_directory.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

using namespace batchcast;
using namespace batchcast::testing;

namespace {

constexpr std::size_t datagram_bytes = 65'000;

std::string repeated(const std::string& unit) {
  std::string text;
  while (text.size() + unit.size() <= datagram_bytes) text += unit;
  return text;
}

/// A hello that the producer understands, and refuses where no ring spans such a batch.
std::string hello_for(std::uint64_t batch_size) {
  Hello hello;
  hello.layout_version = layout_version;
  hello.name = "greedy";
  hello.batch_size = batch_size;
  hello.pid = ::getpid();
  return encode(hello);
}

std::string datagram_of(const std::string& kind) {
  if (kind == "brackets") return repeated("[");
  if (kind == "objects") return repeated("{\"a\":");
  if (kind == "wide") return "[1" + repeated(",1");
  if (kind == "refused") return hello_for(std::uint64_t{1} << 40);
  if (kind == "leaving") return hello_for(1);
  return {};  // connects and closes
}

/// Comes to the door again and again, as fast as it can.
int flood(const Words& words) {
  const std::string datagram = datagram_of(words.text("kind"));
  const std::string door = find_stream("s").places.at(0).door;
  const FileDescriptor pidfd = own_pidfd();
  const int descriptors[] = {pidfd.get()};
  std::uint64_t visits = 0;
  for (; !is_told(); ++visits) {
    DoorAttempt attempt = connect_door(door, 100);
    if (attempt.answer != DoorAnswer::open || datagram.empty()) continue;
    if (datagram.size() < 1024) {
      static_cast<void>(attempt.connection.send(datagram, descriptors));
    } else {
      ::send(attempt.connection.native_handle(), datagram.data(), datagram.size(),
             MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }
  say("flooded visits=" + std::to_string(visits));
  return 0;
}

/// Joins so many times, as any trainer would, and says how long each took.
int joiner(const Words& words) {
  say("ready");
  static_cast<void>(hear());
  for (std::int64_t i = 0; i < words.number("times"); ++i) {
    ConsumerOptions options = stream_options();
    options.join = Join::now;
    const std::uint64_t started_ns = now_ns();
    try {
      const Consumer consumer(options);
      say("joined us=" + std::to_string((now_ns() - started_ns) / 1'000));
    } catch (const Error& error) {
      say("joined us=" + std::to_string((now_ns() - started_ns) / 1'000) +
          " over=" + kind_of(error));
    }
    pause_us(5'000);
  }
  return 0;
}

/// Attaches, and waits to be killed.
int sitter(const Words&) {
  const Consumer consumer(stream_options());
  say("sits name=" + consumer.name());
  static_cast<void>(hear());
  return 0;
}

const RoleRegistration flood_role("flood", flood);
const RoleRegistration joiner_role("joiner", joiner);
const RoleRegistration sitter_role("sitter", sitter);

bool is_there(const Producer& producer, const std::string& name) {
  const auto consumers = producer.stats().consumers;
  return std::any_of(consumers.begin(), consumers.end(),
                     [&](const ConsumerInfo& one) { return one.name == name; });
}

double ms_until_seen_dead(const Producer& producer, Process& sitter, const std::string& name) {
  const std::uint64_t killed_ns = now_ns();
  sitter.kill();
  while (is_there(producer, name) && now_ns() - killed_ns < 60'000'000'000) pause_us(200);
  return seconds_from_ns(now_ns() - killed_ns) * 1e3;
}

std::vector<double> joins_ms(std::uint64_t times, Process& joiner) {
  std::vector<double> all;
  joiner.tell("go");
  for (std::uint64_t i = 0; i < times; ++i) {
    const Words joined = joiner.expect("joined", 60'000);
    CHECK(joined.text("over") == "");
    all.push_back(static_cast<double>(joined.number("us")) / 1e3);
  }
  return all;
}

void print(const char* what, const std::string& flood, const std::vector<double>& all_ms) {
  std::printf("flood of %s: %s p50 %.1f ms, p99 %.1f ms, at most %.1f ms (%zu)\n", flood.c_str(),
              what, percentile(all_ms, 0.5), percentile(all_ms, 0.99), percentile(all_ms, 1.0),
              all_ms.size());
  std::fflush(stdout);
}

}  // namespace

TEST_CASE("hostile peers at the door delay neither those who join nor the sight of a death",
          "[flood]") {
  const OwnDirectory directory;
  const std::vector<std::vector<std::string>> floods = {
      {"brackets", "brackets", "brackets", "brackets"},
      {"refused", "refused", "refused", "refused"},
      {"closing", "closing", "closing", "closing"},
      {"leaving", "leaving"},
      {"brackets", "objects", "wide", "refused", "closing"}};
  for (const std::vector<std::string>& kinds : floods) {
    ProducerOptions options = producer_options();
    options.max_consumers = 128;
    Server server(std::move(options), {});
    const std::uint64_t times = scaled(100, 3);
    std::vector<Process> sitters;
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < scaled(40, 3); ++i) {
      sitters.emplace_back("sitter", std::vector<std::string>{});
      names.push_back(sitters.back().expect("sits").text("name"));
    }
    Process joiner("joiner", {"times=" + std::to_string(times)});
    static_cast<void>(joiner.expect("ready"));
    std::vector<Process> hostile;
    for (const std::string& kind : kinds) {
      hostile.emplace_back("flood", std::vector<std::string>{"kind=" + kind});
    }
    pause_us(200'000);
    std::vector<double> deaths_ms;
    for (std::size_t i = 0; i < sitters.size(); ++i) {
      deaths_ms.push_back(ms_until_seen_dead(server.producer(), sitters[i], names[i]));
    }
    const std::vector<double> all_joins_ms = joins_ms(times, joiner);
    std::string what;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      hostile[i].tell("enough");
      what += (i == 0 ? "" : ", ") + kinds[i] + " (" +
              std::to_string(hostile[i].expect("flooded").number("visits")) + ")";
    }
    print("joining takes", what, all_joins_ms);
    print("a death is seen after", what, deaths_ms);
    const double most_ms = slow_build() ? 10'000 : 1'000;  // the machine may be busy otherwise
    CHECK(percentile(all_joins_ms, 0.99) < most_ms);
    CHECK(percentile(deaths_ms, 0.99) < most_ms);
  }
}
