// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include <batchcast/core/placement.hpp>

#include <batchcast/core/error.hpp>

#include <charconv>

namespace batchcast {
namespace {

constexpr std::string_view cuda_prefix = "cuda:";
constexpr unsigned devices_max = 1024;

}  // namespace

std::optional<Placement> Placement::parse(std::string_view text) noexcept {
  if (text == "host") return Placement();
  if (!text.starts_with(cuda_prefix)) return std::nullopt;
  const std::string_view number = text.substr(cuda_prefix.size());
  unsigned device = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), device);
  const bool whole = error == std::errc() && end == number.data() + number.size();
  if (!whole || device >= devices_max) return std::nullopt;
  if (number.size() > 1 && number.front() == '0') return std::nullopt;  // one spelling each
  return on_cuda(device);
}

Placement::Placement(std::string_view text) {
  const auto parsed = parse(text);
  if (!parsed) {
    throw InvalidArgument("batchcast: `" + std::string(text) +
                          "` is no placement. It is `host`, or a GPU by its number: `cuda:0`.");
  }
  *this = *parsed;
}

std::string Placement::text() const {
  return is_host() ? "host" : std::string(cuda_prefix) + std::to_string(device());
}

}  // namespace batchcast
