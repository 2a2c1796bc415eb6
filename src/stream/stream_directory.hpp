// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/log.hpp>
#include <batchcast/join/directory.hpp>
#include "join/bound_socket.hpp"
#include "stream/uninherited.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The directory of a stream: its producer makes and locks it, and `ls` finds it.
namespace batchcast::inline v0_1 {

/// Removes the files in a stream's directory, and the directory. A producer that holds the lock
/// calls it as the last thing it does. Files of a start that is under way stay. So does the log
/// where `keep_log` says so, since it tells why a stream failed.
void remove_stream_files(const StreamPaths& paths, bool keep_log) noexcept;

/// A stream that `ls` shows.
struct ListedStream {
  std::string name;
  StreamPaths paths;
  bool served = false;   ///< a producer holds the lock; else it died and left its directory
  std::int32_t pid = 0;  ///< of that producer in its namespace; 0 where unknown
  /// Another user's: its producer answers no questions of this user. `served` is then what the door
  /// shows, and true where this user may not even look.
  bool foreign = false;
  std::uint32_t uid = 0;  ///< whose directory it is
};
/// All streams in all candidate directories, by name, and in those of Ray's nodes (`ray-…`) below
/// BATCHCAST_DIR. Skips directories that cannot be trusted or read. Throws Error where
/// BATCHCAST_DIR names no directory.
[[nodiscard]] std::vector<ListedStream> list_streams();
/// The streams of that name, also where this user may pass through a directory but not list it.
/// Throws InvalidArgument for a bad name, and Error as above.
[[nodiscard]] std::vector<ListedStream> list_streams(std::string_view name);
/// The first directory of that name, without a producer, in which a failed stream left the reason.
/// Throws as above.
[[nodiscard]] std::optional<StreamPaths> find_failed_stream(std::string_view name);
/// Candidate directories that exist, and that this user may not list.
[[nodiscard]] std::vector<std::string> unlisted_directories();

/// Gives a producer the name of its stream. It makes the directory and takes the lock. Its
/// destructor removes both, and the sockets in it, unless that happens in a forked child.
///
/// `repair` belongs to one thread (the door's); any thread may read the rest.
class StreamDirectory {
 public:
  struct Options {
    std::string stream;
    std::string base = {};  ///< empty: producer_directory()
    /// Other users who may join. The directories become 0711 and the door 0666; the door
    /// server checks each client's user.
    std::vector<std::uint32_t> allow_uids = {};
    LogCallback log = {};
  };

  /// Throws InvalidArgument for a bad name, or a path too long for a socket. Throws StreamTaken
  /// with the pid of the other producer, or of a stopped process that looks at the lock. Throws
  /// Error for a directory that is a symlink, of another owner, or writable by others. Throws
  /// SystemError.
  explicit StreamDirectory(Options options);
  /// The paths of the stream that a producer with these options would serve. Throws as above where
  /// there is no place for it.
  [[nodiscard]] static StreamPaths paths_of(const Options& options);
  ~StreamDirectory();

  StreamDirectory(const StreamDirectory&) = delete;
  StreamDirectory& operator=(const StreamDirectory&) = delete;

  [[nodiscard]] const std::string& stream() const noexcept { return options_.stream; }
  [[nodiscard]] const std::string& base() const noexcept { return options_.base; }
  [[nodiscard]] const StreamPaths& paths() const noexcept { return paths_; }
  [[nodiscard]] const std::vector<std::uint32_t>& allow_uids() const noexcept {
    return options_.allow_uids;
  }

  /// Whether the directory and the lock file at our path are still the ones that we made: then
  /// everything else there is ours, too. Also for threads with a private table of descriptors.
  [[nodiscard]] bool intact() const noexcept;
  /// Makes them again. Returns false, and warns once, if that fails, or if another producer has
  /// taken the name meanwhile.
  [[nodiscard]] bool repair() noexcept;
  /// The stream failed: later trainers learn the reason, until the name is served again.
  void note_failure(std::string_view reason) const noexcept;
  /// The same of a stream that ended in order. The words lie beside the directory, which goes.
  void note_end(std::string_view reason) const noexcept;
  /// The stream did not fail, so that its log is of no use: it is removed with the directory.
  void forget_log() noexcept { keep_log_ = false; }
  /// Removes the directory now, and releases the lock: the name is free. Call it once the door's
  /// thread has ended.
  void leave() noexcept;

 private:
  /// False where the note is not there as a whole.
  bool leave_note(const std::string& path, std::string_view reason, unsigned mode) const noexcept;
  void make();
  [[nodiscard]] bool take_lock(int directory);
  void warn_once(const std::string& text) noexcept;

  Options options_;
  StreamPaths paths_;
  mutable std::mutex mutex_;  ///< of the next two
  UninheritedDescriptor lock_;
  FileIdentity identity_;  ///< of the lock file; no other has it while the lock is held
  std::int32_t owner_pid_ = 0;
  bool warned_ = false;
  bool keep_log_ = true;
};

}  // namespace batchcast::inline v0_1
