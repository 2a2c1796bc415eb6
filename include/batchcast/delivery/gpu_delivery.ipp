// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include <batchcast/delivery/gpu_delivery.hpp>

#include <batchcast/consumer/brought.hpp>
#include <batchcast/core/inline.hpp>
#include <batchcast/core/text.hpp>
#include <batchcast/cuda/device_memory.hpp>
#include <batchcast/cuda/host_buffer.hpp>
#include <batchcast/cuda/host_pin.hpp>
#include <batchcast/cuda/stream.hpp>
#include <batchcast/delivery/release_poller.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace batchcast::inline v0_1::detail {
namespace gpu_delivery {

// So that a batch that is a little larger than those before does not need another buffer.
inline constexpr std::uint64_t buffer_granule = std::uint64_t{64} << 10;

/// The buffer of that slot, with room for that many bytes.
template <class Buffer>
std::byte* with_room(std::vector<Buffer>& buffers,
                     const std::shared_ptr<detail::cuda::Device>& device, std::size_t slot,
                     std::uint64_t bytes) {
  if (slot >= buffers.size()) buffers.resize(slot + 1);
  Buffer& kept = buffers[slot];
  if (kept.bytes() < bytes) {
    kept = Buffer();  // before the next is there: memory may be short
    kept = Buffer(device, (bytes + buffer_granule - 1) / buffer_granule * buffer_granule);
  }
  return kept.data();
}

}  // namespace gpu_delivery

class GpuDelivery final : public Delivery {
 public:
  GpuDelivery(std::shared_ptr<detail::cuda::Device> device, ReleasePoller& poller, LogCallback log)
      : device_(std::move(device)),
        poller_(poller),
        name_(detail::cuda::name_of(device_->info())),
        tickets_(device_, std::move(log)) {}

  [[nodiscard]] const std::string& id() const noexcept override { return device_->info().uuid; }
  [[nodiscard]] const std::string& device_name() const noexcept override { return name_; }
  [[nodiscard]] std::uint64_t granularity() const noexcept override {
    return detail::cuda::ring_granularity(device_->info());
  }

  [[nodiscard]] BATCHCAST_INLINE Mapped map(Offer offer) override;
  void unmap_all() noexcept override { segments_.clear(); }
  [[nodiscard]] bool pins_in_place() const noexcept override {
    return detail::cuda::pins_read_only(device_->info());
  }
  void pin(const std::byte* data, std::uint64_t bytes) override {
    pins_.emplace_back(device_, detail::cuda::HostPin::Range{data, bytes, true, true});
  }
  [[nodiscard]] bool in_one_pin(std::uint64_t offset, std::uint64_t bytes) const override {
    return offset / detail::cuda::pin_whole_bytes ==
           (offset + bytes - 1) / detail::cuda::pin_whole_bytes;
  }
  [[nodiscard]] std::byte* host_buffer(std::size_t slot, std::uint64_t bytes) override {
    return gpu_delivery::with_room(host_buffers_, device_, slot, bytes);
  }
  [[nodiscard]] std::byte* buffer(std::size_t slot, std::uint64_t bytes) override {
    return gpu_delivery::with_room(buffers_, device_, slot, bytes);
  }
  BATCHCAST_INLINE void copy_out(std::byte* to, const FieldWindow& window, std::uint64_t position,
                                 std::uint64_t samples) override;
  void copy_to_host(std::byte* to, const std::byte* from, std::uint64_t bytes) override {
    copies().copy_to_host(to, from, bytes);
  }
  void wait_for_copies() override { copies().wait(); }
  BATCHCAST_INLINE void order_copies(void* stream) noexcept override;
  void when_copied(void* context, void (*done)(void* context) noexcept) noexcept override {
    void* const stream = copies_->handle();
    when_passed(std::span(&stream, 1), context, done);
  }
  BATCHCAST_INLINE void when_passed(std::span<void* const> streams, void* context,
                                    void (*done)(void* context) noexcept) noexcept override;
  void end_apart(void* context, void (*end)(void* context) noexcept) noexcept override {
    poller_.end_apart(context, end);
  }

 private:
  /// Most consumers never copy.
  detail::cuda::Stream& copies() {
    std::call_once(copies_once_, [this] { copies_.emplace(device_); });
    return *copies_;
  }
  void copy_piece(std::byte* to, const FieldWindow& window, std::uint64_t index,
                  std::uint64_t samples);

  std::shared_ptr<detail::cuda::Device> device_;
  ReleasePoller& poller_;
  std::string name_;
  std::vector<detail::cuda::DeviceSegment> segments_;
  std::vector<detail::cuda::HostPin> pins_;
  std::vector<detail::cuda::DeviceBuffer> buffers_;
  std::vector<detail::cuda::HostBuffer> host_buffers_;
  std::once_flag copies_once_;
  std::optional<detail::cuda::Stream> copies_;
  std::mutex copied_mutex_;
  std::optional<detail::cuda::Event> copied_;  ///< with its mutex: recorded again for each order
  TicketPool tickets_;
};

BATCHCAST_INLINE Delivery::Mapped GpuDelivery::map(Offer offer) {
  const bool legacy = offer.kind == SegmentKind::cuda_ipc;
  const detail::cuda::DeviceSegment::Request request = {
      text("field `{}` of stream `{}`", offer.field, offer.stream), offer.bytes};
  segments_.push_back(
      legacy ? detail::cuda::DeviceSegment::adopt_legacy(device_, request, offer.handle)
             : detail::cuda::DeviceSegment::adopt(device_, request, std::move(offer.descriptor)));
  return {segments_.back().data(), segments_.back().mapped_twice()};
}

BATCHCAST_INLINE void GpuDelivery::copy_out(std::byte* to, const FieldWindow& window,
                                            std::uint64_t position, std::uint64_t samples) {
  const std::uint64_t index = position % window.capacity;
  const std::uint64_t before_end = std::min(samples, window.capacity - index);
  copy_piece(to, window, index, before_end);
  copy_piece(to + before_end * window.sample_bytes, window, 0, samples - before_end);
}

BATCHCAST_INLINE void GpuDelivery::copy_piece(std::byte* to, const FieldWindow& window,
                                              std::uint64_t index, std::uint64_t samples) {
  if (samples == 0) return;
  const std::byte* const from = window.base + index * window.stride_bytes;
  if (window.stride_bytes == window.sample_bytes) {
    copies().copy_on_device(to, from, samples * window.sample_bytes);
    return;
  }
  detail::cuda::Stream::Rows rows;
  rows.to = to;
  rows.to_stride_bytes = window.sample_bytes;
  rows.from = from;
  rows.from_stride_bytes = window.stride_bytes;
  rows.row_bytes = window.sample_bytes;
  rows.rows = samples;
  copies().copy_rows(rows);
}

BATCHCAST_INLINE void GpuDelivery::order_copies(void* stream) noexcept {
  if (!copies_) return;
  // If a graph is captured, the streams that it consists of would wait at each of its launches.
  const auto wait = [this] {
    static_cast<void>(detail::cuda::wait_for_stream(*device_, copies_->handle()));
  };
  if (detail::cuda::is_capturing(*device_, stream)) return wait();
  try {
    const std::lock_guard lock(copied_mutex_);
    if (!copied_) copied_.emplace(device_);
    copied_->record(copies_->handle());
    copied_->hold_up(stream);
  } catch (const std::exception&) {
    wait();
  }
}

BATCHCAST_INLINE void GpuDelivery::when_passed(std::span<void* const> streams, void* context,
                                               void (*done)(void* context) noexcept) noexcept {
  if (poller_.stopped()) return;
  Ticket& ticket = tickets_.take();
  ticket.begin(context, done);
  for (void* stream : streams) ticket.add(stream);
  if (ticket.passed()) {
    ticket.finish();  // which may be this object's end
  } else {
    poller_.submit(ticket);
  }
}

BATCHCAST_INLINE std::unique_ptr<Delivery> make_delivery(unsigned device, LogCallback log) {
  // First the driver, which then ends after the thread that uses it.
  std::shared_ptr<detail::cuda::Device> opened = detail::cuda::Device::open(device);
  return std::make_unique<GpuDelivery>(std::move(opened), ReleasePoller::of_process(),
                                       std::move(log));
}

BATCHCAST_INLINE bool bring_gpu() noexcept {
  static constexpr GpuCode code{&detail::cuda::own_device, &make_delivery};
  brought_gpu.store(&code, std::memory_order_release);
  return true;
}

}  // namespace batchcast::inline v0_1::detail
