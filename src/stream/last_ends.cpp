// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "stream/last_ends.hpp"

#include <batchcast/join/absent_stream.hpp>
#include <batchcast/join/directory.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <functional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1 {
namespace {

namespace fs = std::filesystem;

/// Whether that is what `end_path` gives for a stream.
bool is_end(const std::string& base, const std::string& path) {
  constexpr std::size_t signs = std::string_view("/.").size() + std::string_view(".ended").size();
  if (path.size() <= base.size() + signs) return false;
  const std::string name = path.substr(base.size() + 2, path.size() - base.size() - signs);
  return is_stream_name(name) && path == end_path(base, name);
}

}  // namespace

void forget_old_ends(const std::string& base) {
  std::vector<std::pair<std::int64_t, std::string>> ends;  // when each was written, and where
  std::error_code error;
  for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
    std::string path = base + '/' + it->path().filename().string();
    struct stat status;
    if (!is_end(base, path) || ::lstat(path.c_str(), &status) != 0) continue;
    if (S_ISREG(status.st_mode)) ends.emplace_back(status.st_mtime, std::move(path));
  }
  std::sort(ends.begin(), ends.end(), std::greater<>());
  const std::int64_t oldest_s = ::time(nullptr) - ends_kept_s;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (i >= ends_kept_max || ends[i].first < oldest_s) ::unlink(ends[i].second.c_str());
  }
}

}  // namespace batchcast::inline v0_1
