// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/ask_statistics.hpp"

#include "observe/stream_json.hpp"

#include <batchcast/core/deadline.hpp>
#include <batchcast/core/text.hpp>

#include <cstdint>
#include <string>

namespace batchcast::cli {
namespace {

using nlohmann::json;

bool ask_page(ControlClient& producer, std::uint64_t from, int timeout_ms) {
  return producer.send(json{{"command", "stats"}, {"from", from}}.dump(), timeout_ms);
}

std::optional<json> receive_page(ControlClient& producer, int timeout_ms) {
  const auto answer = producer.receive(timeout_ms);
  if (!answer) return std::nullopt;
  json page = json::parse(*answer, nullptr, false);
  if (!page.is_object()) return std::nullopt;
  return page;
}

/// Where the page after this one begins; nothing where it is the last.
std::optional<std::uint64_t> next_of(const json& page, std::uint64_t from) {
  const auto next = page.find("next");
  if (next == page.end() || !next->is_number_unsigned()) return std::nullopt;
  const auto position = next->get<std::uint64_t>();
  return position > from ? std::optional(position) : std::nullopt;
}

void count_left_out(json& answer) {
  const auto total = answer.find("consumers_total");
  const auto rows = answer.find("consumers");
  if (total == answer.end() || !total->is_number_unsigned()) return;
  if (rows == answer.end() || !rows->is_array()) return;
  const auto all = total->get<std::uint64_t>();
  if (all > rows->size()) answer["consumers_left_out"] = all - rows->size();
}

}  // namespace

std::optional<json> ask_statistics(ControlClient& producer, int timeout_ms) {
  const detail::Deadline deadline(timeout_ms);
  if (!ask_for_statistics(producer, timeout_ms)) return std::nullopt;
  return take_statistics(producer, deadline);
}

bool ask_for_statistics(ControlClient& producer, int timeout_ms) {
  return ask_page(producer, 0, timeout_ms);
}

std::optional<json> take_statistics(ControlClient& producer, const detail::Deadline& deadline) {
  constexpr int pages_max = 64;  // a thousand trainers with the longest names take eleven
  auto answer = receive_page(producer, deadline.left_ms());
  if (!answer) return std::nullopt;
  auto next = next_of(*answer, 0);
  for (int pages = 1; next && pages < pages_max && deadline.left_ms() > 0; ++pages) {
    if (!ask_page(producer, *next, deadline.left_ms())) break;
    const auto page = receive_page(producer, deadline.left_ms());
    if (!page) break;
    observe::add_page(*answer, *page);
    next = next_of(*page, *next);
  }
  if (next) count_left_out(*answer);
  return answer;
}

}  // namespace batchcast::cli
