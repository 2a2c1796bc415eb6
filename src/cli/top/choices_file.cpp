// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "cli/top/choices_file.hpp"

#include <batchcast/core/printable.hpp>
#include <batchcast/join/trust.hpp>

#include <nlohmann/json.hpp>

#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

namespace batchcast::cli {
namespace {

constexpr std::size_t filter_bytes_max = 63;

/// Empty where the user has no home.
std::filesystem::path choices_path() {
  const std::string config = environment("XDG_CONFIG_HOME");
  if (!config.empty()) return std::filesystem::path(config) / "batchcast" / "top.json";
  const std::string home = environment("HOME");
  if (home.empty()) return {};
  return std::filesystem::path(home) / ".config" / "batchcast" / "top.json";
}

}  // namespace

void load_choices(observe::Choices& choices) noexcept {
  try {
    std::ifstream file(choices_path());
    const auto kept = nlohmann::json::parse(file, nullptr, false);
    if (!kept.is_object()) return;
    if (const auto key = observe::sort_key_of(kept.value("sort", ""))) choices.sort = *key;
    choices.reversed = kept.value("reversed", false);
    choices.filter = printable(kept.value("filter", "")).substr(0, filter_bytes_max);
  } catch (const std::exception&) {
    // Another program's file, or another version's.
  }
}

void save_choices(const observe::Choices& choices) noexcept {
  try {
    const std::filesystem::path path = choices_path();
    if (path.empty()) return;
    std::filesystem::create_directories(path.parent_path());
    const std::filesystem::path fresh = path.string() + ".new";
    std::ofstream(fresh) << nlohmann::json{{"sort", observe::name_of(choices.sort)},
                                           {"reversed", choices.reversed},
                                           {"filter", choices.filter}}
                                .dump()
                         << '\n';
    std::filesystem::rename(fresh, path);
  } catch (const std::exception&) {
    // A home that cannot be written is no reason to end.
  }
}

}  // namespace batchcast::cli
