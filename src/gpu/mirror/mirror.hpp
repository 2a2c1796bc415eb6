// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "gpu/mirror/mirror_copier.hpp"
#include "gpu/mirror/mirror_orders.hpp"
#include "gpu/mirror/mirror_pins.hpp"
#include "gpu/mirror/mirror_seat.hpp"
#include "gpu/mirror/mirror_source.hpp"
#include "gpu/mirror/mirror_thread.hpp"

#include <batchcast/core/log.hpp>
#include <batchcast/ring/board.hpp>
#include "ring/writer/writer.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <variant>

namespace batchcast::inline v0_1::detail {

/// Copies the stream from the host ring into a device ring, as long as a trainer of that ring asks
/// for samples. Otherwise it rests, and the host ring does not wait for it. This class is the
/// door's side: it decides when the mirror copies and from where. Its MirrorThread copies. The
/// device ring's stream ends as the host ring's does, after its last sample. If the GPU fails, so
/// does the device ring, and the host ring continues without the mirror.
///
/// The destructor waits for copies. It stops a device ring that has not come to its end then.
class Mirror {
 public:
  /// The writers, and the memory on both sides of the copies, must outlive the mirror.
  struct Parts {
    MirrorCopier::Parts copies;
    std::string place;  ///< for messages: cuda:0 (NVIDIA H200)
    Board host_board;
    RingWriter& host_writer;
    Board board;  ///< of the device ring
    RingWriter& writer;
    std::shared_ptr<HostPins> pins;
    LogCallback log;
  };
  /// Throws GpuError, OutOfMemory, InvalidArgument where the host ring has no place for it.
  explicit Mirror(const Parts& parts);
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // As in ServedRing; the first three run on the door's thread.
  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                          std::shared_ptr<Desk> desk);
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join, std::uint64_t cursor);
  void look_for_demand();
  [[nodiscard]] bool wait_drained(int timeout_ms);

 private:
  using State = MirrorOrders::State;

  // Call it on the door's thread, with the orders' mutex held.
  [[nodiscard]] std::uint64_t oldest() const noexcept;
  [[nodiscard]] std::variant<MirrorStart, NotAdmitted> begin(const MirrorRequest& request);
  void go_on(const MirrorStart& start);
  void let_it_rest(std::unique_lock<std::mutex>& lock);

  RingWriter& host_writer_;
  Board board_;
  RingWriter& writer_;
  MirrorCopier copier_;
  MirrorSeat seat_;
  MirrorSource source_;
  MirrorOrders orders_;
  MirrorThread thread_;  ///< uses the above
};

}  // namespace batchcast::inline v0_1::detail
