// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#include "served/device_rings.hpp"

#include "gpu/mirror/mirror.hpp"
#include "gpu/ring/device_ring_layout.hpp"
#include "gpu/ring/device_ring_memory.hpp"

#include <batchcast/core/bytes_text.hpp>
#include <batchcast/core/error.hpp>

#include <utility>

namespace batchcast::inline v0_1::detail {
namespace {

RingWriter::Options writer_options(const DeviceRingParts& parts) {
  RingWriter::Options options;
  options.samples_per_epoch = parts.options.samples_per_epoch;
  options.epochs = parts.options.epochs;
  // Without this bound the mirror would fill the ring with all that the host ring makes.
  options.ahead = parts.options.ahead;
  options.stall_timeout_ms = parts.options.stall_timeout_ms;
  options.on_stall = parts.options.on_stall;
  options.first_consumer_id = parts.first_consumer_id;
  options.jumps = false;                   // the ring shows what the mirror brings
  options.goes_back = parts.options.pure;  // with the host ring
  options.log = parts.log;
  options.on_evicted = parts.on_evicted;
  return options;
}

class DeviceRing final : public ServedRing {
 public:
  explicit DeviceRing(const DeviceRingParts& parts)
      : placement_(parts.placement),
        device_(detail::cuda::Device::open(parts.placement.device())),
        layout_(plan_device_ring(parts.options, device_->info())),
        memory_({device_, parts.options, layout_, parts.log}),
        writer_(memory_.board(), writer_options(parts)),
        mirror_(mirror_parts(parts)) {
    if (!parts.log) return;
    parts.log(LogLevel::info,
              text("a ring of {} samples lies on {}: {} there{}", layout_.capacity,
                   detail::cuda::name_of(device_->info()), bytes_text(layout_.device_bytes()),
                   layout_.host_limits ? ", and no more since its fields in host memory "
                                         "(--host-field) take as much of that as the host ring "
                                         "(--memory)"
                                       : ""));
  }

  [[nodiscard]] Placement placement() const noexcept override { return placement_; }
  [[nodiscard]] const std::string& id() const noexcept override { return device_->info().uuid; }
  [[nodiscard]] std::uint64_t capacity() const noexcept override { return layout_.capacity; }
  [[nodiscard]] std::uint64_t memory() const noexcept override { return layout_.device_bytes(); }
  [[nodiscard]] std::string memory_option_for(std::uint64_t samples) const override {
    return text("--device-memory {}", memory_argument(device_memory_for(
                                          layout_.on_device(), samples, layout_.granularity)));
  }
  [[nodiscard]] RingWriter& writer() noexcept override { return writer_; }
  [[nodiscard]] const Segment& board_segment() const noexcept override {
    return memory_.board_segment();
  }
  void offer(Welcome& welcome, std::vector<int>& descriptors) override {
    welcome.placement = id();
    memory_.offer(welcome, descriptors);
  }

  [[nodiscard]] std::variant<Admitted, NotAdmitted> admit(const AdmitRequest& request,
                                                          std::shared_ptr<Desk> desk) override {
    return mirror_.admit(request, std::move(desk));
  }
  [[nodiscard]] std::variant<std::uint64_t, NotAdmitted> resume(std::uint32_t index,
                                                                std::uint64_t consumer_id,
                                                                Join join,
                                                                std::uint64_t cursor) override {
    return mirror_.resume(index, consumer_id, join, cursor);
  }
  void look_for_demand() override { mirror_.look_for_demand(); }
  [[nodiscard]] bool rests() override { return !writer_.has_demand(); }
  [[nodiscard]] bool wait_drained(int timeout_ms) override {
    return mirror_.wait_drained(timeout_ms);
  }

 private:
  [[nodiscard]] Mirror::Parts mirror_parts(const DeviceRingParts& parts) {
    std::shared_ptr<HostPins> own;
    std::shared_ptr<HostPins>& pins = parts.host_pins != nullptr ? *parts.host_pins : own;
    if (!pins) pins = std::make_shared<HostPins>();
    return {{device_, parts.options, layout_, memory_.windows(), memory_.mapped_twice(),
             parts.host.windows(), parts.host.capacity()},
            detail::cuda::name_of(device_->info()),
            parts.host.board(),
            parts.host.writer(),
            memory_.board(),
            writer_,
            pins,
            parts.log};
  }

  const Placement placement_;
  const std::shared_ptr<detail::cuda::Device> device_;
  const DeviceRingLayout layout_;
  DeviceRingMemory memory_;
  RingWriter writer_;
  Mirror mirror_;  ///< last: its thread works with all of the above
};

}  // namespace

std::string device_id(Placement placement) {
  return detail::cuda::Device::open(placement.device())->info().uuid;
}

DeviceRingOutlook look_at_device(const ProducerOptions& options, Placement placement) {
  const auto device = detail::cuda::Device::open(placement.device());
  const DeviceRingLayout layout = plan_device_ring(options, device->info());
  DeviceRingMemory::check(*device, layout);
  DeviceRingOutlook outlook{std::vector<std::uint64_t>(options.schema.size()), device};
  for (const DeviceRingLayout::Field& field : layout.fields) {
    const bool copied = field.on_device && field.copy_of;
    if (copied) outlook.strides[*field.copy_of] = field.plan.stride_bytes;
  }
  return outlook;
}

std::unique_ptr<ServedRing> make_device_ring(const DeviceRingParts& parts) {
  return std::make_unique<DeviceRing>(parts);
}

}  // namespace batchcast::inline v0_1::detail
