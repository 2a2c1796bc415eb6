// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/consumer.hpp>

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1 {

/// A trainer's position in a stream, for its checkpoint: join = at begins there again. It is a
/// plain value: store its members beside the model.
struct Checkpoint {
  std::uint64_t cursor = 0;
  std::string stream = {};
  std::string recipe_json = {};  ///< of a pure stream; empty otherwise
  std::string schema_json = {};
  std::uint64_t samples_per_epoch = 0;  ///< Consumer::cursors_per_epoch
  /// The identity of a pure stream. Empty in checkpoints of versions that did not keep it.
  std::string identity = {};
  /// The ring that it was taken at. Empty in checkpoints of versions that did not keep it.
  std::string incarnation = {};
  /// With a window: inside the sample at `cursor` (ConsumerOptions::cursor_row).
  std::uint64_t cursor_row = 0;
};

[[nodiscard]] Checkpoint checkpoint_of(const Consumer& consumer, std::string stream);

/// Throws RecipeMismatch unless the stream that is served now has the same sample at each position
/// as the one that was saved. Pure streams are compared by identity, and may differ in name. Others
/// are compared by name, fields and epoch length only. For these `log` gets a warning where another
/// ring serves the stream now, such as another producer's: its samples may be others.
void check_same_samples(const Checkpoint& saved, const Checkpoint& served,
                        const LogCallback& log = {});

}  // namespace batchcast::inline v0_1

#ifndef BATCHCAST_COMPILED
#include <batchcast/trainer/checkpoint.ipp>
#endif
