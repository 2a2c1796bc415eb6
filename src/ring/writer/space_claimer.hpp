// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/ring/spinner.hpp>
#include "ring/writer/consumer_admission.hpp"
#include "ring/writer/publisher.hpp"
#include "ring/writer/stall_watch.hpp"
#include "ring/writer/writer_state.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace batchcast::inline v0_1 {

/// How long a claimer sleeps at most where another consumer than the one it watches may become the
/// foremost.
inline constexpr int look_for_foremost_ms = 10;

enum class Claim { granted, timed_out, ended };

/// Hands out tickets, and waits where the gate is closed. It first looks for a while. Then it
/// sleeps until the consumer that sets the limit has released samples, or until something else
/// changed.
class SpaceClaimer {
 public:
  /// All three must outlive this.
  SpaceClaimer(WriterState& state, ConsumerAdmission& admission, Publisher& publisher)
      : state_(state),
        admission_(admission),
        publisher_(publisher),
        stalls_(state),
        spinner_(state.options.spin_ns) {}

  // These do what RingWriter's do. They take the admission lock themselves.
  [[nodiscard]] Claim claim(std::uint64_t samples_max, int timeout_ms, Ticket& ticket,
                            std::optional<std::uint64_t> interruptions);
  [[nodiscard]] std::optional<Claim> try_claim(std::uint64_t samples_max, Ticket& ticket);
  [[nodiscard]] std::uint64_t interruptions() const noexcept { return interruptions_.load(); }
  void interrupt() noexcept;

  using Lock = std::unique_lock<Mutex>;
  /// Reports, or evicts, the consumer that holds the stream up, if that is due. Leaves the
  /// admission lock, which is held, meanwhile.
  void report_stall(Lock& lock);

  /// Call it under the admission lock.
  [[nodiscard]] const StallWatch& stalls() const noexcept { return stalls_; }

 private:
  /// What a claimer sleeps on besides the producer's own word.
  struct DeskWatch {
    std::shared_ptr<Desk> desk;  ///< null where no consumer sets the limit
    std::uint32_t release_sequence = 0;
    std::uint64_t consumer_id = 0;
    std::uint64_t wake_at = 0;
  };

  /// Nothing where a claimer has to wait.
  [[nodiscard]] std::optional<Claim> claim_now(Lock& lock, std::uint64_t samples_max,
                                               Ticket& ticket);
  void wait_for_space(Lock& lock, int timeout_ms);
  void look_and_sleep(Lock& lock, int timeout_ms);
  [[nodiscard]] bool space_came_while_looking(Lock& lock);
  [[nodiscard]] DeskWatch announce_sleep();
  [[nodiscard]] bool need_not_sleep(const DeskWatch& watch);
  [[nodiscard]] int longest_sleep_ms(const DeskWatch& watch) const;
  /// True if the time ran out although that consumer has released enough, and no word has changed.
  [[nodiscard]] bool slept_in_vain(Lock& lock, const DeskWatch& watch, std::uint32_t own_value,
                                   int timeout_ms);
  void tell_evictions(Lock& lock);

  WriterState& state_;
  ConsumerAdmission& admission_;
  Publisher& publisher_;
  StallWatch stalls_;
  Mutex turn_;       ///< one claimer at a time waits for space
  Spinner spinner_;  ///< that claimer's
  std::atomic<std::uint64_t> interruptions_{0};
};

}  // namespace batchcast::inline v0_1
