// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "ring/writer/status.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace batchcast::inline v0_1::detail {

/// Finds the trainer for which the others of its ring wait. It looks at one window of time after
/// the other. In each there may be one: the trainer that was last most often. The ring was full at
/// half of the looks then, and the others waited for half of the window on average. One that did
/// not come further is left out: it cannot move. So are ranks of groups. Not thread-safe.
class SlowTrainerWatch {
 public:
  struct Slow {
    std::uint32_t index = 0;
    std::uint64_t consumer_id = 0;
    std::string name;
    double waited_share = 0;  ///< of the window, what the others waited on average
  };
  /// Call it at each tick, with what the ring says. Nothing within a window.
  [[nodiscard]] std::optional<Slow> look(const WriterStatus& status, std::uint64_t capacity,
                                         std::uint64_t now_ns, std::uint64_t window_ns);
  /// Another window begins with the next look.
  void forget() noexcept;

 private:
  struct Trainer {
    std::uint64_t position = 0;  ///< as the window began
    std::uint64_t wait_ns = 0;
    std::uint64_t last_looks = 0;  ///< the ring was full because of it
  };

  void begin(const WriterStatus& status, std::uint64_t now_ns);
  [[nodiscard]] std::optional<Slow> found(const WriterStatus& status,
                                          std::uint64_t passed_ns) const;
  [[nodiscard]] double waited_share(const WriterStatus& status, std::uint64_t consumer_id,
                                    std::uint64_t passed_ns) const;

  std::map<std::uint64_t, Trainer> trainers_;  ///< by consumer id
  std::optional<std::uint64_t> began_ns_;
  std::uint64_t looks_ = 0;
  std::uint64_t full_looks_ = 0;  ///< of these, at a full ring
};

}  // namespace batchcast::inline v0_1::detail
