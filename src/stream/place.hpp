// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/file_descriptor.hpp>

#include <batchcast/join/trust.hpp>

#include <string>

namespace batchcast::inline v0_1 {

/// A directory that holds a stream, or will hold one.
struct StreamPlace {
  const std::string& base;
  const std::string& stream;
  Trust trust = {};
  bool for_others = false;  ///< other users may pass through the base
};

/// Makes both directories where they are missing, and opens the stream's, without following a link
/// and checked. Empty where one of them was removed meanwhile: try again. Throws Error for a
/// directory that cannot be trusted, SystemError.
[[nodiscard]] FileDescriptor open_stream_directory(const StreamPlace& place);

/// Lets other users pass through, but not list what is there.
void let_others_pass(int directory, const std::string& path);

}  // namespace batchcast::inline v0_1
