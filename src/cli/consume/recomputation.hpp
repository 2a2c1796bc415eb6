// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>
#include <batchcast/core/schema.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace batchcast::cli {

/// Makes the samples of a stream a second time, from the recipe on its board, and compares.
class Recomputation {
 public:
  struct Verdict {
    /// The sample's position in the stream; nothing if there is no such sample.
    std::optional<std::uint64_t> position;
    bool right = false;  ///< its id and every byte
  };
  struct Stream {
    std::string name;
    std::string recipe_json;
    Schema schema;
  };
  /// Throws InvalidArgument, saying why, where the stream cannot be made again here: it has no
  /// recipe, or its dataset is not there or another one.
  [[nodiscard]] static std::unique_ptr<Recomputation> of(const Stream& stream);

  virtual ~Recomputation() = default;
  /// `verify` is asked next about the first `samples` of this batch.
  virtual void begin(const Batch& batch, std::size_t samples) = 0;
  [[nodiscard]] virtual Verdict verify(const Batch& batch, std::size_t index) = 0;
};

}  // namespace batchcast::cli
