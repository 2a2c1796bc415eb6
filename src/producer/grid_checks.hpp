// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/grid.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/producer_options.hpp>

#include <functional>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::detail {

/// Whether a stream is laid out for the job of a trainer that says hello, where it is laid out by a
/// grid. Belongs to the door's thread.
class GridChecks {
 public:
  /// The options must outlive it.
  explicit GridChecks(const ProducerOptions& options) noexcept : options_(options) {}

  /// Puts the position in the place of the hello's cursor. A refusal where the stream is laid out
  /// for another job. It asks for that grid where `attended` says that no trainer is there. Else it
  /// names the one that is.
  [[nodiscard]] std::optional<Refusal> settle(Hello& hello,
                                              const std::function<std::string()>& attended) const;

 private:
  [[nodiscard]] std::string stream_text() const;
  [[nodiscard]] std::optional<Refusal> refusal_of_job(const Hello& hello) const;

  const ProducerOptions& options_;
};

}  // namespace batchcast::inline v0_1::detail
