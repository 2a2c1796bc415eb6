// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/trust.hpp>

#include <batchcast/core/inline.hpp>
#include <batchcast/core/text.hpp>

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
    return text("batchcast: {} is a symbolic link, which could lead anywhere.{}", path, cure);
  }
  if (!S_ISDIR(status.st_mode)) return text("batchcast: {} is not a directory.{}", path, cure);

  const std::uint32_t self = ::geteuid();
  const bool known =
      trust.any_owner || status.st_uid == self || status.st_uid == 0 ||
      std::find(trust.owners.begin(), trust.owners.end(), status.st_uid) != trust.owners.end();
  if (!known) {
    return text("batchcast: {} belongs to user {}, not to you (user {}).{}", path, status.st_uid,
                self, cure);
  }
  const unsigned mode = status.st_mode & 07777U;
  if ((mode & 0022U) != 0 && (mode & S_ISVTX) != 0) {  // shared by all users, as /tmp is
    return text(
        "batchcast: {} can be written by others (mode {}). Set BATCHCAST_DIR to a directory of "
        "your own, such as {}/batchcast-{}.",
        path, detail::trust::octal(mode), path, self);
  }
  if ((mode & 0022U) != 0) {
    return text(
        "batchcast: {} can be written by others (mode {}). Take that away with `chmod go-w {}`.",
        path, detail::trust::octal(mode), path);
  }
  return {};
}

}  // namespace batchcast::inline v0_1
