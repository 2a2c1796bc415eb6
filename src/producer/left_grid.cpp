// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "producer/left_grid.hpp"

#include "life/life_files.hpp"
#include "stream/stream_directory.hpp"

#include <batchcast/join/directory.hpp>

#include <algorithm>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::detail {

Grid grid_to_begin_with(const ProducerOptions& options, const Grid& whole) {
  check_stream_name(options.stream);
  StreamDirectory::Options stream;
  stream.stream = options.stream;
  stream.base = options.directory;
  stream.allow_uids = options.allow_uids;
  const std::string directory = StreamDirectory::paths_of(stream).directory;
  const auto life = read_life(directory);
  if (!life) return whole;
  const bool is_waited_for =
      std::any_of(life->members.begin(), life->members.end(), [&](const LifeMember& member) {
        return !member.gone && is_member_alive(directory, member.lock);
      });
  const auto grid = Grid::from_json(life->grid);
  return is_waited_for && grid && grid->samples == whole.samples ? *grid : whole;
}

}  // namespace batchcast::inline v0_1::detail
