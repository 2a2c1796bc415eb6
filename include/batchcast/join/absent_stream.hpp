// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace batchcast::inline v0_1 {

/// Why no producer serves `stream`, as far as the files in `directories` tell. Its producer was
/// killed, has failed or has ended, or there is a stream with a similar name, so that the name may
/// be misspelt. Returns sentences for a message, each after a blank; empty where the files tell
/// nothing. It reads every stream's lock: use it for messages, not in loops.
[[nodiscard]] std::string why_absent(std::string_view stream,
                                     std::span<const std::string> directories);

/// How the last producer of the stream ended, where it was not killed; nothing where it was, and
/// where it still serves. A producer that takes the name forgets how the one before ended.
struct LastEnd {
  bool failed = false;
  std::string reason;
};
[[nodiscard]] std::optional<LastEnd> last_end(std::string_view stream,
                                              std::span<const std::string> directories);

/// What a producer leaves for that: its pid, a line feed, and the reason, which is cut where it is
/// long. One that failed leaves it in `failure`, one that ended in order at `end_path`.
inline constexpr std::size_t failure_bytes_max = std::size_t{8} << 10;
[[nodiscard]] std::string failure_note(std::int32_t pid, std::string_view reason);

/// Beside the stream's directory, which is gone by then: `<base>/.<stream>.ended`. No stream has
/// such a name.
[[nodiscard]] std::string end_path(std::string_view base, std::string_view stream);
/// Also there: locked as long as a keeper (`serve --keep-alive`) starts the stream's producer
/// again.
[[nodiscard]] std::string keeper_path(std::string_view base, std::string_view stream);
[[nodiscard]] bool has_keeper(std::string_view stream, std::span<const std::string> directories);

}  // namespace batchcast::inline v0_1
