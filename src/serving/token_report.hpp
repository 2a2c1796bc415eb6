// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/source.hpp>
#include <batchcast/data/token_account.hpp>

#include <nlohmann/json.hpp>

#include <optional>
#include <string>

// What became of the tokens of texts, for people and for programs.
namespace batchcast::inline v0_1::serving {

/// `1,234 tokens read in each epoch = 1,200 delivered + 30 truncated + 4 dropped; 2 documents are
/// truncated`.
[[nodiscard]] std::string account_text(const TokenAccount& account);
/// `1,200 tokens: 900 trained, 300 masked`.
[[nodiscard]] std::string tokens_text(const MadeTokens& tokens);
[[nodiscard]] nlohmann::json json_of(const TokenAccount& account);
/// `made`, `trained` and `masked`.
[[nodiscard]] nlohmann::json json_of(const MadeTokens& tokens);

/// The tokens of all samples of a source, and how many of them are trained: all where there is no
/// `loss_mask`. It reads all masks. Nothing where lengths are not known.
[[nodiscard]] std::optional<MadeTokens> count_trained(const Source& source);

}  // namespace batchcast::inline v0_1::serving
