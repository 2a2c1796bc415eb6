// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/join/absent_stream.hpp>

#include <batchcast/core/file_descriptor.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/nearest_name.hpp>
#include <batchcast/core/printable.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/join/directory.hpp>
#include <batchcast/join/stream_lock.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace batchcast::inline v0_1 {
namespace detail::absent_stream {

namespace fs = std::filesystem;

/// The pid of a producer that was killed, or 0. A producer removes its stream's directory when it
/// ends. So it was killed where the directory is still there and the lock is free.
inline std::int32_t killed_producer(std::string_view stream,
                                    std::span<const std::string> directories) {
  for (const std::string& base : directories) {
    const LockState lock = look_at_lock(stream_paths(base, stream).lock);
    if (lock.dead_pid != 0) return lock.dead_pid;
  }
  return 0;
}

/// `12 s ago`
inline std::string age_text(std::int64_t seconds) {
  constexpr std::int64_t minute = 60, hour = 60 * minute, day = 24 * hour;
  const std::int64_t age = std::max<std::int64_t>(seconds, 0);
  if (age < 2 * minute) return text("{} s ago", age);
  if (age < 2 * hour) return text("{} minutes ago", age / minute);
  if (age < 2 * day) return text("{} hours ago", age / hour);
  return text("{} days ago", age / day);
}

struct Note {
  std::string pid;
  std::string age;
  std::string reason;
};

/// What a producer wrote at that path as it ended; nothing where there is no whole note.
inline std::optional<Note> note_at(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  std::string note(failure_bytes_max, '\0');
  const ssize_t bytes = ::read(file.get(), note.data(), note.size());
  if (bytes <= 0) return std::nullopt;
  note.resize(static_cast<std::size_t>(bytes));
  const std::size_t line = note.find('\n');
  if (line == std::string::npos || line == 0) return std::nullopt;
  std::string reason = printable_lines(note.substr(line + 1));
  while (!reason.empty() && (reason.back() == '\n' || reason.back() == '.')) reason.pop_back();
  const std::int64_t now_s = ::time(nullptr);
  return Note{printable(note.substr(0, line)), age_text(now_s - status.st_mtime), reason};
}

/// The last words of the last producer; the next one of that name removes them.
inline std::string last_words(std::string_view stream, std::span<const std::string> directories) {
  for (const std::string& base : directories) {
    if (const auto note = note_at(stream_paths(base, stream).failure)) {
      return text(" Its last producer (pid {}) failed {}: {}.", note->pid, note->age, note->reason);
    }
    if (const auto note = note_at(end_path(base, stream))) {
      return text(" Its last producer ended {}: {}.", note->age, note->reason);
    }
  }
  return {};
}

inline std::vector<std::string> served_streams(std::span<const std::string> directories) {
  std::vector<std::string> names;
  for (const std::string& base : directories) {
    std::error_code error;
    for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      if (is_stream_name(name) && look_at_lock(stream_paths(base, name).lock).held) {
        names.push_back(name);
      }
    }
  }
  return names;
}

}  // namespace detail::absent_stream

BATCHCAST_INLINE std::string why_absent(std::string_view stream,
                                        std::span<const std::string> directories) {
  std::string hint;
  const std::int32_t pid = detail::absent_stream::killed_producer(stream, directories);
  if (pid != 0) hint += text(" Its producer (pid {}) is gone.", pid);
  hint += detail::absent_stream::last_words(stream, directories);
  const std::vector<std::string> served = detail::absent_stream::served_streams(directories);
  const std::string nearest = detail::nearest_name(stream, served);
  if (!nearest.empty() && nearest != stream) {
    hint += text(" Did you mean `{}`, which is served?", nearest);
  }
  return hint;
}

BATCHCAST_INLINE std::optional<LastEnd> last_end(std::string_view stream,
                                                 std::span<const std::string> directories) {
  for (const std::string& base : directories) {
    if (const auto note = detail::absent_stream::note_at(stream_paths(base, stream).failure)) {
      return LastEnd{true, note->reason};
    }
    if (const auto note = detail::absent_stream::note_at(end_path(base, stream))) {
      return LastEnd{false, note->reason};
    }
  }
  return std::nullopt;
}

BATCHCAST_INLINE std::string keeper_path(std::string_view base, std::string_view stream) {
  return text("{}/.{}.keeper", base, stream);
}

BATCHCAST_INLINE bool has_keeper(std::string_view stream,
                                 std::span<const std::string> directories) {
  return std::any_of(directories.begin(), directories.end(), [&](const std::string& base) {
    return look_at_lock(keeper_path(base, stream)).held;
  });
}

BATCHCAST_INLINE std::string end_path(std::string_view base, std::string_view stream) {
  return text("{}/.{}.ended", base, stream);
}

BATCHCAST_INLINE std::string failure_note(std::int32_t pid, std::string_view reason) {
  std::string note = text("{}\n{}", pid, reason.substr(0, failure_bytes_max));
  constexpr std::string_view cut = " …";
  if (note.size() <= failure_bytes_max) return note;
  std::size_t end = failure_bytes_max - cut.size();
  while (end > 0 && (static_cast<unsigned char>(note[end]) & 0xc0U) == 0x80U) --end;
  note.resize(end);
  return note.append(cut);
}

}  // namespace batchcast::inline v0_1
