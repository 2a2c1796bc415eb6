// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <string_view>

// What cmake/EmbedPage.cmake makes of page.html, page.css and page.js.
namespace batchcast::inline v0_1::metrics {

/// The page, with its style and its script.
[[nodiscard]] std::string_view page_html() noexcept;
/// The Content-Security-Policy that allows these two, by their hashes, and nothing else.
[[nodiscard]] std::string_view page_policy() noexcept;

}  // namespace batchcast::inline v0_1::metrics
