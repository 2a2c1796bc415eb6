// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/stream_model.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

namespace batchcast::inline v0_1::metrics {

/// What the series of one value of the label `consumer` say. Sums only grow.
struct ConsumerSums {
  double samples = 0;
  double wait_seconds = 0;
  double waited_for_seconds = 0;
  std::uint64_t lag = 0;     ///< at the last look, the largest of its consumers
  std::size_t attached = 0;  ///< consumers at the last look
};

/// The consumers of one stream, under a bounded number of names. A name keeps its place until its
/// last consumer leaves. Consumers that find no place count under `other` as long as they live.
class ConsumerSeries {
 public:
  /// `places`: names beside `other`.
  explicit ConsumerSeries(std::size_t places) : places_(places) {}

  /// Takes what the consumers of the stream had since the last look.
  void look(const observe::Stream& now);

  [[nodiscard]] const std::map<std::string, ConsumerSums>& named() const noexcept { return named_; }
  [[nodiscard]] const ConsumerSums& other() const noexcept { return other_; }
  /// Whether a consumer has ever counted under `other`.
  [[nodiscard]] bool has_other() const noexcept { return has_other_; }

  /// The name for all that have no place. A consumer of this name has none either.
  static constexpr const char* other_name = "other";

 private:
  struct Known {
    std::string name;
    bool is_other = false;
    bool is_here = true;
    std::uint64_t samples = 0;
    double wait_seconds = 0;
    double waited_for_seconds = 0;
  };

  void take(const observe::Trainer& trainer);
  [[nodiscard]] bool has_place(const std::string& name);
  void drop_absent(bool all_are_listed);

  std::size_t places_;
  std::map<std::uint64_t, Known> known_;  ///< by the consumer's id
  std::map<std::string, ConsumerSums> named_;
  ConsumerSums other_;
  bool has_other_ = false;
};

/// Whether it only looks at the stream.
[[nodiscard]] bool is_observer(const observe::Trainer& trainer) noexcept;

}  // namespace batchcast::inline v0_1::metrics
