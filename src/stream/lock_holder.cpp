// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors

#include "stream/lock_holder.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace batchcast::inline v0_1 {
namespace {

/// A file's name in /proc/locks.
std::string name_of(const struct stat& file) {
  std::array<char, 64> text{};
  static_cast<void>(std::snprintf(text.data(), text.size(), "%02x:%02x:%llu", major(file.st_dev),
                                  minor(file.st_dev),
                                  static_cast<unsigned long long>(file.st_ino)));
  return text.data();
}

std::optional<std::int32_t> first_that_locks(const std::string& path, const char* wanted_access) {
  struct stat file;
  if (::stat(path.c_str(), &file) != 0) return std::nullopt;
  const std::string wanted = name_of(file);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // A line is `7: FLOCK  ADVISORY  READ 4711 00:1b:42 0 EOF`.
    std::istringstream words(line);
    std::string number, kind, manner, access, name;
    std::int32_t pid = 0;
    if (words >> number >> kind >> manner >> access >> pid >> name && kind == "FLOCK" &&
        access == wanted_access && name == wanted) {
      return std::max(pid, 0);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int32_t> looker_at_lock(const std::string& path) {
  return first_that_locks(path, "READ");
}

std::optional<std::int32_t> holder_of_lock(const std::string& path) {
  return first_that_locks(path, "WRITE");
}

}  // namespace batchcast::inline v0_1
