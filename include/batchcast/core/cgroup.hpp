// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace batchcast::inline v0_1 {

/// A directory of the control groups' file system whose limits hold for this process.
struct CgroupDirectory {
  std::string path;
  bool version_2 = true;
};

/// The directories from this process's group up to the root, of version 2 and of the version 1
/// hierarchy that has `controller`. Some may not exist: a container sees its group as the root.
/// `root` stands before /proc and /sys.
[[nodiscard]] std::vector<CgroupDirectory> cgroup_directories(std::string_view controller,
                                                              const std::string& root = "");

}  // namespace batchcast::inline v0_1
