// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/batch.hpp>

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

namespace batchcast::testing {

/// One field's bytes, as somebody would have them who knows nothing of read-only memory.
inline std::span<std::byte> bytes_of(const Batch& batch, std::size_t field) {
  const auto view = batch.field<std::byte>(field);
  return {const_cast<std::byte*>(view.data()),
          (view.size() - 1) * view.sample_stride_bytes() + batch.fields()[field].sample_bytes};
}

/// A batch that is kept, and what it has to show.
struct Kept {
  Batch batch;
  std::vector<std::vector<std::byte>> fields;

  explicit Kept(Batch taken) : batch(std::move(taken)) {
    for (std::size_t f = 0; f < batch.fields().size(); ++f) {
      const auto bytes = bytes_of(batch, f);
      fields.emplace_back(bytes.begin(), bytes.end());
    }
  }
  /// Every third byte of all fields, the ids among them.
  void write(std::size_t from) {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto bytes = bytes_of(batch, f);
      for (std::size_t at = from; at < bytes.size(); at += 3)
        bytes[at] = fields[f][at] = std::byte{0xEE};
    }
  }
  [[nodiscard]] bool shows_it() const {
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const auto bytes = bytes_of(batch, f);
      if (std::memcmp(bytes.data(), fields[f].data(), bytes.size()) != 0) return false;
    }
    return true;
  }
};

}  // namespace batchcast::testing
