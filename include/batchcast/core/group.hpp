// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace batchcast::inline v0_1 {

/// The ranks of one data-parallel job on this machine, which share each batch of a stream: batch k
/// is world times batch_size samples that follow each other, and this rank gets the rank-th part of
/// them. Written "NAME:RANK/WORLD" ("resnet:0/4" is the first of four), or "auto": what the
/// launcher of this process says, torchrun, mpirun or srun.
struct Group {
  /// Of the job; the same in all its ranks. Printable ASCII, at most 63 bytes.
  std::string name = {};
  std::uint32_t rank = 0;   ///< below world
  std::uint32_t world = 0;  ///< 0: no group
  /// "auto": name, rank and world are taken from the launcher's environment on attaching. Nothing
  /// else is said until then.
  bool automatic = false;

  Group() = default;
  Group(std::string its_name, std::uint32_t its_rank, std::uint32_t its_world)
      : name(std::move(its_name)), rank(its_rank), world(its_world) {}
  /// Throws InvalidArgument for a text that is neither; an empty one is no group.
  Group(std::string_view text);  // NOLINT: `.group = "auto"` is how it is written
  Group(const char* text) : Group(std::string_view(text)) {}
  Group(const std::string& text) : Group(std::string_view(text)) {}

  /// As it is written; empty without a group.
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Group&, const Group&) = default;
};

}  // namespace batchcast::inline v0_1
