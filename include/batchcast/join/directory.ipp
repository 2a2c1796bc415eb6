// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/directory.hpp>

#include <batchcast/core/error.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/limits.hpp>
#include <batchcast/core/printable.hpp>

#include <batchcast/join/trust.hpp>
#include <batchcast/join/unix_socket.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

namespace batchcast::inline v0_1 {
namespace detail::directory {

namespace fs = std::filesystem;

// Signs that no shell interprets, neither inside a word nor at its beginning.
inline constexpr std::string_view name_signs = "-_.:,+=@%~#^";
inline constexpr std::string_view name_signs_not_first = "-.=~#^";

inline bool is_letter_or_digit(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

inline constexpr const char* env_directory = "BATCHCAST_DIR";

struct Candidate {
  std::string path;
  bool named = false;     ///< by the user: parents are made too, and any user may own it
  bool private_ = false;  ///< lies below a directory that only this user can enter
};

inline std::vector<Candidate> candidates() {
  if (const std::string named = environment(env_directory); !named.empty()) {
    std::string path = fs::absolute(named).lexically_normal().string();
    while (path.size() > 1 && path.back() == '/') path.pop_back();
    return {{path, true, false}};
  }
  const uid_t uid = ::geteuid();
  std::vector<Candidate> result;
  const auto add = [&result](std::string path, bool is_private) {
    const auto same = [&path](const Candidate& other) { return other.path == path; };
    if (std::none_of(result.begin(), result.end(), same)) {
      result.push_back({std::move(path), false, is_private});
    }
  };
  if (const std::string runtime = environment("XDG_RUNTIME_DIR"); runtime.starts_with('/')) {
    add((fs::path(runtime) / "batchcast").lexically_normal().string(), true);
  }
  add(text("/run/user/{}/batchcast", uid), true);
  add(text("/tmp/batchcast-{}", uid), false);
  return result;
}

/// True if there is a directory at `path` afterwards, or something that `distrust` will refuse.
inline bool make_directory(const Candidate& candidate, std::string& why_not) {
  std::error_code error;
  if (candidate.named) fs::create_directories(fs::path(candidate.path).parent_path(), error);
  if (::mkdir(candidate.path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  why_not += text("\n  {}: {}", candidate.path, std::generic_category().message(errno));
  return false;
}

}  // namespace detail::directory

BATCHCAST_INLINE void check_stream_name(std::string_view name) {
  const auto refuse = [name](const std::string& why) {
    throw InvalidArgument(
        text("batchcast: \"{}\" cannot name a stream: {}. Use letters, digits, '-', '_' and '.', "
             "as in imagenet-train.",
             printable(name.substr(0, 80)), why));
  };
  if (name.empty()) refuse("it is empty");
  if (name.size() > limits::stream_name_bytes_max) {
    refuse(text("it takes {} bytes, of at most {}", name.size(), limits::stream_name_bytes_max));
  }
  if (name.front() == '.') refuse("it begins with a dot");
  if (name.find('/') != std::string_view::npos) refuse("it has a slash");
  if (name.find(' ') != std::string_view::npos) refuse("it has a blank");
  if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= '!' && c <= '~'; })) {
    refuse("it has characters other than printable ASCII");
  }
  const auto sign = std::find_if(name.begin(), name.end(), [](char c) {
    return !detail::directory::is_letter_or_digit(c) &&
           detail::directory::name_signs.find(c) == std::string_view::npos;
  });
  if (sign != name.end()) {
    refuse(text("a shell reads `{}` as something else", *sign));
  }
  if (detail::directory::name_signs_not_first.find(name.front()) != std::string_view::npos) {
    refuse(text("it begins with `{}`, which the command or a shell reads as something else",
                name.front()));
  }
}

BATCHCAST_INLINE bool is_stream_name(std::string_view name) {
  try {
    check_stream_name(name);
    return true;
  } catch (const InvalidArgument&) {
    return false;
  }
}

BATCHCAST_INLINE std::vector<std::string> candidate_directories() {
  std::vector<std::string> result;
  for (detail::directory::Candidate& candidate : detail::directory::candidates())
    result.push_back(std::move(candidate.path));
  return result;
}

BATCHCAST_INLINE std::string producer_directory(bool for_other_users) {
  std::string why_not;
  for (const detail::directory::Candidate& candidate : detail::directory::candidates()) {
    if (for_other_users && candidate.private_) continue;
    if (detail::directory::make_directory(candidate, why_not)) return candidate.path;
  }
  throw Error(
      text("batchcast: there is no directory for streams:{}\nSet BATCHCAST_DIR to one that you can "
           "write.",
           why_not));
}

BATCHCAST_INLINE StreamPaths stream_paths(std::string_view base, std::string_view stream) {
  const std::string directory = text("{}/{}", base, stream);
  return {directory,
          directory + "/lock",
          directory + "/door",
          directory + "/control",
          directory + "/events",
          directory + "/start",
          directory + "/serve.log",
          directory + "/failure"};
}

BATCHCAST_INLINE StreamPlaces find_stream(std::string_view stream) {
  check_stream_name(stream);
  StreamPlaces result;
  for (const detail::directory::Candidate& candidate : detail::directory::candidates()) {
    const StreamPaths paths = stream_paths(candidate.path, stream);
    struct stat base, directory, door;
    const auto is_there = [&result](const std::string& path, struct stat& status) {
      if (::lstat(path.c_str(), &status) == 0) return true;
      if (errno == EACCES) result.denied.push_back(text("{}: no permission", path));
      return false;
    };
    if (!is_there(candidate.path, base)) continue;
    const Trust trust{.any_owner = candidate.named};
    std::string wrong = distrust(candidate.path, base, trust);
    if (wrong.empty()) {
      if (!is_there(paths.directory, directory)) continue;
      wrong = distrust(paths.directory, directory, trust);
    }
    if (!wrong.empty()) {
      result.distrusted.push_back(std::move(wrong));
    } else if (is_there(paths.door, door) && S_ISSOCK(door.st_mode)) {
      result.places.push_back(paths);
    }
  }
  return result;
}

}  // namespace batchcast::inline v0_1
