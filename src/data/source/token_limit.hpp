// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/data/recipe.hpp>
#include <batchcast/data/source.hpp>
#include <batchcast/data/token_account.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// The axis that `max_tokens` counts.
inline constexpr std::string_view tokens_axis = "tokens";

/// A source whose samples have a limited number of tokens, and where all tokens are.
struct LimitedTokens {
  std::shared_ptr<const Source> source;
  std::optional<TokenAccount> account;  ///< nothing where the source does not know its lengths
};

/// The documents of `source` as samples of at most `max_tokens` tokens; 0: of any number, then
/// `source` itself. Which part of which document a sample is follows from the lengths alone. Parts
/// on no axis are those of the document. Throws InvalidArgument where lengths are not known, where
/// a document is longer and that is an error, and where no sample is left.
[[nodiscard]] LimitedTokens limit_tokens(std::shared_ptr<const Source> source,
                                         std::uint64_t max_tokens, Overlong overlong);

/// The lengths of all samples on an axis, which `what` needs, such as "the order `packed`". Throws
/// InvalidArgument where there are none.
[[nodiscard]] std::shared_ptr<const RowLengths> lengths_needed(const Source& source,
                                                               std::string_view axis,
                                                               std::string_view what,
                                                               std::string_view cure);

}  // namespace batchcast::inline v0_1::detail
