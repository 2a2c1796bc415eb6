// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {

/// The text of an error as a part of another text: without the library's name in front and the full
/// stop at its end.
[[nodiscard]] inline std::string as_reason(std::string text) {
  constexpr std::string_view prefix = "batchcast: ";
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  if (text.ends_with('.')) text.pop_back();
  return text;
}

}  // namespace batchcast::inline v0_1::detail
