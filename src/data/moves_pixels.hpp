// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

namespace batchcast::inline v0_1::detail {

/// A base of pixel stages that may move pixels too, such as policies, which rotate and shear.
class MovesPixels {
 public:
  MovesPixels() = default;
  MovesPixels(const MovesPixels&) = delete;
  MovesPixels& operator=(const MovesPixels&) = delete;
  virtual ~MovesPixels() = default;
};

}  // namespace batchcast::inline v0_1::detail
