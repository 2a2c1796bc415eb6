// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

// What a stream's life file costs: of each of MEMBERS consumers that join, the time until it is
// noted, and the processor time; and that of the note which is made once a second where all moved.
// Prints one JSON object. DIRECTORY is to be of the file system that streams lie on.
// Usage: life_cost DIRECTORY [MEMBERS]
#include "core/cpu_time.hpp"
#include "life/life_book.hpp"

#include <batchcast/core/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using namespace batchcast;
using namespace batchcast::detail;

constexpr std::uint64_t notes = 200;

double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "Usage: life_cost DIRECTORY [MEMBERS]\n");
    return 2;
  }
  const std::uint64_t members = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 4;
  Life life;
  life.identity = std::string(32, 'a');
  life.incarnation = std::string(32, '1');
  life.started = started_here({"batchcast", "serve", "imagefolder:train", "--stream", "s"});
  LifeBook book(argv[1], life, [](LogLevel, std::string_view text) {
    std::fprintf(stderr, "%.*s\n", static_cast<int>(text.size()), text.data());
  });
  std::vector<FileDescriptor> locks;
  std::vector<double> joins_ms;
  std::vector<double> joins_cpu_ms;
  std::map<MemberKey, MemberPlace> places;
  for (std::uint64_t id = 1; id <= members; ++id) {
    LifeMember member;
    member.key = {life.incarnation, id};
    member.name = "trainer-" + std::to_string(id);
    places[member.key] = {};
    const std::uint64_t began_ns = now_ns();
    const std::uint64_t cpu_before_ns = thread_cpu_ns();
    locks.push_back(book.admit(std::move(member)));
    joins_cpu_ms.push_back(seconds_from_ns(thread_cpu_ns() - cpu_before_ns) * 1e3);
    joins_ms.push_back(seconds_from_ns(now_ns() - began_ns) * 1e3);
  }
  std::vector<double> notes_ms;
  for (std::uint64_t second = 1; second <= notes; ++second) {
    for (auto& [key, place] : places) place.floor.position = second * 500;
    const std::uint64_t began_ns = thread_cpu_ns();
    book.note({second * 600}, second / 4, places, second * 1'000'000'000);
    notes_ms.push_back(seconds_from_ns(thread_cpu_ns() - began_ns) * 1e3);
  }
  book.end();
  std::printf("{\"members\":%llu,\"join_ms\":%.4f,\"join_cpu_ms\":%.4f,\"note_cpu_ms\":%.4f}\n",
              static_cast<unsigned long long>(members), median_of(joins_ms),
              median_of(joins_cpu_ms), median_of(notes_ms));
  return 0;
}
