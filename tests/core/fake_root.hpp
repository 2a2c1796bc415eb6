// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "temporary_folder.hpp"

#include <string>

namespace batchcast::testing {

/// A machine's /proc and /sys/fs/cgroup, as files that a test writes. `Machine` is derived from it.
template <class Machine>
class FakeRoot {
 public:
  Machine& file(const std::string& path, const std::string& text) {
    folder_.write(path.substr(1), text + '\n');
    return static_cast<Machine&>(*this);
  }
  [[nodiscard]] const std::string& path() const noexcept { return folder_.path(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace batchcast::testing
