// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/error.hpp>

#include <string>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Throws InvalidArgument. `where` is the place in a recipe's file, `recipe.toml:9`, or empty.
[[noreturn]] inline void refuse_at(const std::string& where, const std::string& why) {
  throw InvalidArgument(text("batchcast: {}{}", where.empty() ? "" : text("{}: ", where), why));
}

/// `a`, `b`, `c`: as a message lists names.
[[nodiscard]] inline std::string quoted(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += text("{}{}`", list.empty() ? "`" : ", `", name);
  return list;
}

}  // namespace batchcast::inline v0_1::detail
