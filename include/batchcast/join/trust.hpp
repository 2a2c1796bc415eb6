// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <span>
#include <string>

// Whether to trust a directory: a process that can write there can pose as the producer.
namespace batchcast::inline v0_1 {

struct Trust {
  std::span<const std::uint32_t> owners = {};  ///< besides this user and root
  bool any_owner = false;                      ///< the user named the directory
};

/// What is wrong with the directory that lstat() found at `path`, and what to do; or nothing.
[[nodiscard]] std::string distrust(const std::string& path, const struct stat& status, Trust trust);

/// The value of an environment variable; empty if it is not set.
[[nodiscard]] std::string environment(const char* name);

}  // namespace batchcast::inline v0_1
