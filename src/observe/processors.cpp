// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "observe/processors.hpp"

#include <fstream>
#include <sstream>
#include <string>

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

}  // namespace batchcast::inline v0_1::observe
