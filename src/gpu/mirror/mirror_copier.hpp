// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/stream.hpp>
#include "gpu/ring/device_ring_layout.hpp"

#include <batchcast/device_stage.hpp>
#include <batchcast/ring/receipt.hpp>
#include <batchcast/ring/window.hpp>
#include "ring/writer/writer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace batchcast::inline v0_1::detail {

/// Moves pieces of the stream from the host ring to the device ring, several at a time, and knows
/// when each has arrived. Belongs to the mirror's thread once it is made. The destructor waits for
/// what is in flight.
class MirrorCopier {
 public:
  /// All members must outlive the copier.
  struct Parts {
    std::shared_ptr<detail::cuda::Device> device;
    const ProducerOptions& options;
    const DeviceRingLayout& layout;
    const std::vector<FieldWindow>& windows;  ///< of the device ring
    bool mapped_twice = true;                 ///< those on the device
    const std::vector<FieldWindow>& host_windows;
    std::uint64_t host_capacity = 0;
  };
  /// Throws GpuError, OutOfMemory.
  explicit MirrorCopier(const Parts& parts);
  MirrorCopier(const MirrorCopier&) = delete;
  MirrorCopier& operator=(const MirrorCopier&) = delete;

  /// Samples of a piece that may begin at `position`.
  [[nodiscard]] std::uint64_t samples_max(std::uint64_t position) const noexcept;
  /// Host windows that it copies from to the device.
  [[nodiscard]] std::vector<FieldWindow> copied_from() const;

  struct Piece {
    Ticket ticket;
    Receipt receipt;
  };
  /// Enqueues the ticket's samples; there has to be room for one more piece. Throws GpuError.
  void enqueue(const Ticket& ticket);
  [[nodiscard]] bool has_room() const noexcept { return in_flight() < slots_.size(); }
  [[nodiscard]] std::size_t in_flight() const noexcept { return last_ - first_; }
  /// Whether the oldest piece is whole in its place. Throws GpuError if a copy failed.
  [[nodiscard]] bool oldest_arrived() const;
  /// After a copy failed: waits until none reads the host ring any more.
  void give_up() const noexcept;
  /// Removes the oldest piece.
  [[nodiscard]] Piece pop_oldest() noexcept;

 private:
  struct Route {
    FieldWindow from, to;
  };
  struct Slot {
    explicit Slot(const std::shared_ptr<detail::cuda::Device>& device)
        : copied(device), done(device) {}
    detail::cuda::Event copied, done;
    std::vector<detail::cuda::DeviceBuffer> staging;
    std::vector<FieldWindow> staged;  ///< what the stage reads
    std::vector<DeviceField> in;
    Piece piece;
  };
  /// Destroys the program as it was prepared: with the device's context current.
  struct EndProgram {
    std::shared_ptr<detail::cuda::Device> device;
    void operator()(DeviceProgram* program) const noexcept;
  };

  [[nodiscard]] Slot& slot_of(std::size_t piece) noexcept { return slots_[piece % slots_.size()]; }
  [[nodiscard]] const Slot& slot_of(std::size_t piece) const noexcept {
    return slots_[piece % slots_.size()];
  }
  void prepare_stage(const Parts& parts);
  void run_stage(Slot& slot, const Ticket& ticket);
  void copy(const Route& route, std::uint64_t position, std::uint64_t to_position,
            std::uint64_t samples);
  void copy_bytes(std::byte* to, const FieldWindow& from, std::uint64_t offset,
                  std::uint64_t bytes);
  void copy_rows(const Route& route, std::uint64_t from_index, std::uint64_t to_index,
                 std::uint64_t samples);

  const bool mapped_twice_;
  std::uint64_t samples_max_ = 1;
  FieldWindow host_ids_;
  std::vector<Route> on_device_;          ///< straight from ring to ring
  std::vector<Route> on_host_;            ///< the same for fields that stay in host memory
  std::vector<FieldWindow> stage_reads_;  ///< of the host ring
  std::vector<FieldWindow> stage_makes_;  ///< of the device ring
  std::vector<DeviceField> out_;
  std::size_t first_ = 0, last_ = 0;  ///< pieces in flight, counted from the beginning
  std::vector<Slot> slots_;
  std::unique_ptr<DeviceProgram, EndProgram> program_;
  // These come last: their destructors wait for what uses the above.
  detail::cuda::Stream copies_;
  detail::cuda::Stream stage_;
};

}  // namespace batchcast::inline v0_1::detail
