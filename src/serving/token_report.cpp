// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serving/token_report.hpp"

#include "data/token_account_json.hpp"
#include "serving/console.hpp"

#include <batchcast/data/row_lengths.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace batchcast::inline v0_1::serving {

std::string account_text(const TokenAccount& account) {
  std::string text = fmt::format("{} read in each epoch = {} delivered + {} truncated + {} dropped",
                                 counted(account.tokens, "token"), count_text(account.delivered),
                                 count_text(account.truncated), count_text(account.dropped));
  const auto add = [&text](std::uint64_t documents, const char* what) {
    if (documents == 0) return;
    text += fmt::format("; {} {} {}", counted(documents, "document"), documents == 1 ? "is" : "are",
                        what);
  };
  add(account.truncated_documents, "truncated");
  add(account.dropped_documents, "dropped");
  add(account.split_documents, "split");
  return text;
}

std::string tokens_text(const MadeTokens& tokens) {
  return fmt::format("{}: {} trained, {} masked", counted(tokens.tokens, "token"),
                     count_text(tokens.trained), count_text(tokens.tokens - tokens.trained));
}

nlohmann::json json_of(const TokenAccount& account) { return detail::json_of_account(account); }

nlohmann::json json_of(const MadeTokens& tokens) {
  return {{"made", tokens.tokens},
          {"trained", tokens.trained},
          {"masked", tokens.tokens - tokens.trained}};
}

std::optional<MadeTokens> count_trained(const Source& source) {
  const std::vector<PartSpec>& parts = source.parts();
  const auto mask = std::find_if(parts.begin(), parts.end(), [](const PartSpec& part) {
    return part.name == "loss_mask" && part.axis == "tokens";
  });
  const auto lengths = source.lengths("tokens");
  if (lengths == nullptr) return std::nullopt;
  MadeTokens counted;
  if (mask == parts.end()) {
    counted.tokens = counted.trained = summary_of(*lengths).total;
    return counted;
  }
  SampleParts sample;
  for (std::uint64_t id = 0; id < source.size(); ++id) {
    const auto part = static_cast<std::size_t>(mask - parts.begin());
    source.read_part(id, part, sample);
    const std::span<const std::byte> bytes = sample[part];
    counted.tokens += bytes.size();
    counted.trained += bytes.size() - static_cast<std::uint64_t>(
                                          std::count(bytes.begin(), bytes.end(), std::byte{0}));
  }
  return counted;
}

}  // namespace batchcast::inline v0_1::serving
