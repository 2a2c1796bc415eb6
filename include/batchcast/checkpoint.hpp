// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/language.hpp>

#include <batchcast/consumer.hpp>

#include <cstdint>
#include <string>

namespace batchcast::inline v0_1 {

/// A trainer's position in a stream, for its checkpoint: join = at begins there again. A plain
/// value: store its members beside the model.
struct Checkpoint {
  std::uint64_t cursor = 0;
  std::string stream = {};
  std::string recipe_json = {};  ///< of a pure stream; empty otherwise
  std::string schema_json = {};
  std::uint64_t samples_per_epoch = 0;
  /// Of a pure stream; empty in checkpoints of versions before it was kept.
  std::string identity = {};
  /// Of the ring that it was taken at; empty in checkpoints of versions before it was kept.
  std::string incarnation = {};
};

[[nodiscard]] Checkpoint checkpoint_of(const Consumer& consumer, std::string stream);

/// Throws RecipeMismatch unless the stream that is served now has the same sample at each position
/// as the one that `saved` is of, which its identity says. A stream of the same identity may have
/// another name; one that is not pure is known by its name, fields and epoch length alone. Of such
/// a one `log` gets a warning where another ring serves it, as another producer's does: its samples
/// may be others.
void check_same_samples(const Checkpoint& saved, const Checkpoint& served,
                        const LogCallback& log = {});

}  // namespace batchcast::inline v0_1

#ifndef BATCHCAST_COMPILED
#include <batchcast/trainer/checkpoint.ipp>
#endif
