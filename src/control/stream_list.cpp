// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include <batchcast/control/directory.hpp>

#include <batchcast/core/error.hpp>

#include <batchcast/join/trust.hpp>
#include "control/stream_lock.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

namespace batchcast {
namespace {

namespace fs = std::filesystem;

bool trusted(const std::string& path, Trust trust) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0 && distrust(path, status, trust).empty();
}

bool is_stream_name(const std::string& name) {
  try {
    check_stream_name(name);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

}  // namespace

std::vector<ListedStream> list_streams() {
  const Trust trust{.any_owner = !environment("BATCHCAST_DIR").empty()};
  std::vector<ListedStream> result;
  for (const std::string& base : candidate_directories()) {
    if (!trusted(base, trust)) continue;
    std::error_code error;
    for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      ListedStream stream{name, stream_paths(base, name)};
      std::error_code ignored;
      if (!is_stream_name(name) || !trusted(stream.paths.directory, trust) ||
          !fs::is_regular_file(fs::symlink_status(stream.paths.lock, ignored))) {
        continue;
      }
      const LockState lock = look_at_lock(stream.paths.lock);
      stream.served = lock.held;
      stream.pid = lock.pid;
      result.push_back(std::move(stream));
    }
  }
  std::sort(result.begin(), result.end(), [](const ListedStream& a, const ListedStream& b) {
    return std::tie(a.name, a.paths.directory) < std::tie(b.name, b.paths.directory);
  });
  return result;
}

}  // namespace batchcast
