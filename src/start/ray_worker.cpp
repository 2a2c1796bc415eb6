// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/ray_worker.hpp"

#include <batchcast/core/text.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1::detail {
namespace {

namespace fs = std::filesystem;

// Ray sets both for what one worker may use.
constexpr const char* of_one_worker[] = {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"};

std::string read_all(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The process of the node that starts its workers. What this process may not read is empty.
struct Raylet {
  std::string directory;
  std::string environment;  ///< NAME=value, each with a null character at its end
  std::string oom_score;

  [[nodiscard]] std::optional<std::string> variable(std::string_view name) const {
    for (std::size_t at = 0; at < environment.size();) {
      const std::size_t end = std::min(environment.find('\0', at), environment.size());
      const std::string_view entry = std::string_view(environment).substr(at, end - at);
      if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
        return std::string(entry.substr(name.size() + 1));
      }
      at = end + 1;
    }
    return std::nullopt;
  }
};

Raylet raylet_of(const std::string& pid) {
  const std::string process = text("/proc/{}/", pid);
  // In another container that number is another process.
  const bool is_number = !pid.empty() && pid.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number || read_all(process + "comm") != "raylet\n") return {};
  std::error_code unreadable;
  return {fs::read_symlink(process + "cwd", unreadable).string(), read_all(process + "environ"),
          read_all(process + "oom_score_adj")};
}

/// Where the worker was started. A shell that Ray starts it with has changed to `working_dir` of
/// its runtime environment, and says so in PWD.
std::string first_directory(const Raylet& raylet) {
  const char* const tune = std::getenv("TUNE_ORIG_WORKING_DIR");
  if (tune != nullptr && *tune != '\0') return tune;
  const char* const shell = std::getenv("PWD");
  const bool was_changed =
      shell != nullptr && !raylet.environment.empty() && shell != raylet.variable("PWD");
  return was_changed ? shell : raylet.directory;
}

void keep_streams_directory() {
  const char* const named = std::getenv("BATCHCAST_DIR");
  if (named == nullptr || *named == '\0') return;
  std::error_code error;
  const std::string path = fs::absolute(named, error).string();
  if (!error) ::setenv("BATCHCAST_DIR", path.c_str(), 1);
}

}  // namespace

void leave_ray_worker() {
  const char* const pid = std::getenv("RAY_RAYLET_PID");
  if (pid == nullptr) return;
  const Raylet raylet = raylet_of(pid);
  keep_streams_directory();
  if (const std::string first = first_directory(raylet); !first.empty()) {
    std::error_code gone;  // then it stays in the worker's
    fs::current_path(first, gone);
  }
  for (const char* const name : of_one_worker) {
    const std::optional<std::string> value = raylet.variable(name);
    if (value) {
      ::setenv(name, value->c_str(), 1);
    } else {
      ::unsetenv(name);
    }
  }
  // Workers are the first to be killed, and a producer would be the first of all.
  if (!raylet.oom_score.empty()) std::ofstream("/proc/self/oom_score_adj") << raylet.oom_score;
}

}  // namespace batchcast::inline v0_1::detail
