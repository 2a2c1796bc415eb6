// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>
#include "gpu/mirror/mirror_copier.hpp"
#include "gpu/mirror/mirror_orders.hpp"
#include "gpu/mirror/mirror_pins.hpp"
#include "gpu/mirror/mirror_seat.hpp"
#include "gpu/mirror/mirror_source.hpp"

#include <batchcast/core/log.hpp>
#include "ring/writer/writer.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace batchcast::inline v0_1::detail {

/// The thread that copies from the host ring into a device ring, as its orders say. It claims what
/// the host ring has, publishes what has arrived, and ends the device ring's stream as the host's
/// ended. If the GPU fails, so does the device ring.
class MirrorThread {
 public:
  /// All members must outlive the thread.
  struct Parts {
    std::shared_ptr<detail::cuda::Device> device;
    std::string place;   ///< for messages: cuda:0 (NVIDIA H200)
    RingWriter& writer;  ///< of the device ring
    std::shared_ptr<HostPins> pins;
    LogCallback log;
    MirrorCopier& copier;
    MirrorSeat& seat;
    MirrorSource& source;
    MirrorOrders& orders;
  };
  explicit MirrorThread(const Parts& parts);
  /// Waits for copies that are under way. Stops a device ring that has not come to its end.
  ~MirrorThread();
  MirrorThread(const MirrorThread&) = delete;
  MirrorThread& operator=(const MirrorThread&) = delete;

 private:
  using State = MirrorOrders::State;
  struct Orders {
    State state;
    bool rest, end;
  };

  void run() noexcept;
  [[nodiscard]] bool work();
  [[nodiscard]] Orders take_orders();
  void publish_arrived();
  [[nodiscard]] bool copy_more(const Orders& orders, bool& goes_on);
  [[nodiscard]] bool copy_piece(std::uint64_t samples, bool ending, bool& goes_on);
  void look_again_soon() const;
  void lie_down();
  [[nodiscard]] bool rest(bool ending);
  [[nodiscard]] bool skip_to_end();
  void end_ring(bool complete);
  [[nodiscard]] bool finish();
  void fail(const std::string& what) noexcept;
  void leave() noexcept;
  void log(LogLevel level, const std::string& text) const;

  const std::shared_ptr<detail::cuda::Device> device_;
  const std::string place_;
  RingWriter& writer_;
  const std::shared_ptr<HostPins> pins_;
  const LogCallback log_;
  MirrorCopier& copier_;
  MirrorSeat& seat_;
  MirrorSource& source_;
  MirrorOrders& orders_;
  std::uint64_t progress_ns_ = 0;  ///< when a piece last set out or arrived
  std::thread thread_;
};

}  // namespace batchcast::inline v0_1::detail
