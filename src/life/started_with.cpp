// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "life/life.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

extern char** environ;

namespace batchcast::inline v0_1::detail {
namespace {

/// What decides which files, programs and GPUs a producer finds. Names that end with `_` stand for
/// all that begin so.
constexpr std::array<std::string_view, 10> kept_names = {"BATCHCAST_",
                                                         "CUDA_VISIBLE_DEVICES",
                                                         "CUDA_DEVICE_ORDER",
                                                         "PATH",
                                                         "PYTHONPATH",
                                                         "VIRTUAL_ENV",
                                                         "LD_LIBRARY_PATH",
                                                         "HF_",
                                                         "XDG_",
                                                         "HOME"};

/// What must not lie on a disk. Who starts the next producer passes on what it has of these.
constexpr std::array<std::string_view, 2> secrets = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"};

bool is_kept(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  if (name == deaths_variable) return false;
  if (std::find(secrets.begin(), secrets.end(), name) != secrets.end()) return false;
  return std::any_of(kept_names.begin(), kept_names.end(), [&](std::string_view kept) {
    return kept.back() == '_' ? name.starts_with(kept) : name == kept;
  });
}

}  // namespace

StartedWith started_here(std::vector<std::string> words) {
  StartedWith started;
  if (words.empty()) return started;
  started.words = std::move(words);
  std::error_code ignored;
  started.directory = std::filesystem::current_path(ignored).string();
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (is_kept(*variable)) started.environment.emplace_back(*variable);
  }
  return started;
}

}  // namespace batchcast::inline v0_1::detail
