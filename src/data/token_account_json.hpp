// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/token_account.hpp>

#include <nlohmann/json.hpp>

namespace batchcast::inline v0_1::detail {

/// As boards and reports have it.
[[nodiscard]] inline nlohmann::json json_of_account(const TokenAccount& account) {
  return {{"documents", account.documents},
          {"read", account.tokens},
          {"samples", account.samples},
          {"delivered", account.delivered},
          {"truncated_documents", account.truncated_documents},
          {"truncated", account.truncated},
          {"dropped_documents", account.dropped_documents},
          {"dropped", account.dropped},
          {"split_documents", account.split_documents}};
}

}  // namespace batchcast::inline v0_1::detail
