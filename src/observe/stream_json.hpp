// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/stream_model.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>

// The model as JSON: the producer writes it, and commands read it.
namespace batchcast::inline v0_1::observe {

/// A part of the trainers, in the order of their ids.
struct Page {
  std::uint64_t from = 0;      ///< the lowest id
  std::uint64_t count = 1024;  ///< at most
};

/// An answer to `stats`, which fits into a message. Without a page it has the trainers that are
/// furthest behind, and says how many are left out. With one it has those of the page that fit, and
/// `next`, where the next page begins, if there are more.
[[nodiscard]] nlohmann::json to_json(const Stream& stream, const std::optional<Page>& page = {});

/// Reads an answer of any version. It is hostile input: what is missing or of another kind than it
/// must be is 0 or empty, and texts have no control characters.
[[nodiscard]] Stream stream_of(const nlohmann::json& answer);

/// Adds a page's trainers to an answer that has earlier ones. Those that both have are taken from
/// the later page.
void add_page(nlohmann::json& answer, const nlohmann::json& page);

}  // namespace batchcast::inline v0_1::observe
