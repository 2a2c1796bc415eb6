// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "observe/stream_model.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What is worked out from two looks at a stream.
namespace batchcast::inline v0_1::observe {

enum class Limiter : std::uint8_t {
  nothing,   ///< no limit can be named: too little was seen
  ended,     ///< no more samples are made
  to_come,   ///< trainers that `wait_for` counts have not come
  demand,    ///< no trainer asks for more
  room,      ///< trainers wait for samples while workers wait for room
  trainers,  ///< samples are ready when trainers ask
  trainer,   ///< one trainer, for which others wait
  reading,
  decoding,
  making,
};
inline constexpr std::size_t limiters = 10;
[[nodiscard]] std::string_view name_of(Limiter limiter) noexcept;

struct Limit {
  Limiter by = Limiter::nothing;
  std::string trainer = {};  ///< the one that limits
  std::string text = {};     ///< what limits, and what to do; one line
};

/// `before` is an earlier look at the same stream, or an empty one. `idle_processors`: of this
/// machine, in the time between; negative where that is not known.
[[nodiscard]] Limit limit_of(const Stream& before, const Stream& now, double idle_processors);

/// Samples a second that a trainer had between the looks; nothing where no time passed.
[[nodiscard]] std::optional<double> rate_of(const Stream& before, const Stream& now,
                                            const Trainer& trainer);
/// The share of the time between the looks that it waited for samples, from 0 to 1.
[[nodiscard]] double wait_share_of(const Stream& before, const Stream& now, const Trainer& trainer);
/// The same of the time that the full ring waited for it.
[[nodiscard]] double waited_for_share_of(const Stream& before, const Stream& now,
                                         const Trainer& trainer);

/// Processor seconds that producers of the same recipe would have taken, one for each trainer.
/// Nothing where no workers make the samples.
[[nodiscard]] std::optional<double> separate_cpu_seconds(const Stream& stream) noexcept;
/// Of those, what sharing saved; never negative.
[[nodiscard]] std::optional<double> saved_cpu_seconds(const Stream& stream) noexcept;

}  // namespace batchcast::inline v0_1::observe
