// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/core/assert.hpp>
#include <batchcast/join/message.hpp>
#include <batchcast/ring/reader.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

namespace batchcast::inline v0_1::detail {

/// What one call of a consumer leaves for the next. It is at most one of three things:
///
/// - a *run* that the reader gave and that has not become a batch, since its copy failed. Only of a
///   consumer in lockstep: at `free` pace the reader itself stays where it is. While there is a run
///   the reader is asked for no other, so no epoch ends.
/// - an *interruption*, which `while_waiting` threw while a rank told of its epoch's end. The epoch
///   has ended all the same.
/// - an epoch's *end*, once the interruption was thrown in its place.
///
/// Beside these stand the ends of epochs that a rank tells. Those that the door did not take wait
/// for no call's outcome, and go out while any later call waits. Another rank waits for the end of
/// the last epoch or of the one before, so the next producer hears both again.
///
/// Calls are the consuming thread's.
class Pending {
 public:
  // ---- the run

  [[nodiscard]] const Run* run() const noexcept { return what_ == What::run ? &run_ : nullptr; }
  void keep_run(const Run& run) noexcept {
    BATCHCAST_ASSERT(what_ == What::nothing);
    run_ = run;
    what_ = What::run;
  }
  /// It was handed out, or its lease has another owner.
  void drop_run() noexcept {
    if (what_ == What::run) what_ = What::nothing;
  }

  // ---- the interruption, and the end that follows it

  /// Of the call that ends an epoch, or leaves it.
  void interrupt(std::exception_ptr why) noexcept {
    BATCHCAST_ASSERT(what_ == What::nothing);
    interruption_ = std::move(why);
    what_ = What::interruption;
  }
  void throw_interruption() {
    if (what_ != What::interruption) return;
    what_ = What::nothing;
    std::rethrow_exception(std::exchange(interruption_, nullptr));
  }
  /// A call is about to return an epoch's end. Throws the interruption instead: then the next call
  /// returns the end.
  void end_epoch() {
    if (what_ != What::interruption) return;
    what_ = What::end;
    std::rethrow_exception(std::exchange(interruption_, nullptr));
  }
  [[nodiscard]] bool has_end() const noexcept { return what_ == What::end; }
  /// True if there was one.
  bool drop_end() noexcept {
    if (what_ != What::end) return false;
    what_ = What::nothing;
    return true;
  }

  // ---- what is to be told

  /// The first one; null where there is none.
  [[nodiscard]] const EpochEnd* untold() const noexcept {
    return untold_ == 0 ? nullptr : &ends_[ends_.size() - untold_];
  }
  void drop_untold() noexcept { --untold_; }
  void tell(const EpochEnd& end) noexcept {
    ends_ = {ends_.back(), end};
    ended_ = std::min(ended_ + 1, ends_.size());
    untold_ = std::min(untold_ + 1, ends_.size());
  }
  /// The next producer has heard of none.
  void tell_again(const Pending& last) noexcept {
    ends_ = last.ends_;
    ended_ = untold_ = last.ended_;
  }

 private:
  enum class What : std::uint8_t { nothing, run, interruption, end };

  What what_ = What::nothing;
  Run run_;                          ///< of `run`
  std::exception_ptr interruption_;  ///< of `interruption`, else null
  std::array<EpochEnd, 2> ends_;     ///< the latest is last
  std::size_t ended_ = 0;            ///< how many of them, from the last one on, are real
  std::size_t untold_ = 0;
};

}  // namespace batchcast::inline v0_1::detail
