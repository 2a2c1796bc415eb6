// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/trust.hpp>

#include <batchcast/core/inline.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace batchcast::inline v0_1 {
namespace detail::trust {

inline std::string octal(unsigned mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

}  // namespace detail::trust

BATCHCAST_INLINE std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

BATCHCAST_INLINE std::string distrust(const std::string& path, const struct stat& status,
                                      Trust trust) {
  const std::string cure =
      " Remove it, or set BATCHCAST_DIR to a directory that only you can write.";
  if (S_ISLNK(status.st_mode)) {
    return "batchcast: " + path + " is a symbolic link, which could lead anywhere." + cure;
  }
  if (!S_ISDIR(status.st_mode)) return "batchcast: " + path + " is not a directory." + cure;

  const std::uint32_t self = ::geteuid();
  const bool known =
      trust.any_owner || status.st_uid == self || status.st_uid == 0 ||
      std::find(trust.owners.begin(), trust.owners.end(), status.st_uid) != trust.owners.end();
  if (!known) {
    return "batchcast: " + path + " belongs to user " + std::to_string(status.st_uid) +
           ", not to you (user " + std::to_string(self) + ")." + cure;
  }
  const unsigned mode = status.st_mode & 07777U;
  if ((mode & 0022U) != 0 && (mode & S_ISVTX) != 0) {  // shared by all users, as /tmp is
    return "batchcast: " + path + " can be written by others (mode " + detail::trust::octal(mode) +
           "). Set BATCHCAST_DIR to a directory of your own, such as " + path + "/batchcast-" +
           std::to_string(self) + ".";
  }
  if ((mode & 0022U) != 0) {
    return "batchcast: " + path + " can be written by others (mode " + detail::trust::octal(mode) +
           "). Take that away with `chmod go-w " + path + "`.";
  }
  return {};
}

}  // namespace batchcast::inline v0_1
