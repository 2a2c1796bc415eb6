// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "serving/grid_wish.hpp"

#include "life/life_files.hpp"

#include <algorithm>

namespace batchcast::inline v0_1::serving {

std::optional<Grid> grid_of_survivors(const std::string& directory, const Grid& whole) {
  const auto life = detail::read_life(directory);
  if (!life) return std::nullopt;
  const bool is_waited_for = std::any_of(
      life->members.begin(), life->members.end(), [&](const detail::LifeMember& member) {
        return !member.gone && detail::is_member_alive(directory, member.lock);
      });
  const auto grid = Grid::from_json(life->grid);
  return is_waited_for && grid && grid->samples == whole.samples ? grid : std::nullopt;
}

}  // namespace batchcast::inline v0_1::serving
