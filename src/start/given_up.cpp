// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "start/given_up.hpp"

#include "life/life_files.hpp"
#include "stream/stream_directory.hpp"

#include <algorithm>
#include <exception>

namespace batchcast::inline v0_1::detail {

std::optional<Life> life_waited_for(const std::string& directory) {
  std::optional<Life> life = read_life(directory);
  const auto lives = [&](const LifeMember& member) {
    return is_member_alive(directory, member.lock);
  };
  if (life && !std::any_of(life->members.begin(), life->members.end(), lives)) life.reset();
  return life;
}

void note_start(const std::string& directory, Life& left) noexcept {
  const std::optional<Life> last = read_life(directory);
  if (!last || last->incarnation != left.incarnation) return;  // another producer has the name
  left.deaths = deaths_in_a_row(left);
  left.greatest = std::max(left.greatest, left.position.position);
  try {
    write_life(directory, left);
  } catch (const std::exception&) {
    // As where a disk is full: the next death counts as this one does.
  }
}

void give_up_stream(const std::string& stream, const std::string& base,
                    const std::string& reason) noexcept {
  try {
    StreamDirectory::Options options;
    options.stream = stream;
    options.base = base;
    const StreamDirectory name(options);
    name.note_failure(reason);
  } catch (const std::exception&) {
    // It is served again, or was ended.
  }
}

void end_dead_stream(const std::string& stream, const std::string& base,
                     const std::string& reason) {
  StreamDirectory::Options options;
  options.stream = stream;
  options.base = base;
  StreamDirectory name(options);
  name.forget_log();
  const std::string directory = name.paths().directory;
  if (read_life(directory) && !reason.empty()) name.note_end(reason);
  remove_lives(directory);
}

}  // namespace batchcast::inline v0_1::detail
