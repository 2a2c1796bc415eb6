// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device.hpp>
#include "gpu/mirror/mirror_copier.hpp"
#include "gpu/mirror/mirror_pins.hpp"
#include "gpu/mirror/mirror_source.hpp"

#include <batchcast/core/log.hpp>
#include <batchcast/ring/board.hpp>
#include "ring/writer/writer.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

namespace batchcast::inline v0_1::detail {

/// Copies the stream from the host ring into a device ring, on a thread of its own, as long as a
/// trainer of that ring asks for samples; else it rests, and holds nobody up. Whatever way the host
/// ring's stream ends, the device ring's ends likewise, after its last sample. If the GPU fails,
/// so does the device ring, and the host ring goes on without the mirror.
class Mirror {
 public:
  /// The writers, and what the copies are made between, outlive the mirror.
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
  /// Waits for what is being copied. A device ring that has not come to its end is stopped.
  ~Mirror();
  Mirror(const Mirror&) = delete;
  Mirror& operator=(const Mirror&) = delete;

  // As ServedRing has them; the first three on the door's thread.
  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                          std::shared_ptr<Desk> desk);
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join, std::uint64_t cursor);
  void look_for_demand();
  [[nodiscard]] bool wait_drained(int timeout_ms);

 private:
  enum class State { resting, running, over };
  /// Its place among the host ring's consumers.
  struct Seat {
    RingWriter& writer;
    std::shared_ptr<Desk> desk;
    Admitted admitted;

    Seat(const Parts& parts, std::uint64_t samples_max);
    ~Seat() { leave(); }
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;
    void leave() noexcept { writer.remove(admitted.index, admitted.consumer_id); }
    void rest() noexcept { writer.pause(admitted.index, admitted.consumer_id); }
  };
  /// The seat rests again at its end, whatever is thrown before somebody is let in.
  class AtRest {
   public:
    explicit AtRest(Seat& seat) noexcept : seat_(&seat) {}
    ~AtRest() {
      if (seat_ != nullptr) seat_->rest();
    }
    AtRest(const AtRest&) = delete;
    AtRest& operator=(const AtRest&) = delete;
    void end() noexcept { seat_ = nullptr; }

   private:
    Seat* seat_;
  };
  struct Orders {
    State state;
    bool rest, end;
  };

  // On the door's thread, with the lock held.
  [[nodiscard]] std::uint64_t oldest() const noexcept;
  [[nodiscard]] std::variant<MirrorStart, NotAdmitted> begin(const MirrorRequest& request);
  void go_on(const MirrorStart& start);
  void let_it_rest(std::unique_lock<std::mutex>& lock);

  // On the mirror's own.
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
  RingWriter& host_writer_;
  Board board_;
  RingWriter& writer_;
  const std::shared_ptr<HostPins> pins_;
  const LogCallback log_;
  MirrorCopier copier_;
  Seat seat_;
  MirrorSource source_;
  std::uint64_t progress_ns_ = 0;  ///< when a piece last set out or arrived

  std::mutex mutex_;  ///< of the next four; transitions only
  State state_ = State::resting;
  bool rest_wanted_ = false;
  bool ending_ = false;
  std::optional<MirrorStart> start_;  ///< not taken up yet
  Shared32 changed_{0};               ///< bumped with `state_`

  std::thread thread_;
};

}  // namespace batchcast::inline v0_1::detail
