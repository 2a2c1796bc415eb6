// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "control/transport.hpp"
#include "observe/overview.hpp"
#include "observe/processors.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace batchcast::cli {

struct WatchOptions {
  std::optional<std::string> stream = {};  ///< only this one
  bool all_users = false;                  ///< for root: also the streams of other users
};

/// Looks at all streams again and again. For one thread.
class Watch {
 public:
  explicit Watch(WatchOptions options) : options_(std::move(options)) {}

  /// One look. Streams whose producers do not answer within a second are shown as silent. Throws
  /// StreamNotFound where the one stream that was asked for is not there.
  [[nodiscard]] observe::Overview look();
  /// The answers of the last look, as they came: one for each stream, with `stream` and `state`.
  [[nodiscard]] const nlohmann::json& answers() const noexcept { return answers_; }
  /// The socket of the producer of the stream in that directory, for orders; empty: not known.
  [[nodiscard]] std::string control_of(const std::string& directory) const;

 private:
  struct Kept {
    std::string control;
    std::shared_ptr<const void> held;  ///< what keeps `control` valid
    std::unique_ptr<ControlClient> producer;
    observe::Stream last;
    std::vector<double> history;
    std::uint64_t seen = 0;  ///< the number of the look that met it
  };
  struct Found;

  [[nodiscard]] std::vector<Found> find() const;
  /// The producer to ask; null: it cannot be asked.
  [[nodiscard]] ControlClient* producer_of(const Found& found);
  [[nodiscard]] observe::SeenStream seen_of(const Found& found,
                                            std::optional<nlohmann::json> answer, double idle);

  const WatchOptions options_;
  const std::shared_ptr<ControlContext> context_ = make_control_context();
  std::map<std::string, Kept> kept_;  ///< by directory
  observe::ProcessorTicks ticks_;
  nlohmann::json answers_ = nlohmann::json::array();
  std::uint64_t looks_ = 0;
};

}  // namespace batchcast::cli
