// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/processors.hpp"

#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

namespace batchcast::inline v0_1::observe {

ProcessorTicks processor_ticks(const std::string& root) {
  ProcessorTicks ticks;
  std::ifstream file(root + "/proc/stat");
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name != "cpu") {
      ++ticks.processors;
      continue;
    }
    // user nice system idle iowait irq softirq steal; guests are in user already.
    constexpr int idle_at = 3;
    constexpr int iowait_at = 4;
    std::uint64_t count = 0;
    for (int at = 0; at < 8 && words >> count; ++at) {
      ticks.all += count;
      if (at == idle_at || at == iowait_at) ticks.idle += count;
    }
  }
  return ticks;
}

double idle_between(const ProcessorTicks& before, const ProcessorTicks& now) noexcept {
  if (now.processors == 0 || now.all <= before.all || now.idle < before.idle) return -1;
  const auto share =
      static_cast<double>(now.idle - before.idle) / static_cast<double>(now.all - before.all);
  return share * now.processors;
}

double processor_pressure(const std::string& root) {
  // some avg10=97.07 avg60=97.62 avg300=98.16 total=10031002576
  std::ifstream file(root + "/proc/pressure/cpu");
  constexpr std::string_view key = "avg10=";
  std::string kind;
  std::string average;
  if (!(file >> kind >> average) || kind != "some" || !average.starts_with(key)) return -1;
  double percent = -1;
  const char* const end = average.data() + average.size();
  const auto read = std::from_chars(average.data() + key.size(), end, percent);
  const bool is_share = read.ec == std::errc() && percent >= 0 && percent <= 100;
  return is_share ? percent / 100 : -1;
}

}  // namespace batchcast::inline v0_1::observe
