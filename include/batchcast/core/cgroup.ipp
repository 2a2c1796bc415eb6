// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/cgroup.hpp>
#include <batchcast/core/text.hpp>

#include <batchcast/core/inline.hpp>

#include <fstream>

namespace batchcast::inline v0_1 {

BATCHCAST_INLINE std::vector<CgroupDirectory> cgroup_directories(std::string_view controller,
                                                                 const std::string& root) {
  std::vector<CgroupDirectory> directories;
  const std::string wanted = text(",{},", controller);
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = text(",{},", line.substr(first + 1, second - first - 1));
    const bool version_2 = controllers == ",,";
    if (!version_2 && controllers.find(wanted) == std::string::npos) continue;
    const std::string mount =
        text("{}/sys/fs/cgroup{}", root, version_2 ? "" : text("/{}", controller));
    std::string group = line.substr(second + 1);
    for (;;) {
      directories.push_back({mount + (group == "/" ? "" : group), version_2});
      const auto slash = group.rfind('/');
      if (group.empty() || group == "/" || slash == std::string::npos) break;
      group.erase(slash);
    }
  }
  return directories;
}

}  // namespace batchcast::inline v0_1
