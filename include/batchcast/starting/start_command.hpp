// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/start.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Which command starts a stream, and with which words.
namespace batchcast::inline v0_1::detail {

/// Where the command may be, besides what the caller and the environment name.
struct CommandPlaces {
  std::string own;        ///< that this program brings along, as the Python package does; or empty
  std::string program;    ///< the running one
  std::string installed;  ///< with the CMake package; empty where that is not known
  std::string path;       ///< as $PATH has it
};
[[nodiscard]] CommandPlaces command_places();
/// `path` lasts as long as the program.
void note_own_command(const char* path) noexcept;

/// The file to run: `wanted`, else $BATCHCAST_COMMAND, else the first `batchcast` of the places.
/// Throws StartFailed with all places that were looked at.
[[nodiscard]] std::string find_command(const std::string& wanted, const CommandPlaces& places);

/// `COMMAND ensure STREAM SOURCE …`. Throws InvalidArgument for options that cannot be.
[[nodiscard]] std::vector<std::string> ensure_words(const std::string& command,
                                                    const StartTarget& target,
                                                    const StartOptions& options);

/// The words as one could type them.
[[nodiscard]] std::string shell_text(const std::vector<std::string>& words);

/// What follows `option` (`--shard 0/2` or `--shard=0/2`), the last one if there are several.
[[nodiscard]] std::optional<std::string> value_of(const std::vector<std::string>& words,
                                                  std::string_view option);

}  // namespace batchcast::inline v0_1::detail
